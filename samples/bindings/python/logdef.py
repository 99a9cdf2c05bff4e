"""logdef for Python, by the C library: one function, and a handler for `logging`.

    import logging, logdef
    logdef.open("app.log")
    logging.getLogger().addHandler(logdef.Handler())
    logging.warning("disk %s is full", "sda", extra={"fields": {"free": 0}})

Records are in the file when a call returns: what kills the process takes none of them.
"""

import ctypes
import logging
import os

_library = ctypes.CDLL(os.environ.get("LOGDEF_LIBRARY", "liblogdef.so.0"), use_errno=True)

TRACE, DEBUG, INFO, WARN, ERROR, FATAL = 0x10, 0x20, 0x30, 0x40, 0x50, 0x60


class _Value(ctypes.Union):
    _fields_ = [
        ("i", ctypes.c_int64),
        ("u", ctypes.c_uint64),
        ("d", ctypes.c_double),
        ("text", ctypes.c_char_p),
    ]


class _Field(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("value", _Value),
        ("length", ctypes.c_size_t),
    ]


_library.logdef_write.restype = None
_library.logdef_write.argtypes = [
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_uint32,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.POINTER(_Field),
    ctypes.c_size_t,
]
_library.logdef_open.argtypes = [ctypes.c_char_p]


def _check(result):
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def open(path):
    """Opens the log."""
    _check(_library.logdef_open(os.fsencode(path)))


def sync():
    """Returns when the log survives a power cut."""
    _check(_library.logdef_sync())


def close():
    """Ends the log."""
    _library.logdef_close()


def _field(name, value):
    field = _Field(name=str(name).encode("utf-8", "replace"))
    if isinstance(value, bool):
        field.type, field.value.u = 3, value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        field.type, field.value.i = 0, value
    elif isinstance(value, int) and 0 <= value < 2**64:
        field.type, field.value.u = 1, value
    elif isinstance(value, float):
        field.type, field.value.d = 2, value
    else:
        text = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
        field.type, field.value.text, field.length = 4, text, len(text)
    return field


def write(level, text, file=None, line=0, function=None, fields=None):
    """Writes a record; `fields` has its named values."""
    text = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    fields = [_field(name, value) for name, value in (fields or {}).items()]
    array = (_Field * len(fields))(*fields)
    file, function = (name and name.encode("utf-8", "replace") for name in (file, function))
    _library.logdef_write(level, file, line, function, text, len(text), array, len(fields))


class Handler(logging.Handler):
    """Writes the records of `logging`, with their places; `extra={"fields": {...}}` keeps types."""

    _LEVELS = ((50, FATAL), (40, ERROR), (30, WARN), (20, INFO), (10, DEBUG))

    def emit(self, record):
        try:
            level = next((ours for theirs, ours in self._LEVELS if record.levelno >= theirs), TRACE)
            fields = dict(getattr(record, "fields", {}), logger=record.name)
            place = (record.pathname, record.lineno, record.funcName)
            write(level, self.format(record), *place, fields)
        except Exception:
            self.handleError(record)
