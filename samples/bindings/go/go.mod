module example.com/logdef

go 1.19
