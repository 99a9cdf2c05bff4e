//! Logs that are made to cost much, of any length: each is one idea of an attacker who has
//! read the format. Every one is valid, or nearly so; none is long to say.

#![allow(dead_code, missing_docs, unreachable_pub)]

use logdef_wire::msgpack::{Array, Encoder, Map};
use logdef_wire::record::{
    BacktraceLogdef, ContextLogdef, Data, Glance, Kind, Module, Note, NoteKind, Preamble,
    StringLogdef, TextLogdef, ThreadLogdef,
};
use logdef_wire::{Avma, Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, frame};
use std::io::{self, Write};

const EPOCH: u64 = 1_800_000_000_000_000_000;
const MAGIC: Magic = Magic(0x1234_5678_9abc_def0);
const RUN: Run = Run(7);

/// A kind of log: the name, and what is appended as its part of a number.
#[derive(Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    part: fn(u64, &mut Vec<u8>),
}

impl Shape {
    /// Writes at least `len` bytes of it.
    pub fn write(&self, len: u64, out: &mut impl Write) -> io::Result<u64> {
        let (mut written, mut number) = (0, 0);
        let mut bytes = Vec::new();
        while written < len {
            bytes.clear();
            while bytes.len() < 64 << 10 && written + (bytes.len() as u64) < len {
                (self.part)(number, &mut bytes);
                number += 1;
            }
            out.write_all(&bytes)?;
            written += bytes.len() as u64;
        }
        Ok(written)
    }
}

