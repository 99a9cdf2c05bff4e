"""Logs of logdef, as Arrow.

``read`` gives the records, ``sites`` the calls that made them, ``losses`` what is missing.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Union

__version__: str

_Path = Union[str, PathLike[str]]
_Paths = Union[_Path, Sequence[_Path]]
_Time = Union[datetime, int]

class DamageWarning(UserWarning):
    """Something is missing in a log that was read. ``losses`` says what."""

class Table:
    """Rows that are read from logs whenever they are asked for.

    Every library that takes Arrow takes it as it is.
    """

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterates over the rows as dictionaries.

        Times are integers: nanoseconds since 1970 in UTC.
        """
    def __iter__(self) -> Iterator[Batch]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Batch:
    """Some rows of a table."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries. Times are integers: nanoseconds since 1970 in UTC."""
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

def read(
    paths: _Paths,
    *,
    site: str | None = None,
    since: _Time | None = None,
    until: _Time | None = None,
    level: str | None = None,
    images: bool | _Paths | None = None,
    message: bool = True,
) -> Table:
    """Reads the records of logs: files, folders, patterns, compressed logs and archives.

    All logs become one table in the order of time. With ``site``, such as ``"server.c:74"``, only the
    records of that call are read, with a typed column for each argument. ``since`` and ``until`` are
    ``datetime`` objects or nanoseconds since 1970, ``level`` is the lowest level that is wanted.
    ``images`` are folders with the programs that logged, beside the paths in the log; ``False`` opens
    none. Without ``message``, messages are not rendered, which is faster.

    What is missing in the logs is a ``DamageWarning``; see ``losses``.
    """

def sites(paths: _Paths, *, images: bool | _Paths | None = None) -> Table:
    """Lists the calls that made the records of logs, with the names and types of their values."""

def losses(paths: _Paths) -> Table:
    """Lists what is missing in logs, as ``logdef check`` finds it. The last row is the verdict."""
