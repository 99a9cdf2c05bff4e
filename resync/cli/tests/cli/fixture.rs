//! Logs for the tests, and a way to run the command on them.

use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::{Data, Glance, Note, NoteKind, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, frame};
use std::ffi::OsString;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const MAGIC: Magic = Magic(0x1234_5678_9abc_def0);
pub const RUN: Run = Run(0xabcd);
/// 2027-01-15 08:00:00 UTC.
pub const EPOCH: u64 = 1_800_000_000_000_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// The bytes of a log, and where its frames stand.
#[derive(Clone, Default)]
pub struct Log {
    pub bytes: Vec<u8>,
    pub frames: Vec<Range<usize>>,
    pub counts: Vec<u64>,
}

/// A call site: its strings are at 0x2000 + 16 × number.
pub struct Site {
    pub number: u64,
    pub line: u64,
    pub level: Level,
}

impl Log {
    /// A log of a run with a preamble.
    pub fn of(run: Run, pid: u64, realtime: u64) -> Log {
        let mut log = Log::default();
        log.record(&Record::Preamble(Preamble {
            magic: Some(MAGIC),
            path: Some(b"/nowhere/bin/example"),
            version: Some(1),
            run: Some(run),
            pid: Some(pid),
            realtime: Some(realtime),
            monotonic: Some(5 * SECOND),
            ..Preamble::default()
        }));
        log
    }

    pub fn record(&mut self, record: &Record<'_>) -> Range<usize> {
        let start = self.bytes.len();
        let room = match record {
            Record::StringLogdef(logdef) => logdef.string.map_or(0, <[u8]>::len),
            _ => 0,
        };
        let mut frame = vec![0; (1 << 16) + room];
        let len = frame::encode(&mut frame, |encoder| record.encode(encoder));
        self.bytes.extend_from_slice(&frame[..len.unwrap()]);
        self.frames.push(start..self.bytes.len());
        start..self.bytes.len()
    }

    pub fn string(&mut self, run: Run, address: u64, string: &[u8]) -> &mut Log {
        self.record(&Record::StringLogdef(StringLogdef {
            magic: Some(MAGIC),
            address: Some(Svma(address)),
            string: Some(string),
            run: Some(run),
            ..StringLogdef::default()
        }));
        self
    }

    /// The file and the format of a call site.
    pub fn site(&mut self, run: Run, number: u64, file: &str, format: &[u8]) -> &mut Log {
        self.string(run, 0x2000 + 16 * number, file.as_bytes());
        self.string(run, 0x2008 + 16 * number, format)
    }

    pub fn thread(&mut self, run: Run, number: u64, name: &str) -> &mut Log {
        self.record(&Record::ThreadLogdef(ThreadLogdef {
            run: Some(run),
            thread: Some(0x7fff_0000 + number),
            tid: Some(1000 + number),
            name: Some(name.as_bytes()),
            number: Some(ThreadNumber(number)),
        }));
        self
    }

    pub fn note(&mut self, run: Run, time: u64, text: &[u8]) -> &mut Log {
        self.record(&Record::Note(Note {
            run: Some(run),
            kind: Some(NoteKind::PANIC),
            time: Some(time),
            text: Some(text),
            ..Note::default()
        }));
        self
    }

