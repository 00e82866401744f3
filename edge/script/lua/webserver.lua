-- There is no web server: the result document has what a script reports. Scripts that only offer one can load the module.
local webserver = {}

function webserver.running()
    return false
end

function webserver.startWebserverTask()
    error("eagre script has no web server: report with eagre.result(), or use eagre serve", 2)
end

return webserver
