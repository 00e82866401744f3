-- What tasks share: named tables, locks, barriers and pipes. One file, handed out by name.
local base = require "eagre.base"
local serialize = require "eagre.serialize"
local ffi, api, native = base.ffi, base.api, base.native

-- Locks.

local lock = {}
lock.__index = lock

local function lockOf(id)
    return setmetatable({lockId = id}, lock)
end

function lock:new()
    return lockOf(native.lock_new())
end

function lock:lock()
    native.lock_take(self.lockId)
end

function lock:unlock()
    native.lock_release(self.lockId)
end

--- Waits for so many milliseconds at most.
function lock:tryLock(ms)
    return native.lock_take(self.lockId, (ms or 0) / 1e3)
end

--- Calls a function while the lock is held.
function lock:__call(f, ...)
    self:lock()
    local result = {pcall(f, ...)}
    self:unlock()
    if not result[1] then
        error(result[2], 0)
    end
    return unpackAll({unpack(result, 2, table.maxn(result))})
end

function lock:__serialize()
    return ("return require('lock').byId(%d)"):format(self.lockId)
end

-- Named tables: every read is a copy.

local names = setmetatable({}, {__mode = "k"})
local space = {}

function space:__index(key)
    local name = names[self]
    if key == "forEach" then
        return function(_, f)
            for _, inner in ipairs(native.space_keys(name)) do
                local value = self[inner]
                if value ~= nil then
                    f(inner, value)
                end
            end
        end
    elseif key == "lock" then
        return lockOf(native.space_lock(name))
    elseif type(key) ~= "string" then
        error("keys of namespaces are strings", 2)
    end
    local value = native.space_get(name, key)
    return value and (serialize.unpack(value))
end

function space:__newindex(key, value)
    if type(key) ~= "string" or key == "forEach" or key == "lock" then
        error("keys of namespaces are strings other than 'forEach' and 'lock'", 2)
    end
    native.space_set(names[self], key, value ~= nil and serialize.pack(value) or nil)
end

function space:__serialize()
    return ("return require('namespaces'):get(%q)"):format(names[self])
end

local namespaces = {}

--- The table with this name; without one, that of the line which asks.
function namespaces:get(name)
    if not name then
        local caller = debug.getinfo(2, "Sl")
        name = caller.source .. ":" .. caller.currentline
    end
    local proxy = setmetatable({}, space)
    names[proxy] = name
    return proxy
end

-- Barriers.

local barrier = {}
barrier.__index = barrier

function barrier:new(n)
    return setmetatable({barrierId = native.barrier_new(n)}, barrier)
end

function barrier:wait()
    native.barrier_wait(self.barrierId)
end

function barrier:reinit(n)
    native.barrier_resize(self.barrierId, n)
end

function barrier:__serialize()
    return ("return require('barrier').byId(%d)"):format(self.barrierId)
end

-- Pipes.

local slow, fast, ring = {}, {}, {}
slow.__index, fast.__index, ring.__index = slow, fast, ring

local function pipeOf(kind, id)
    return setmetatable({pipeId = id, ring = id}, kind)
end

function slow:send(...)
    return native.pipe_send(self.pipeId, serialize.pack(...))
end

local function unpacked(text)
    if text then
        return serialize.unpack(text)
    end
end

function slow:recv()
    return unpacked(native.pipe_receive(self.pipeId))
end

--- Waits for so many microseconds at most.
function slow:tryRecv(micros)
    return unpacked(native.pipe_receive(self.pipeId, (micros or 0) / 1e6))
end

function slow:count()
    return native.pipe_count(self.pipeId)
end

function slow:empty()
    while self:tryRecv(0) ~= nil do end
end

function slow:delete() end

--- Pointers only.
function fast:send(pointer)
    api.pipe_push(self.pipeId, pointer, 1)
end

function fast:trySend(pointer)
    return api.pipe_push(self.pipeId, pointer, 0) == 1
end

local function pointer(value)
    if value ~= nil then
        return value
    end
end

function fast:recv()
    return pointer(api.pipe_pop(self.pipeId, -1))
end

function fast:tryRecv(micros)
    return pointer(api.pipe_pop(self.pipeId, (micros or 0) * 1e3))
end

fast.count, fast.delete, ring.count, ring.free = slow.count, slow.delete, slow.count, slow.delete

function ring:send(bufs)
    return api.ring_push(self.pipeId, bufs.array, bufs.size) == 1
end

function ring:sendN(bufs, n)
    return api.ring_push(self.pipeId, bufs.array, n) == 1
end

function ring:recv(bufs)
    return api.ring_pop(self.pipeId, bufs.array, bufs.size)
end

function ring:recvN(bufs, n)
    return api.ring_pop(self.pipeId, bufs.array, n)
end

function ring:empty()
    return self:count() == 0
end

for name, kind in pairs{slow = slow, fast = fast, ring = ring} do
    kind.__serialize = function(self)
        return ("return require('pipe').byId(%q, %d)"):format(name, self.pipeId)
    end
end

local pipe = {}

function pipe:newSlowPipe() return pipeOf(slow, native.pipe_new()) end
function pipe:newFastPipe() return pipeOf(fast, native.pipe_new()) end
function pipe:newPacketRing() return pipeOf(ring, native.pipe_new()) end

function pipe:sendToPacketRing(id, bufs, n)
    return api.ring_push(id, bufs.array, n or bufs.size) == 1
end

function pipe.byId(kind, id)
    return pipeOf(({slow = slow, fast = fast, ring = ring})[kind], id)
end

function lock.byId(id) return lockOf(id) end
function barrier.byId(id) return setmetatable({barrierId = id}, barrier) end

return {namespaces = namespaces, lock = lock, barrier = barrier, pipe = pipe}