    /// A record; `args` writes its arguments and says how many.
    pub fn data(
        &mut self,
        run: Run,
        thread: u64,
        time: u64,
        site: &Site,
        args: impl Fn(&mut Encoder<'_>) -> u32,
    ) -> Range<usize> {
        let mut buffer = vec![0; 4096];
        let mut encoder = Encoder::new(&mut buffer);
        let number = args(&mut encoder);
        if self.counts.len() <= thread as usize {
            self.counts.resize(thread as usize + 1, 0);
        }
        let count = self.counts[thread as usize];
        self.counts[thread as usize] += 1;
        self.record(&Record::Data(Data {
            front: Glance {
                magic: Some(MAGIC),
                file: Some(Svma(0x2000 + 16 * site.number)),
                line: Some(site.line),
                level: Some(site.level),
                format: Some(Svma(0x2008 + 16 * site.number)),
                run: Some(run),
                thread: Some(0x7fff_0000 + thread),
                sequence: Some(Sequence::new(ThreadNumber(thread), count)),
                time: Some(time),
            },
            args: Array::from_objects(number, encoder.written()).ok(),
            ..Data::default()
        }))
    }
}

pub const ACCEPTED: Site = Site {
    number: 0,
    line: 10,
    level: Level::INFO,
};
pub const TOOK: Site = Site {
    number: 1,
    line: 20,
    level: Level::DEBUG,
};
pub const FAILED: Site = Site {
    number: 2,
    line: 30,
    level: Level::ERROR,
};

/// Ten records of two threads, one a second: eight alternating `accepted` and
/// `took`, one that failed, and a last `accepted`.
pub fn example() -> Log {
    example_of(RUN, 77, EPOCH)
}

pub fn example_of(run: Run, pid: u64, epoch: u64) -> Log {
    let mut log = Log::of(run, pid, epoch);
    log.site(run, 0, "src/net.c", b"accepted %s:%d")
        .site(run, 1, "src/net.c", b"took %.3f ms")
        .site(run, 2, "db/wal.c", b"cannot open %s: %m");
    log.thread(run, 0, "main").thread(run, 1, "worker");
    for step in 0..8 {
        let time = epoch + step * SECOND;
        match step % 2 {
            0 => accepted(&mut log, run, 0, time, "alpha", step),
            _ => log.data(run, 1, time, &TOOK, |args| {
                args.float(step as f64 / 2.0).unwrap();
                1
            }),
        };
    }
    log.data(run, 1, epoch + 8 * SECOND, &FAILED, |args| {
        args.raw(b"/tmp/x").unwrap();
        args.int(2).unwrap();
        2
    });
    accepted(&mut log, run, 0, epoch + 9 * SECOND, "beta", 9);
    log
}

pub fn accepted(
    log: &mut Log,
    run: Run,
    thread: u64,
    time: u64,
    host: &str,
    port: u64,
) -> Range<usize> {
    log.data(run, thread, time, &ACCEPTED, |args| {
        args.raw(host.as_bytes()).unwrap();
        args.uint(port).unwrap();
        2
    })
}

/// The damaged and the clean logs that come with the samples.
pub fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/corpus");
    let of_folder = |folder: PathBuf| std::fs::read_dir(folder).unwrap();
    let entries = of_folder(folder.clone()).chain(of_folder(folder.join("aarch64")));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .collect();
    logs.sort();
    assert!(logs.len() >= 10, "{logs:?}");
    logs
}

/// A directory with files in it.
pub struct Files(tempfile::TempDir);

impl Files {
    pub fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// Bytes compressed by gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What the command did.
#[derive(Debug)]
pub struct Done {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    pub fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }

    /// The lines of `-o json`.
    pub fn objects(&self) -> Vec<serde_json::Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_logdef"));
    command
        .env("TZ", "UTC")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
}

/// The variable PATH of a shell that finds `logdef` by its name.
pub fn path_with_logdef() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_logdef"));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_owned).into_iter();
    std::env::join_paths(folders.chain(std::env::split_paths(&others))).unwrap()
}

/// Runs `logdef` with words; `{}` stands for the file.
pub fn logdef(words: &str, file: &Path) -> Done {
    let words: Vec<_> = words.split_whitespace().collect();
    logdef_words(&words, file)
}

/// The same, where words may hold spaces.
fn logdef_words(words: &[&str], file: &Path) -> Done {
    let file = file.to_str().unwrap();
    let words = words.iter().map(|word| word.replace("{}", file));
    run(command().args(words), b"")
}

/// Runs a command with bytes on its standard input.
pub fn run(command: &mut Command, input: &[u8]) -> Done {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || {
        // A command that wants no input may end before it is written.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    Done {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `logdef` on a log that stands in a file of its own.
pub fn on(log: &Log, words: &str) -> Done {
    let files = Files::new();
    let path = files.put("app.log", &log.bytes);
    logdef(words, &path)
}

/// The same, where words may hold spaces.
pub fn on_words(log: &Log, words: &[&str]) -> Done {
    let files = Files::new();
    logdef_words(words, &files.put("app.log", &log.bytes))
}
