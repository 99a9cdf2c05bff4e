"""Logs by logging and by the function itself, and kills itself: victim.py LOG"""

import logging
import os
import signal
import sys

import logdef

logdef.open(sys.argv[1])
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(logdef.Handler())


def serve(count):
    for number in range(count):
        fields = {"number": number, "ratio": number / 4, "even": number % 2 == 0, "big": 2**63 + number}
        logging.getLogger("shop").info("order %d of %s", number, "anna", extra={"fields": fields})


serve(1000)
logdef.write(logdef.WARN, b"bytes \xff and a NUL\0 inside")
logdef.write(0x55, "{not} a %s format", "made/up.py", 7, "work", {"text": "a \u2603", "raw": b"\x80"})
os.kill(os.getpid(), signal.SIGKILL)
