-- Pools of packet buffers, and arrays of buffers.
local base = require "eagre.base"
local ffi, api, native = base.ffi, base.api, base.native
local log = require "log"
require "packet"

local mod = {}
local bufsType = ffi.typeof("struct rte_mbuf *[?]")
local IPV4, IPV6, IP, TCP, UDP = 2ULL ^ 55, 2ULL ^ 56, 2ULL ^ 54, 2ULL ^ 52, 3ULL * 2ULL ^ 52
local IP4_ONLY, UDP4, TCP4, UDP6, TCP6 = IPV4 + IP, IPV4 + IP + UDP, IPV4 + IP + TCP, IPV6 + UDP, IPV6 + TCP

--- Memory that is not Lua's, to be freed with free().
function mod.alloc(ctype, size)
    local memory = ffi.C.malloc(size)
    if memory == nil then
        error("no memory for " .. tostring(size) .. " bytes", 2)
    end
    return ffi.cast(ctype, memory)
end

function mod.free(memory)
    ffi.C.free(memory)
end

function mod.fence() end

local mempool = {}
mempool.__index = mempool

--- A pool: createMemPool([n,] [fill]) or with named arguments n, func, bufSize. 'fill' is called once for each buffer.
function mod.createMemPool(...)
    local args, options = {...}, nil
    if args[1] == mod then
        table.remove(args, 1)
    end
    if type(args[1]) == "table" then
        options = args[1]
    elseif type(args[1]) == "function" then
        options = {func = args[1]}
    else
        options = {n = args[1], func = type(args[2]) == "function" and args[2] or nil}
    end
    local n, size = options.n or 2047, options.bufSize or math.max(2048, native.longest_packet)
    local pool = api.pool_new(n, size)
    if pool == nil then
        error(("no memory for %d buffers of %d bytes"):format(n, size), 2)
    end
    if options.func then
        for i = 0, n - 1 do
            local buf = api.pool_buf(pool, i)
            buf.pkt_len, buf.data_len = 1522, 1522
            options.func(buf)
        end
    end
    return pool
end

function mod.freeMemPools() end

function mempool:retain() end

--- One buffer.
function mempool:alloc(size)
    local one = bufsType(1)
    if api.alloc(self, one, 1, size) == 0 then
        error("the memory pool has no buffer left", 2)
    end
    return one[0]
end

local bufArray = {}

local function newArray(n, pool)
    n = n or 63
    return setmetatable({size = n, maxSize = n, array = bufsType(n), mem = pool}, bufArray)
end

--- An array of buffers of this pool.
function mempool:bufArray(n)
    return newArray(n, self)
end

--- An array for received buffers.
function mod.createBufArray(n, m)
    return newArray(n == mod and m or n ~= mod and n or nil)
end

mod.bufArray = mod.createBufArray

function bufArray:__index(key)
    return type(key) == "number" and self.array[key - 1] or bufArray[key]
end

function bufArray:__newindex(i, buf)
    self.array[i - 1] = buf
end

function bufArray:__len()
    return self.size
end

local function nextBuf(self, i)
    if i < self.size then
        return i + 1, self.array[i]
    end
end

function bufArray:__ipairs()
    return nextBuf, self, 0
end

function bufArray:resize(size)
    if size > self.maxSize then
        log:fatal("a bufArray of %d buffers can't be made %d long", self.maxSize, size)
    end
    self.size = size
end

--- Fills the array with buffers of its pool, for packets of this size without FCS.
function bufArray:alloc(size)
    local mem = self.mem
    if not mem then
        error("this bufArray has no memory pool: make it with mempool:bufArray()", 2)
    end
    if api.alloc(mem, self.array, self.size, size) < self.size then
        mempool.isEmpty(self)
    end
end

-- Called when a pool had too few buffers for an array.
function mempool.isEmpty(bufs)
    local n = api.pool_len(bufs.mem)
    if n < bufs.size then
        error(("a pool of %d buffers can't fill an array of %d"):format(n, bufs.size), 3)
    elseif require("libmoon").running() then
        error(("all %d buffers of the pool are in use: free() those that are not sent"):format(n), 3)
    end
    -- The script is about to end; what was not sent is not missed.
end

function bufArray:allocN(size, n)
    self:resize(n)
    self:alloc(size)
end

--- Gives all buffers back.
function bufArray:freeAll()
    api.give_back(self.array, self.size)
    ffi.fill(self.array, self.size * ffi.sizeof("void *"))
end

function bufArray:free(n)
    api.give_back(self.array, n)
end

function bufArray:freeAfter(n)
    if n < self.size then
        api.give_back(self.array + n, self.size - n)
    end
end

-- Checksums: written when the packets are sent.

local function lengths(l2, l3)
    return l2 + l3 * 128
end

function bufArray:offloadIPChecksums(ipv4, l2, l3, n)
    if ipv4 == nil or ipv4 then
        api.offload(self.array, n or self.size, IP4_ONLY, lengths(l2 or 14, l3 or 20))
    end
end

function bufArray:offloadUdpChecksums(ipv4, l2, l3, n)
    if ipv4 == nil or ipv4 then
        api.offload(self.array, n or self.size, UDP4, lengths(l2 or 14, l3 or 20))
    else
        api.offload(self.array, n or self.size, UDP6, lengths(l2 or 14, l3 or 40))
    end
end

function bufArray:offloadTcpChecksums(ipv4, l2, l3, n)
    if ipv4 == nil or ipv4 then
        api.offload(self.array, n or self.size, TCP4, lengths(l2 or 14, l3 or 20))
    else
        api.offload(self.array, n or self.size, TCP6, lengths(l2 or 14, l3 or 40))
    end
end

function bufArray:setVlans(vlan, pcp, cfi)
    for i = 0, self.size - 1 do
        self.array[i]:setVlan(vlan, pcp, cfi)
    end
end

ffi.metatype("struct mempool", mempool)

return mod
