-- Logs by the module and kills itself: victim.lua LOG
local logdef = require "logdef"

logdef.open(arg[1])

local function serve(count)
  for number = 0, count - 1 do
    logdef.info("order " .. number .. " of anna", { number = number, ratio = number / 4, even = number % 2 == 0 })
  end
end

serve(1000)
logdef.warn("bytes \xff and a NUL\0 inside", { text = "a\0b", [1] = "no name", f = print })
io.popen("kill -9 $PPID"):read("a")
