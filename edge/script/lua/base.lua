-- What all modules need: LuaJIT's own FFI, the C functions and structures of the process, and the FFI that scripts get.
local native = require "eagre.native"
local real = package.loaded.ffi or require "ffi"

real.cdef[[
typedef long eagre_time_t;
struct timeval { eagre_time_t tv_sec; eagre_time_t tv_usec; };
struct timespec { eagre_time_t tv_sec; long tv_nsec; };
void *malloc(size_t size);
void free(void *memory);
int inet_pton(int family, const char *text, void *address);
const char *inet_ntop(int family, const void *address, char *text, uint32_t size);
int gettimeofday(struct timeval *now, void *zone);
int clock_gettime(int clock, struct timespec *now);
]]
real.cdef(native.cdef)
-- What a structure of Rust looks like is said twice, there and in C; this is where a difference is noticed.
for field, offset in pairs(native.offsets) do
    assert(real.offsetof("struct rte_mbuf", field) == offset, "the layout of buffers differs at " .. field)
end

local api = real.cast("struct eagre_api *", native.api)

-- Scripts call some functions of DPDK through ffi.C. Those we have are here; all others are the C library's.
local provided = {}
local C = setmetatable(provided, {__index = real.C})
local ffi = setmetatable({C = C}, {__index = real})
package.loaded.ffi = ffi

return {native = native, ffi = real, api = api, provided = provided}
