//! Rewrites the corpus: small logs, good and damaged, and beside each the
//! text that the `logdef` command reads in it. Run it only when the format or
//! the text is meant to change, and read the difference line by line:
//!
//! ```text
//! cargo run -p logdef-samples --bin corpus
//! ```
//!
//! The logs are of no real program, so that they say the same on every
//! machine: images, addresses and times are made up, and each log holds all
//! that is needed to read it.

use logdef_samples::smash::Blow;
use logdef_samples::workshop::Workshop;
use logdef_samples::{corpus, frames};
use logdef_wire::msgpack::{Array, Encoder, OutOfRoom};
use logdef_wire::record::{
    BacktraceLogdef, Data, Glance, Kind, Preamble, StringLogdef, ThreadLogdef,
};
use logdef_wire::{Avma, Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, frame};
use std::fs;

fn main() {
    let workshop = Workshop::open();
    let folder = corpus::folder();
    fs::create_dir_all(&folder).expect("the corpus folder");
    for (name, bytes) in logs() {
        let path = folder.join(name).with_extension("log");
        fs::write(&path, &bytes).expect("a log is written");
        let text = corpus::text(workshop, &path);
        fs::write(path.with_extension("txt"), text).expect("its text is written");
        println!(
            "{name}: {} bytes, {} frames",
            bytes.len(),
            frames::scan(&bytes).len()
        );
    }
}

fn logs() -> Vec<(&'static str, Vec<u8>)> {
    let clean = shop(RUN, 0).bytes;
    let nth_data = |bytes: &[u8], n: usize| {
        let frames = frames::scan(bytes);
        frames
            .into_iter()
            .filter(|frame| frame.is_data())
            .nth(n)
            .expect("a record of each number")
            .range
    };

    // The process was killed between reserving its last frame and publishing it.
    let mut unpublished = clean.clone();
    let last = nth_data(&clean, 7);
    unpublished[last.start] = 0;

    // The same in the middle, with a body half written: other threads went on.
    let mut hole = clean.clone();
    let middle = nth_data(&clean, 5);
    hole[middle.start..middle.start + 6].fill(0);
    hole[middle.start + 40..middle.end].fill(0);

    // The machine stopped inside the last write.
    let mut cut = clean.clone();
    Blow::Cut {
        at: clean.len() - 20,
    }
    .deal(&mut cut);

    // One bit of a record and one of a format string.
    let mut flipped = clean.clone();
    Blow::Flip {
        at: nth_data(&clean, 2).start + 50,
    }
    .deal(&mut flipped);
    let strings: Vec<_> = frames::scan(&clean)
        .into_iter()
        .filter(|frame| frame.tag == 1)
        .collect();
    Blow::Flip {
        at: strings[1].range.end - 14,
    }
    .deal(&mut flipped);

    // No preamble and no logdefs: numbers in place of strings.
    let mut bare = Vec::new();
    for frame in frames::scan(&clean).iter().filter(|frame| frame.is_data()) {
        bare.extend_from_slice(&clean[frame.range.clone()]);
    }

    // Two runs of one program under different load biases, then another program
    // that has other strings at the same addresses.
    let mut concatenated = clean.clone();
    concatenated.extend(shop(Run(0x2222_0000_0000_0002), 0x1000_0000).bytes);
    concatenated.extend(pump().bytes);

    // Chunks of two programs by turns, with unused tails, and a first half of a
    // file before it.
    let mut mixed = pump().bytes[..300].to_vec();
    let (shop, pump) = (shop(RUN, 0).bytes, pump().bytes);
    for log in [&shop, &pump] {
        mixed.extend(log);
        mixed.resize(mixed.len().next_multiple_of(512), 0);
    }

    // A record that holds a foreign log, in which the outer frame's head is
    // damaged; a masked record; one that is malformed; one of a later version.
    let mut strange = Log::new(RUN, SHOP);
    strange.thread(0, b"main");
    let quoted = {
        let mut foreign = Log::new(Run(0x6666_0000_0000_0006), SHOP);
        foreign.thread(0, b"main");
        foreign.say(Level::FATAL, 3, "I never happened", 0, |_| Ok(0));
        foreign.bytes
    };
    strange.say(Level::INFO, 60, "before the quotation", 0, |_| Ok(0));
    let start = strange.bytes.len();
    strange.frame_unmasked(&quoted);
    strange.bytes[start] = 0x41;
    strange.say(Level::INFO, 61, "%s", 0, |args| {
        args.raw(FORGED).map(|()| 1)
    });
    strange.frame(|body| body.bytes(&[127, 0x81, 0x02, 0xc1]));
    strange.frame(|body| body.bytes(&[100, 0x81, 0x00, 0xa2, b'v', b'2']));
    strange.say(Level::INFO, 62, "after", 0, |_| Ok(0));

    vec![
        ("clean", clean),
        ("unpublished", unpublished),
        ("hole", hole),
        ("cut", cut),
        ("flipped", flipped),
        ("bare", bare),
        ("concatenated", concatenated),
        ("mixed", mixed),
        ("strange", strange.bytes),
    ]
}

