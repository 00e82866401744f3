-- The names tasks had before libmoon, and DPDK's flags that scripts use.
local libmoon = require "libmoon"
local log = require "log"

local mod = {
    PKT_RX_VLAN_PKT = 1ULL, PKT_RX_IEEE1588_PTP = 0x200ULL, PKT_RX_IEEE1588_TMST = 0x400ULL,
    PKT_TX_IEEE1588_TMST = 2ULL ^ 51, PKT_TX_VLAN_PKT = 2ULL ^ 57, PKT_TX_IP_CKSUM = 2ULL ^ 54, PKT_TX_TCP_CKSUM = 2ULL ^ 52,
    PKT_TX_UDP_CKSUM = 3ULL * 2ULL ^ 52, PKT_TX_IPV4 = 2ULL ^ 55, PKT_TX_IPV6 = 2ULL ^ 56,
}
mod.PKT_TX_NO_CRC_CSUM = 0ULL

local renamed = {
    launchLua = "startTask", launchLuaOnCore = "startTaskOnCore", waitForSlaves = "waitForTasks", getCores = "getCores",
    getCycles = "getCycles", getCyclesFrequency = "getCyclesFrequency", getTime = "getTime", setRuntime = "setRuntime",
    running = "running", stop = "stop", sleepMillis = "sleepMillis", sleepMicros = "sleepMicros",
    sleepMillisIdle = "sleepMillisIdle", sleepMicrosIdle = "sleepMicrosIdle", getCore = "getCore",
    disableBadSocketWarning = "disableBadSocketWarning",
}
local warned = {}
for old, new in pairs(renamed) do
    mod[old] = function(...)
        if not warned[old] then
            warned[old] = true
            log:warn("dpdk.%s() is deprecated, use moongen.%s() instead.", old, new)
        end
        return libmoon[new](...)
    end
end

function mod.init()
    return true
end

function mod.skipInit() end

return mod
