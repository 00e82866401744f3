-- Log lines on standard output: [INFO], [WARN] and so on.
require "utils"

local log = {DEBUG = 0, INFO = 1, WARN = 2, ERROR = 3, FATAL = 4}
log.level = log.INFO
log.fileLevel = log.DEBUG
log.file = "debug.log"

function log:setLevel(level)
    self.level = self[level] or self.INFO
end

function log:setFileLevel(level)
    self.fileLevel = self[level] or self.DEBUG
end

function log:fileEnable()
    self.fileEnabled = true
end

function log:fileDisable()
    self.fileEnabled = false
end

function log:writeToLog(text)
    local file = assert(io.open(self.file, "a"))
    file:write(getTimeMicros(), " ", text, "\n")
    file:close()
end

local function level(name, label, colour)
    return function(self, text, ...)
        local line = label .. tostring(text):format(...)
        if self[name] >= self.level then
            print(colour("%s", line))
        end
        if self.fileEnabled and self[name] >= self.fileLevel then
            self:writeToLog(line)
        end
    end
end

log.debug = level("DEBUG", "[DEBUG] ", green)
log.info = level("INFO", "[INFO]  ", white)
log.warn = level("WARN", "[WARN]  ", yellow)
log.error = level("ERROR", "[ERROR] ", bred)

--- Ends the task.
function log:fatal(text, ...)
    local line = text:format(...)
    if self.fileEnabled then
        self:writeToLog("[FATAL] " .. line)
    end
    error(line, 2)
end

return log
