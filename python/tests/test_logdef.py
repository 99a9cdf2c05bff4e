"""What Python reads of a log is what `logdef` shows of it.

Needs the module on PYTHONPATH, and the command in LOGDEF_COMMAND or target/debug. Libraries for Arrow are
tried where they are installed; without them, rows and the C interface are looked at by Python alone.
"""

import ctypes
import gzip
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from datetime import datetime, timezone

import logdef

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("LOGDEF_COMMAND", str(ROOT / "target/debug/logdef"))
CORPUS = sorted((ROOT / "samples/corpus").glob("*.log"))
DEMO = ROOT / "target/debug/demo-logs"

# Texts that are hard on whatever passes them along.
HOSTILE = [
    "plain",
    "",
    "nul \0 in the middle",
    "\x1b]0;title\x07\x1b[31mred",
    "right to left \u202e and back \u2066",
    'quotes " \\ \' and {braces} %s %n',
    "\U0001f41b \uffff \ufeff",
    "line\nbreak\r\ttab",
    "c1 \x9b control, delete \x7f",
    "long " * 2000,
]


def quietly(read, *arguments, **keywords):
    """Reads without warnings, for tests that are not about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", logdef.DamageWarning)
        return read(*arguments, **keywords)


def read(*arguments, **keywords):
    return quietly(logdef.read, *arguments, **keywords)


def sites(*arguments):
    return quietly(logdef.sites, *arguments)


def shown(*paths):
    """The records as `logdef view` shows them."""
    done = subprocess.run([COMMAND, "view", "-o", "json", *paths], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_text(value):
    """A value of JSON as fields have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join("null" if it is None else as_text(it) for it in value) + "]"
    return value if value is None or isinstance(value, str) else repr(value)