/// All of them.
pub const SHAPES: &[Shape] = &[
    shape("a run for each record", |n, out| {
        data(out, Run(spread(n)), 0, 0, n);
    }),
    shape("a thread for each record", |n, out| {
        data(out, RUN, n % (1 << 24), n >> 24, n);
    }),
    shape("threads that take turns", |n, out| {
        data(out, RUN, n % 16_383, n / 16_383, n);
    }),
    shape("every other record missing", |n, out| {
        data(out, RUN, 0, 2 * n, n);
    }),
    shape("holes in many threads", |n, out| {
        data(out, RUN, n % 65_535, 2 * (n / 65_535), n);
    }),
    shape("every other record twice", |n, out| {
        data(out, RUN, 0, n - n % 3 / 2, n);
    }),
    shape("drops before each record", |n, out| {
        let dropped = Data {
            dropped: Some(1),
            ..plain(RUN, 0, 2 * n + 1, n)
        };
        record(out, &Record::Data(dropped));
    }),
    shape("a clock that runs backwards", |n, out| {
        data(out, RUN, n % 5000, n / 5000, u64::from(u32::MAX) - n);
    }),
    shape("counts that run backwards", |n, out| {
        data(out, RUN, n % 3, (1 << 39) - n / 3, n);
    }),
    shape("records without identity", |n, out| {
        let nobody = Data {
            front: Glance {
                time: Some(EPOCH + n),
                ..Glance::default()
            },
            ..Data::default()
        };
        record(out, &Record::Data(nobody));
    }),
    shape("a call site for each record", |n, out| {
        let plain = plain(RUN, 0, n, n);
        let site = Data {
            front: Glance {
                line: Some(n),
                format: Some(Svma(0x2000 + 8 * n)),
                ..plain.front
            },
            ..plain
        };
        record(out, &Record::Data(site));
    }),
    shape("a text for each record", |n, out| {
        text(out, n, &format!("said once: {n}"));
    }),
    shape("a stack for each record", |n, out| {
        let stack = values(3, |encoder, at| encoder.uint(spread(3 * n + at)));
        let deep = Data {
            backtrace: Array::from_objects(3, &stack).ok(),
            ..plain(RUN, 0, n, n)
        };
        record(out, &Record::Data(deep));
    }),
    shape("spans that never end", |n, out| {
        let mut keys = vec![0; 32];
        let mut encoder = Encoder::new(&mut keys);
        let _ = encoder.raw(b"span").and_then(|()| encoder.uint(n));
        let keys = encoder.written();
        let span = Data {
            kind: Some(Kind::BEGIN),
            keys: Map::from_objects(1, keys).ok().filter(|_| n % 2 == 0),
            ..plain(RUN, n % 1000, n / 1000, n)
        };
        record(out, &Record::Data(span));
    }),
    shape("counters by name", |n, out| {
        let text = format!("counter {n}: %d");
        let one = values(1, |encoder, _| encoder.uint(n));
        let plain = plain(RUN, 0, n, n);
        let counter = Data {
            front: Glance {
                format: None,
                ..plain.front
            },
            kind: Some(Kind::COUNTER),
            format_text: Some(text.as_bytes()),
            args: Array::from_objects(1, &one).ok(),
            ..plain
        };
        record(out, &Record::Data(counter));
    }),
    shape("a preamble for each run", |n, out| {
        let preamble = Preamble {
            magic: Some(Magic(spread(n))),
            path: Some(b"/usr/bin/example"),
            run: Some(Run(spread(n))),
            pid: Some(n),
            load_bias: Some(n << 12),
            ..Preamble::default()
        };
        record(out, &Record::Preamble(preamble));
    }),
    shape("strings", |n, out| string(out, 8 * n, b"x")),
    shape("strings at odds", |n, out| {
        string(out, 8 * (n % 10_000), format!("{n}").as_bytes());
    }),
    shape("backtrace logdefs", |n, out| {
        let logdef = BacktraceLogdef {
            run: Some(RUN),
            address: Some(Avma(n)),
            fname: Some(b"/lib/x.so"),
            ..BacktraceLogdef::default()
        };
        record(out, &Record::BacktraceLogdef(logdef));
    }),
    shape("names of threads", |n, out| {
        let logdef = ThreadLogdef {
            run: Some(Run(n / 1000)),
            number: Some(ThreadNumber(n % 1000)),
            tid: Some(n),
            ..ThreadLogdef::default()
        };
        record(out, &Record::ThreadLogdef(logdef));
    }),
    shape("modules", |n, out| {
        let module = Module {
            run: Some(Run(n / 100)),
            start: Some(Avma(n << 12)),
            size: Some(1 << 12),
            path: Some(b"/x"),
            ..Module::default()
        };
        record(out, &Record::Module(module));
    }),
    shape("notes of runs", |n, out| {
        let note = Note {
            run: Some(Run(spread(n))),
            kind: Some(NoteKind::DROPS),
            time: Some(EPOCH + n),
            dropped: Some(3),
            ..Note::default()
        };
        record(out, &Record::Note(note));
    }),
    shape("texts with numbers", |n, out| {
        let logdef = TextLogdef {
            run: Some(RUN),
            number: Some(Svma::text(n)),
            string: Some(b"x"),
            ..TextLogdef::default()
        };
        record(out, &Record::TextLogdef(logdef));
    }),
    shape("contexts", |n, out| {
        let logdef = ContextLogdef {
            run: Some(RUN),
            id: Some(n),
            parent: Some(n.wrapping_sub(1)),
            ..ContextLogdef::default()
        };
        record(out, &Record::ContextLogdef(logdef));
    }),
    shape("chunks of one moment", |n, out| {
        let start = out.len();
        chunk(out, 4096);
        data(out, RUN, n % (1 << 24), n >> 24, 0);
        out.resize(start + 4096, 0);
    }),
    shape("chunks of one record", |n, out| {
        chunk(out, 64);
        data(out, RUN, n % 1000, n / 1000, n % 7);
    }),
    shape("copies of a log", |n, out| data(out, RUN, 0, n % 8, n % 8)),
    shape("a byte of damage after each record", |n, out| {
        data(out, RUN, 0, n, n);
        out.push(0xff);
    }),
    shape("runs between damages", |n, out| {
        data(out, Run(spread(n)), 0, 0, n);
        out.push(0xff);
    }),
    shape("zeros between records that are missing", |n, out| {
        data(out, RUN, n % 100, 3 * (n / 100), n);
        out.extend([0; 9]);
    }),
    shape("frames that were never finished", |_, out| {
        out.extend([0, 0, 0, 0, 0, 0, 0xc1, 0xda, 0xff, 0xff]);
    }),
    shape("claims of the longest body", |n, out| {
        claim(out, n, 14, 16 << 20);
    }),
    shape("claims of many kilobytes", |n, out| {
        claim(out, n, 20, 128 << 10);
    }),
    shape("the first bytes of headers", |_, out| {
        out.extend([0xc1, 0xce]);
    }),
    shape("arrays in arrays", |n, out| {
        let mut nested = vec![0x91; (1 << 20) + (n as usize & 0xfff)];
        nested.push(1);
        let args = Array::from_objects(1, &nested).ok();
        let deep = Data {
            args,
            ..plain(RUN, 0, n, n)
        };
        // What cannot be decoded is written as it is.
        let mut body = encoded(&Record::Data(Data { args: None, ..deep }));
        body[1] += 1;
        body.extend([9, 0x91]);
        body.extend(nested);
        raw(out, &body);
    }),
    shape("a million arguments", |n, out| {
        let numbers = values(1 << 20, |encoder, at| encoder.uint(at & 0x7f));
        let wide = Data {
            args: Array::from_objects(1 << 20, &numbers).ok(),
            ..plain(RUN, 0, n, n)
        };
        record(out, &Record::Data(wide));
    }),
    shape("strings of 8 MB", |n, out| {
        let long = vec![0x1b; 8 << 20];
        let one = values_of(&long);
        let plain = plain(RUN, 0, n, n);
        let site = Data {
            front: Glance {
                format: None,
                ..plain.front
            },
            format_text: Some(b"%s"),
            args: Array::from_objects(1, &one).ok(),
            ..plain
        };
        record(out, &Record::Data(site));
    }),
    shape("widths of 2 GB", |n, out| {
        let one = values(3, |encoder, _| encoder.uint(1_000_000_000));
        let plain = plain(RUN, 0, n, n);
        let wide = Data {
            front: Glance {
                format: None,
                ..plain.front
            },
            format_text: Some(b"%2147483647d %.*f"),
            args: Array::from_objects(3, &one).ok(),
            ..plain
        };
        record(out, &Record::Data(wide));
    }),
    shape("a magic for each record", |n, out| {
        let plain = plain(RUN, 0, n, n);
        let front = Glance {
            magic: Some(Magic(spread(n))),
            ..plain.front
        };
        record(out, &Record::Data(Data { front, ..plain }));
    }),
    shape("an image for each record", |n, out| {
        let path = format!("/nowhere/{n}");
        image(out, Magic(spread(n)), &path, n << 12);
        let plain = plain(RUN, 0, n, n);
        let front = Glance {
            magic: Some(Magic(spread(n))),
            ..plain.front
        };
        record(out, &Record::Data(Data { front, ..plain }));
    }),
    shape("a boot for each run", |n, out| {
        let boot = format!("{n:032}");
        let preamble = Preamble {
            run: Some(Run(spread(n))),
            boot_id: Some(boot.as_bytes()),
            ..Preamble::default()
        };
        record(out, &Record::Preamble(preamble));
        data(out, Run(spread(n)), 0, 0, n);
        out.push(0xff);
    }),
    shape("long texts that differ", |n, out| {
        text(out, n, &format!("{n:16384}"));
    }),
    shape("long strings that records use", |n, out| {
        string(out, 0x2000 + 8 * n, format!("{n:16384} %d").as_bytes());
        let plain = plain(RUN, 0, n, n);
        let front = Glance {
            format: Some(Svma(0x2000 + 8 * n)),
            ..plain.front
        };
        record(out, &Record::Data(Data { front, ..plain }));
    }),
    shape("stacks among many images", |n, out| {
        if n < 4096 {
            image(out, Magic(n), "/nowhere", n << 12);
        }
        let stack = values(3, |encoder, at| encoder.uint(spread(3 * n + at) >> 40));
        let deep = Data {
            backtrace: Array::from_objects(3, &stack).ok(),
            ..plain(RUN, 0, n, n)
        };
        record(out, &Record::Data(deep));
    }),
    shape("contexts of many keys", |n, out| {
        let (count, objects) = if n % 1000 == 0 {
            (20_000, keys(20_000))
        } else {
            (1, keys(1))
        };
        let logdef = ContextLogdef {
            run: Some(RUN),
            id: Some(n),
            parent: Some(n.saturating_sub(1)),
            keys: Map::from_objects(count, &objects).ok(),
            ..ContextLogdef::default()
        };
        record(out, &Record::ContextLogdef(logdef));
        let within = Data {
            context: Some(n),
            ..plain(RUN, 0, n, n)
        };
        record(out, &Record::Data(within));
    }),
    shape("records of many keys", |n, out| {
        let objects = keys(100_000);
        let rich = Data {
            keys: Map::from_objects(100_000, &objects).ok(),
            ..plain(RUN, 0, n, n)
        };
        record(out, &Record::Data(rich));
    }),
    shape("full chunks of one moment", |n, out| {
        let start = out.len();
        chunk(out, 4096);
        (0..60).for_each(|at| data(out, RUN, n % (1 << 24), 60 * (n >> 24) + at, at));
        out.resize(start + 4096, 0);
    }),
    shape("chunks of two threads of one moment", |n, out| {
        let start = out.len();
        chunk(out, 1 << 16);
        (0..1000).for_each(|at| data(out, RUN, 2 * n + at % 2, at / 2, at));
        out.resize(start + (1 << 16), 0);
    }),
    shape("threads that jump across the same zeros", |n, out| {
        if n % 1000 == 0 {
            out.extend([0; 9]);
        }
        data(out, RUN, n % 1000, 2 * (n / 1000), n);
    }),
    shape("marks of a copy", |n, out| {
        let note = Note {
            kind: Some(NoteKind::MARKED),
            text: Some(b"suspect"),
            size: Some(40),
            ..Note::default()
        };
        record(out, &Record::Note(note));
        data(out, RUN, 0, n, n);
    }),
    shape("widths of 2 GB in braces", |n, out| {
        let formats: [(&[u8], &[u8]); 2] = [
            (b"{:>2147483647} {:1$} {:.1$}", b"b"),
            (b"{:>2147483647} {:{}} {:.{}}", b"f"),
        ];
        let at = n % 2;
        if n % 1000 < 2 {
            let (string, description) = formats[at as usize];
            let logdef = StringLogdef {
                magic: Some(MAGIC),
                address: Some(Svma(0x3000 + 8 * at)),
                string: Some(string),
                description: Some(description),
                run: Some(RUN),
                ..StringLogdef::default()
            };
            record(out, &Record::StringLogdef(logdef));
        }
        let one = values(5, |encoder, _| encoder.uint(1_000_000_000));
        let plain = plain(RUN, 0, n, n);
        let wide = Data {
            front: Glance {
                format: Some(Svma(0x3000 + 8 * at)),
                ..plain.front
            },
            args: Array::from_objects(5, &one).ok(),
            ..plain
        };
        record(out, &Record::Data(wide));
    }),
    shape("zeros", |_, out| out.resize(out.len() + 4096, 0)),
    shape("all that is short, in turns", |n, out| {
        (SHAPES[(n % SHORT) as usize].part)(n / SHORT, out);
    }),
];
/// The first shapes, whose parts are short.
const SHORT: u64 = 30;