const RUN: Run = Run(0x1111_0000_0000_0001);
/// A frame around a data record of no fields.
const FORGED: &[u8] = logdef_samples::story::FORGED;

/// An image that never was.
#[derive(Clone, Copy)]
struct Image {
    path: &'static str,
    file: &'static str,
    size: u64,
    digest: [u8; 20],
}

const SHOP: Image = Image {
    path: "/opt/shop/bin/shop",
    file: "shop.c",
    size: 70_000,
    digest: [0x51; 20],
};

const PUMP: Image = Image {
    path: "/opt/pump/bin/pump",
    file: "src/pump.rs",
    size: 81_000,
    digest: [0x9d; 20],
};

/// Every kind of argument, two threads, a backtrace, a loss that the writer
/// knew of, a counter.
fn shop(run: Run, bias: u64) -> Log {
    let mut log = Log::new(run, SHOP);
    log.bias = bias;
    log.thread(0, b"main");
    log.say(Level::INFO, 12, "%d clerks, pid %u", 0, |args| {
        args.int(3)?;
        args.uint(4711)?;
        Ok(2)
    });
    log.thread(1, b"anna");
    log.say(Level::INFO, 40, "%u x %s, %.2f EUR", 1, |args| {
        args.uint(7)?;
        args.raw(b"tea")?;
        args.float(31.5)?;
        Ok(3)
    });
    log.say(
        Level::DEBUG,
        41,
        "%c %-6s| %+d %#lx %5.1f%% %p",
        1,
        |args| {
            args.int(65)?;
            args.raw(b"left")?;
            args.int(-3)?;
            args.uint(0xdead_beef)?;
            args.float(99.95)?;
            args.uint(0x7fff_0000_1000)?;
            Ok(6)
        },
    );
    log.say(Level::WARN, 44, "%*d of %.*s: %m, then %s", 0, |args| {
        args.int(-5)?;
        args.int(42)?;
        args.int(3)?;
        args.raw(b"sal")?;
        args.int(13)?;
        args.nil()?;
        Ok(6)
    });
    log.backtrace_logdef(
        0x5555_5555_6a10 + bias,
        Some(("pack", 0x5555_5555_69f0 + bias)),
    );
    log.backtrace_logdef(0x5555_5555_6b7e + bias, None);
    log.trace = vec![
        0x5555_5555_6a10 + bias,
        0x5555_5555_6b7e + bias,
        0x7f00_dead_0000,
    ];
    log.say(Level::ERROR, 51, "no %s left for order %llu", 1, |args| {
        args.raw("žluťoučký čaj\x1b[31m".as_bytes())?;
        args.uint(u64::MAX)?;
        Ok(2)
    });
    log.trace.clear();
    log.skip(1, 3);
    log.dropped = Some(3);
    log.say(Level::INFO, 52, "the disk has space again", 1, |_| Ok(0));
    log.dropped = None;
    log.kind = Some(Kind::COUNTER);
    log.say(Level::INFO, 60, "queue %d", 0, |args| {
        args.int(-2).map(|()| 1)
    });
    log.kind = None;
    log.say(Level(0x35), 70, "the shop closes", 0, |_| Ok(0));
    log
}

/// Another program, whose strings stand at the same addresses.
fn pump() -> Log {
    let mut log = Log::new(Run(0x3333_0000_0000_0003), PUMP);
    log.thread(0, b"pump");
    for litres in 1..=4 {
        log.say(Level::INFO, 9, "%d litres", 0, |args| {
            args.int(litres).map(|()| 1)
        });
    }
    log
}

/// A log under construction.
struct Log {
    bytes: Vec<u8>,
    image: Image,
    run: Run,
    bias: u64,
    time: u64,
    strings: Vec<&'static str>,
    counts: [u64; 4],
    trace: Vec<u64>,
    dropped: Option<u64>,
    kind: Option<Kind>,
    opened: bool,
}

impl Log {
    fn new(run: Run, image: Image) -> Log {
        Log {
            bytes: Vec::new(),
            image,
            run,
            bias: 0,
            time: 1_700_000_000_000_000_000 + (run.0 & 0xff) * 1_000_000_000,
            strings: Vec::new(),
            counts: [0; 4],
            trace: Vec::new(),
            dropped: None,
            kind: None,
            opened: false,
        }
    }

    fn magic(&self) -> Option<Magic> {
        Magic::of_digest(self.image.size, &self.image.digest)
    }

