-- LACP is not there: a script that needs a channel is told so; others may load the module.
local lacp = {}

function lacp.startLacpTask()
    error("LACP is not supported by eagre script: attach the port to a bond of the kernel instead", 2)
end

return lacp