class Records(unittest.TestCase):
    def same(self, *paths):
        """Compares what is read of logs, and returns it."""
        rows = list(read([str(path) for path in paths]).rows())
        records = shown(*paths)
        self.assertEqual(len(rows), len(records))
        for row, record in zip(rows, records):
            plain = {
                "time": record.get("time_ns"),
                "level": record.get("level"),
                "run": int(record["run"], 16) if "run" in record else None,
                "pid": record.get("pid"),
                "thread": record.get("thread_number"),
                "tid": record.get("tid"),
                "thread_name": record.get("thread_name"),
                "seq": record.get("sequence"),
                "message": record["message"],
                "file": record.get("file"),
                "line": record.get("line"),
                "function": record.get("function"),
                "module": record.get("module"),
                "target": record.get("target", record.get("module")),
                "format": record.get("format"),
                "mark": record.get("standing"),
                "kind": record.get("kind"),
            }
            self.assertEqual({name: row[name] for name in plain}, plain)
            fields = {**record.get("keys", {}), **record.get("fields", {})}
            for name, value in fields.items():
                if not isinstance(value, float):
                    self.assertEqual(row["fields"][name], as_text(value))
            self.assertEqual(row["backtrace"] is None, "backtrace" not in record)
        return rows

    def test_damaged_logs(self):
        self.assertGreater(len(CORPUS), 5)
        records = sum(len(self.same(log)) for log in CORPUS)
        self.assertGreater(records, 20)

    def test_many_logs_are_one_table(self):
        self.same(*CORPUS)
        folder = str(ROOT / "samples/corpus")
        rows = list(read(folder).rows())
        self.assertEqual(rows, list(read(folder + "/*.log").rows()))
        self.assertEqual(len(rows), len(shown(folder)))

    @unittest.skipUnless(DEMO.is_dir(), "the demo was not run")
    def test_the_demo(self):
        self.assertGreater(len(self.same(*sorted(DEMO.glob("*.log")))), 50)

    def test_hostile_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hostile.log")
            make_log(path, HOSTILE)
            rows = self.same(path)
            self.assertEqual([row["message"] for row in rows], HOSTILE)
            self.assertEqual([row["fields"]["hard"] for row in rows], HOSTILE)

    def test_packed_logs_and_archives(self):
        with tempfile.TemporaryDirectory() as folder:
            log = ROOT / "samples/corpus/clean.log"
            packed = os.path.join(folder, "app.log.1.gz")
            with gzip.open(packed, "wb") as out:
                out.write(log.read_bytes())
            rows = list(read(packed).rows())
            self.assertEqual(rows, list(read(log).rows()))
            kept = os.path.join(folder, "kept")
            subprocess.run([COMMAND, "archive", "-o", kept, log], check=True, capture_output=True)
            self.assertEqual(list(read(kept).rows()), rows)
            self.assertEqual(list(sites(kept).rows()), list(sites(log).rows()))

    def test_an_empty_log_has_no_rows(self):
        with tempfile.NamedTemporaryFile(suffix=".log") as empty, warnings.catch_warnings():
            warnings.simplefilter("error")
            table = read(empty.name)
            self.assertEqual(list(table), [])
            self.assertEqual(list(table.rows()), [])
            self.assertIn("message", table.columns)

    def test_filters(self):
        logs = [str(log) for log in CORPUS]
        rows = list(read(logs).rows())
        middle = sorted(row["time"] for row in rows)[len(rows) // 2]
        later = list(read(logs, since=middle).rows())
        self.assertEqual(later, [row for row in rows if row["time"] >= middle])
        earlier = list(read(logs, until=middle).rows())
        self.assertEqual(earlier, [row for row in rows if row["time"] <= middle])
        when = datetime.fromtimestamp(middle // 10**9, timezone.utc)
        of_second = list(read(logs, since=when).rows())
        self.assertEqual(of_second, [row for row in rows if row["time"] >= middle // 10**9 * 10**9])
        ranks = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]
        graver = [row for row in rows if row["level"] in ranks[3:]]
        self.assertEqual(list(read(logs, level="warn").rows()), graver)
        self.assertNotIn("message", read(logs, message=False).columns)
        with self.assertRaises(ValueError):
            read(logs, level="loud")


class Calls(unittest.TestCase):
    def test_a_call_has_a_column_for_each_argument(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.log")
            make_log(path, ["a", "b"])
            table = read(path, site="made.c:7")
            rows = list(table.rows())
            self.assertEqual([row["hard"] for row in rows], ["a", "b"])
            self.assertEqual([row["count"] for row in rows], [0, 1])
            self.assertEqual([row["ratio"] for row in rows], [0.5, 1.5])
            self.assertEqual([row["even"] for row in rows], [True, False])
            self.assertEqual([row["message"] for row in rows], ["a", "b"])
            with self.assertRaises(LookupError) as missed:
                read(path, site="made.c:8")
            self.assertIn("made.c:8", str(missed.exception))

    def test_each_record_is_of_a_call_that_is_listed(self):
        log = ROOT / "samples/corpus/clean.log"
        calls = {(row["file"], row["line"], row["format"]) for row in sites(log).rows()}
        records = {(row["file"], row["line"], row["format"]) for row in read(log).rows()}
        self.assertEqual(calls, records)
        for file, line, _ in records:
            wanted = [row for row in read(log).rows() if (row["file"], row["line"]) == (file, line)]
            found = list(read(log, site=f"{file}:{line}").rows())
            self.assertEqual([row["seq"] for row in found], [row["seq"] for row in wanted])
            self.assertEqual([row["message"] for row in found], [row["message"] for row in wanted])


class Losses(unittest.TestCase):
    def test_losses_are_those_of_check(self):
        for log in CORPUS:
            checked = subprocess.run([COMMAND, "check", "-o", "json", log], capture_output=True)
            found = json.loads(checked.stdout)
            rows = list(logdef.losses(log).rows())
            verdict = rows.pop()
            self.assertEqual((verdict["what"], verdict["records"]), ("verdict", found["missing"]))
            for state in ("damaged", "torn"):
                ranges = [(row["offset"], row["bytes"]) for row in rows if row["what"] == state]
                gaps = [gap for gap in found["files"][0]["gaps"] if gap["state"] == state]
                self.assertEqual(ranges, [(gap["offset"], gap["bytes"]) for gap in gaps], log)

    def test_damage_warns_and_a_whole_log_does_not(self):
        damaged = str(ROOT / "samples/corpus/flipped.log")
        with self.assertWarns(logdef.DamageWarning) as warned:
            logdef.read(damaged)
        self.assertIn("flipped.log", str(warned.warning))
        self.assertEqual(warned.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            logdef.losses(damaged)
            with self.assertRaises(logdef.DamageWarning):
                logdef.read(damaged)
            with tempfile.TemporaryDirectory() as folder:
                whole = os.path.join(folder, "whole.log")
                make_log(whole, ["a"])
                logdef.read(whole)

    def test_what_is_no_log_is_an_error_with_its_path(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = os.path.join(folder, "missing.log")
            with self.assertRaises(FileNotFoundError) as error:
                logdef.read([ROOT / "samples/corpus/clean.log", missing])
            self.assertEqual(error.exception.filename, missing)
            other = os.path.join(folder, "other.log")
            pathlib.Path(other).write_text("no log at all")
            for path in (other, folder):
                with self.assertRaises(ValueError) as error:
                    logdef.read(path)
                self.assertIn(folder, str(error.exception))
        for wrong in (None, 7, []):
            with self.assertRaises((TypeError, ValueError)):
                logdef.read(wrong)


class ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    ]


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    ]


def stream_of(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ArrowArrayStream.from_address(pointer(capsule, b"arrow_array_stream"))


class Interface(unittest.TestCase):
    """The C interface, by Python alone."""

    def setUp(self):
        self.table = read(ROOT / "samples/corpus/clean.log")
        self.len = len(list(self.table.rows()))

    def test_a_stream_gives_all_rows_and_ends(self):
        for _ in range(2):
            capsule = self.table.__arrow_c_stream__()
            stream = stream_of(capsule)
            lengths = []
            while True:
                array = ArrowArray()
                self.assertEqual(stream.get_next(ctypes.addressof(stream), ctypes.addressof(array)), 0)
                if not array.release:
                    break
                self.assertEqual(array.n_children, len(self.table.columns))
                lengths.append(array.length)
                array.release(ctypes.addressof(array))
            self.assertEqual(sum(lengths), self.len)

    def test_streams_that_nobody_reads_are_given_back(self):
        before = len(os.listdir("/proc/self/task"))
        for _ in range(50):
            self.table.__arrow_c_stream__()
            iter(self.table)
            self.table.__arrow_c_schema__()
        for batch in self.table:
            batch.__arrow_c_array__()
        # Their threads end.
        deadline = time.monotonic() + 30
        while len(os.listdir("/proc/self/task")) > before:
            self.assertLess(time.monotonic(), deadline, "threads are left")

    def test_a_batch_knows_its_rows(self):
        batches = list(self.table)
        self.assertEqual(sum(map(len, batches)), self.len)
        self.assertEqual([row for batch in batches for row in batch.rows()], list(self.table.rows()))

    def test_other_threads_run_while_a_log_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.log")
            make_log(path, HOSTILE * 20)
            results = []
            count = lambda: results.append(sum(len(batch) for batch in logdef.read(path)))
            threads = [threading.Thread(target=count) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results, [len(HOSTILE) * 20] * 4)

    def test_ctrl_c_ends_what_waits(self):
        # Python's own handler raises when the module looks for signals: here, while it waits for
        # a FIFO that is opened for reading and never written.
        program = "import logdef, sys; print('begun', flush=True); logdef.read(sys.argv[1])"
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "app.log")
            os.mkfifo(fifo)
            child = subprocess.Popen(
                [sys.executable, "-c", program, fifo],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            _, error = child.communicate(timeout=60)
            self.assertIn(b"KeyboardInterrupt", error)


class Libraries(unittest.TestCase):
    """The lines of docs/python.md, where the libraries are installed."""

    def library(self, name):
        try:
            return importlib.import_module(name)
        except ImportError:
            self.skipTest(f"{name} is not installed")

    def setUp(self):
        self.table = read([str(log) for log in CORPUS])
        self.rows = list(self.table.rows())

    def test_polars(self):
        frame = self.library("polars").DataFrame(self.table)
        self.assertEqual(frame["message"].to_list(), [row["message"] for row in self.rows])
        self.assertEqual(frame["time"].to_physical().to_list(), [row["time"] for row in self.rows])

    def test_duckdb(self):
        duckdb = self.library("duckdb")
        records = self.table
        found = duckdb.sql("select message, epoch_ns(time), fields from records").fetchall()
        self.assertEqual([it[0] for it in found], [row["message"] for row in self.rows])
        self.assertEqual([it[1] for it in found], [row["time"] for row in self.rows])
        self.assertEqual([it[2] for it in found], [row["fields"] for row in self.rows])
        del records

    def test_pyarrow(self):
        table = self.library("pyarrow").table(self.table)
        self.assertEqual(table["message"].to_pylist(), [row["message"] for row in self.rows])
        self.assertEqual([dict(it) for it in table["fields"].to_pylist()], [row["fields"] for row in self.rows])
        self.assertEqual(table["backtrace"].to_pylist(), [row["backtrace"] for row in self.rows])
        table.validate(full=True)

    def test_pandas(self):
        pandas = self.library("pandas")
        self.library("pyarrow")
        frame = pandas.DataFrame.from_arrow(self.table)
        self.assertEqual(list(frame["message"]), [row["message"] for row in self.rows])
        self.assertEqual([time.value for time in frame["time"]], [row["time"] for row in self.rows])


def make_log(path, texts):
    """Makes a log with records of one call: text, count, ratio and whether the count is even.

    No verb of the command logs, but it imports JSON of Fuchsia, which can hold all of this.
    """
    records = []
    for count, text in enumerate(texts):
        keys = {"hard": text, "count": count, "ratio": count + 0.5, "even": count % 2 == 0}
        records.append(
            {
                "data_source": "Logs",
                "metadata": {
                    "timestamp": 5_001_234_567 + count,
                    "severity": "INFO",
                    "tags": ["made"],
                    "pid": 7,
                    "tid": 7,
                    "file": "made.c",
                    "line": 7,
                },
                "moniker": "made",
                "payload": {"root": {"keys": keys, "message": {"value": text}}},
                "version": 1,
            }
        )
    done = subprocess.run(
        [COMMAND, "import", "--from", "diagnostics-json", "-o", path],
        input=json.dumps(records).encode(),
        capture_output=True,
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