    fn frame(&mut self, body: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>) {
        let mut buffer = [0; 4096];
        let len = frame::encode(&mut buffer, body).expect("room enough");
        self.bytes.extend_from_slice(&buffer[..len]);
    }

    fn record(&mut self, record: Record<'_>) {
        self.frame(|body| record.encode(body));
    }

    /// A record with a string argument as a writer would write it that does not
    /// know the rule of masking.
    fn frame_unmasked(&mut self, argument: &[u8]) {
        let mut buffer = [0; 4096];
        let mut encoder = Encoder::new(&mut buffer);
        let data = Data {
            front: Glance {
                magic: self.magic(),
                run: Some(self.run),
                ..Glance::default()
            },
            format_text: Some(argument),
            file_text: Some(b"proxy.c"),
            ..Data::default()
        };
        data.encode(&mut encoder).expect("room enough");
        let (header, len) = frame::header(encoder.written());
        self.bytes.extend_from_slice(&header[..len]);
        self.bytes.extend_from_slice(encoder.written());
    }

    fn preamble(&mut self) {
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        let image = self.image;
        self.record(Record::Preamble(Preamble {
            magic: self.magic(),
            path: Some(image.path.as_bytes()),
            size: Some(image.size),
            digest: Some(&image.digest),
            version: Some(1),
            run: Some(self.run),
            pid: Some(4711),
            load_bias: Some(self.bias),
            build_id: Some(&[0xb1; 20]),
            realtime: Some(self.time),
            monotonic: Some(5_000_000_000),
            machine: Some(b"x86_64"),
            host: Some(b"till"),
            ..Preamble::default()
        }));
    }

    fn thread(&mut self, number: u64, name: &[u8]) {
        self.preamble();
        self.record(Record::ThreadLogdef(ThreadLogdef {
            run: Some(self.run),
            thread: Some(0x7f00_0000_1000 + number),
            tid: Some(4711 + number),
            name: Some(name),
            number: Some(ThreadNumber(number)),
        }));
    }

    fn backtrace_logdef(&mut self, address: u64, symbol: Option<(&str, u64)>) {
        self.record(Record::BacktraceLogdef(BacktraceLogdef {
            magic: self.magic(),
            address: Some(Avma(address)),
            fname: Some(self.image.path.as_bytes()),
            fbase: Some(Avma(0x5555_5555_4000 + self.bias)),
            sname: symbol.map(|(name, _)| name.as_bytes()),
            saddr: symbol.map(|(_, address)| Avma(address)),
            run: Some(self.run),
            build_id: Some(&[0xb1; 20]),
            load_bias: Some(self.bias),
        }));
    }

    /// The address of a string, whose logdef is written when it is new.
    fn string(&mut self, string: &'static str) -> Option<Svma> {
        let known = self.strings.iter().position(|known| *known == string);
        let index = known.unwrap_or(self.strings.len());
        let address = Some(Svma(0x2000 + 64 * index as u64));
        if known.is_none() {
            self.strings.push(string);
            self.record(Record::StringLogdef(StringLogdef {
                magic: self.magic(),
                address,
                string: Some(string.as_bytes()),
                run: Some(self.run),
                ..StringLogdef::default()
            }));
        }
        address
    }

    fn skip(&mut self, thread: usize, calls: u64) {
        self.counts[thread] += calls;
    }

    fn say(
        &mut self,
        level: Level,
        line: u64,
        format: &'static str,
        thread: usize,
        args: impl FnOnce(&mut Encoder<'_>) -> Result<u32, OutOfRoom>,
    ) {
        let (file, format) = (self.string(self.image.file), self.string(format));
        let mut buffer = [0; 1024];
        let mut encoder = Encoder::new(&mut buffer);
        let count = args(&mut encoder).expect("room enough");
        let mut trace = [0; 256];
        let mut addresses = Encoder::new(&mut trace);
        for address in &self.trace {
            addresses.uint(*address).expect("room enough");
        }
        self.time += 1_234_567;
        let number = ThreadNumber(thread as u64);
        let data = Data {
            front: Glance {
                magic: self.magic(),
                file,
                line: Some(line),
                level: Some(level),
                format,
                run: Some(self.run),
                thread: Some(0x7f00_0000_1000 + number.0),
                sequence: Some(Sequence::new(number, self.counts[thread])),
                time: Some(self.time),
            },
            args: Array::from_objects(count, encoder.written()).ok(),
            backtrace: match self.trace.len() {
                0 => None,
                len => Array::from_objects(len as u32, addresses.written()).ok(),
            },
            dropped: self.dropped,
            kind: self.kind,
            ..Data::default()
        };
        self.counts[thread] += 1;
        self.record(Record::Data(data));
    }
}