const fn shape(name: &'static str, part: fn(u64, &mut Vec<u8>)) -> Shape {
    Shape { name, part }
}

/// Numbers that look random and differ.
fn spread(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn plain<'a>(run: Run, thread: u64, count: u64, time: u64) -> Data<'a> {
    Data {
        front: Glance {
            magic: Some(MAGIC),
            line: Some(1),
            level: Some(Level::INFO),
            format: Some(Svma(0x2008)),
            run: Some(run),
            sequence: Some(Sequence::new(ThreadNumber(thread), count)),
            time: Some(EPOCH + time),
            ..Glance::default()
        },
        ..Data::default()
    }
}

fn data(out: &mut Vec<u8>, run: Run, thread: u64, count: u64, time: u64) {
    record(out, &Record::Data(plain(run, thread, count, time)));
}

fn chunk(out: &mut Vec<u8>, bytes: u64) {
    let preamble = Preamble {
        run: Some(RUN),
        chunk: Some(bytes),
        ..Preamble::default()
    };
    record(out, &Record::Preamble(preamble));
}

fn image(out: &mut Vec<u8>, magic: Magic, path: &str, load_bias: u64) {
    let preamble = Preamble {
        magic: Some(magic),
        path: Some(path.as_bytes()),
        run: Some(RUN),
        load_bias: Some(load_bias),
        ..Preamble::default()
    };
    record(out, &Record::Preamble(preamble));
}

/// Keys that differ, with a number each.
fn keys(count: u64) -> Vec<u8> {
    let mut buffer = vec![0; 16 * count as usize];
    let mut encoder = Encoder::new(&mut buffer);
    for at in 0..count {
        let key = format!("{at:x}");
        let _ = encoder.raw(key.as_bytes()).and_then(|()| encoder.uint(at));
    }
    encoder.written().to_vec()
}

fn string(out: &mut Vec<u8>, address: u64, string: &[u8]) {
    let logdef = StringLogdef {
        magic: Some(MAGIC),
        address: Some(Svma(address)),
        string: Some(string),
        run: Some(RUN),
        ..StringLogdef::default()
    };
    record(out, &Record::StringLogdef(logdef));
}

/// The header of a frame that is not there, `apart` bytes before the next.
fn claim(out: &mut Vec<u8>, n: u64, apart: usize, body: u32) {
    let start = out.len();
    out.extend([0xc1, 0xce]);
    out.extend((spread(n) as u32 & 0x7f7f_7f7f).to_be_bytes());
    out.extend([0xc1, 0xdb]);
    out.extend(body.to_be_bytes());
    out.extend([0x7f, 0x80]);
    out.resize(start + apart, 0x5a);
}

fn values(
    count: u64,
    mut value: impl FnMut(&mut Encoder<'_>, u64) -> Result<(), logdef_wire::msgpack::OutOfRoom>,
) -> Vec<u8> {
    let mut buffer = vec![0; 9 * count as usize];
    let mut encoder = Encoder::new(&mut buffer);
    for at in 0..count {
        let _ = value(&mut encoder, at);
    }
    encoder.written().to_vec()
}

fn values_of(string: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; string.len() + 8];
    let mut encoder = Encoder::new(&mut buffer);
    let _ = encoder.raw(string);
    encoder.written().to_vec()
}

fn encoded(record: &Record<'_>) -> Vec<u8> {
    let mut room = vec![0; 512];
    loop {
        let mut encoder = Encoder::new(&mut room);
        if record.encode(&mut encoder).is_ok() {
            return encoder.written().to_vec();
        }
        room.resize(4 * room.len(), 0);
    }
}

/// A record with a format of its own, which stands in no table.
fn text(out: &mut Vec<u8>, n: u64, text: &str) {
    let plain = plain(RUN, 0, n, n);
    let said = Data {
        front: Glance {
            format: None,
            ..plain.front
        },
        format_text: Some(text.as_bytes()),
        ..plain
    };
    record(out, &Record::Data(said));
}

fn record(out: &mut Vec<u8>, record: &Record<'_>) {
    raw(out, &encoded(record));
}

fn raw(out: &mut Vec<u8>, body: &[u8]) {
    let (header, len) = frame::header(body);
    out.extend(&header[..len]);
    out.extend(body);
}
