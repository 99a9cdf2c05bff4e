// Logs by the package log and by the binding itself, and kills itself: victim LOG
package main

import (
	"log"
	"os"
	"syscall"

	"example.com/logdef"
)

func serve(count int) {
	for number := 0; number < count; number++ {
		logdef.Write(logdef.Info, "order of anna", logdef.F("number", number),
			logdef.F("ratio", float64(number)/4), logdef.F("even", number%2 == 0), logdef.F("big", uint64(1)<<63+7))
	}
}

func main() {
	if err := logdef.Open(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	serve(1000)
	log.SetFlags(0)
	log.SetOutput(logdef.Writer(logdef.Warn))
	log.Print("bytes \xff and a NUL\x00 inside")
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
