//! The log that archives are measured with: three services of four threads each serve 100,000
//! requests in 72 minutes of simulated time, in about 1.5 million records. The same in each run.
//!
//! `cargo run --release -p logdef-samples --example requests FOLDER [REQUESTS]` writes `edge.log`,
//! `api.log` and `store.log`, laid out as the mapped sink does: in chunks of 64 KiB of one thread.

use logdef_wire::msgpack::{Array, Encoder};
use logdef_wire::record::{Data, Glance, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Level, Magic, Record, Run, Sequence, Svma, ThreadNumber, frame};
use std::collections::HashSet;
use std::path::Path;
use std::{env, fs, io};

const CHUNK: usize = 64 << 10;
const THREADS: usize = 4;
/// 2026-11-21 08:00:00 UTC.
const START: u64 = 1_795_248_000_000_000_000;
/// Nanoseconds from one request to the next, on average.
const BETWEEN: f64 = 43_200_000.0;

/// Random numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Between 0, which it is not, and 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 + f64::MIN_POSITIVE
    }

    /// A duration of a mean, many of which are short.
    fn duration(&mut self, mean: f64) -> f64 {
        -self.part().ln() * mean
    }

    /// One of `end` things, the first of which is the most frequent.
    fn frequent(&mut self, end: u64) -> u64 {
        ((end as f64).powf(self.part()) as u64).min(end) - 1
    }
}

/// A value of a call.
enum Arg<'a> {
    Text(&'a str),
    Int(i64),
    Float(f64),
}
use Arg::{Float, Int, Text};

/// A service, and the file that its threads log to.
struct Service {
    name: &'static str,
    run: Run,
    magic: Magic,
    file: Vec<u8>,
    threads: Vec<Thread>,
}

#[derive(Default)]
struct Thread {
    chunk: Vec<u8>,
    known: HashSet<u64>,
    count: u64,
    time: u64,
}

impl Service {
    fn new(name: &'static str, number: u64) -> Service {
        Service {
            name,
            run: Run(0x5eed_0000_0000_0000 + number * 0x0123_4567),
            magic: Magic(0xabc0_0000_0000_0000 + number),
            file: Vec::new(),
            threads: (0..THREADS).map(|_| Thread::default()).collect(),
        }
    }

    /// Logs a call. `place` is its line, and stands for its format too.
    fn log(
        &mut self,
        thread: usize,
        time: u64,
        line: u64,
        level: Level,
        format: &str,
        args: &[Arg<'_>],
    ) {
        let mut objects = [0; 512];
        let mut encoder = Encoder::new(&mut objects);
        for arg in args {
            match arg {
                Text(text) => encoder.raw(text.as_bytes()),
                Int(number) => encoder.int(*number),
                Float(number) => encoder.float(*number),
            }
            .unwrap();
        }
        let own = &mut self.threads[thread];
        own.time = own.time.max(time);
        let data = Record::Data(Data {
            front: Glance {
                magic: Some(self.magic),
                file: Some(Svma(0x2000)),
                line: Some(line),
                level: Some(level),
                format: Some(Svma(0x3000 + line)),
                run: Some(self.run),
                thread: Some(0x7f12_3400_0640 + 0x80_0000 * thread as u64),
                sequence: Some(Sequence::new(ThreadNumber(thread as u64), own.count)),
                time: Some(own.time),
            },
            args: Array::from_objects(args.len() as u32, encoder.written()).ok(),
            ..Data::default()
        });
        own.count += 1;
        if own.chunk.len() + 1024 > CHUNK {
            self.end_chunk(thread);
        }
        if self.threads[thread].chunk.is_empty() {
            self.begin_chunk(thread);
        }
        let name = format!("{}.c", self.name);
        self.define(thread, 0x2000, &name);
        self.define(thread, 0x3000 + line, format);
        push(&mut self.threads[thread].chunk, &data);
    }

    fn begin_chunk(&mut self, thread: usize) {
        let path = format!("/srv/bin/{}", self.name);
        let name = format!("{}-{thread}", self.name);
        let preamble = Record::Preamble(Preamble {
            magic: Some(self.magic),
            path: Some(path.as_bytes()),
            version: Some(1),
            run: Some(self.run),
            pid: Some(4000 + self.magic.0 % 10),
            realtime: Some(START),
            monotonic: Some(1_000_000_000),
            chunk: Some(CHUNK as u64),
            host: Some(b"host-1"),
            ..Preamble::default()
        });
        let logdef = Record::ThreadLogdef(ThreadLogdef {
            run: Some(self.run),
            thread: Some(0x7f12_3400_0640 + 0x80_0000 * thread as u64),
            tid: Some(4100 + thread as u64),
            name: Some(name.as_bytes()),
            number: Some(ThreadNumber(thread as u64)),
        });
        let chunk = &mut self.threads[thread].chunk;
        push(chunk, &preamble);
        push(chunk, &logdef);
    }

    fn end_chunk(&mut self, thread: usize) {
        let own = &mut self.threads[thread];
        if own.chunk.is_empty() {
            return;
        }
        own.chunk.resize(CHUNK, 0);
        self.file.append(&mut own.chunk);
        own.known.clear();
    }

    fn define(&mut self, thread: usize, address: u64, string: &str) {
        let own = &mut self.threads[thread];
        if own.known.insert(address) {
            let logdef = Record::StringLogdef(StringLogdef {
                magic: Some(self.magic),
                address: Some(Svma(address)),
                string: Some(string.as_bytes()),
                run: Some(self.run),
                ..StringLogdef::default()
            });
            push(&mut own.chunk, &logdef);
        }
    }

    fn write(mut self, folder: &Path) -> io::Result<u64> {
        (0..THREADS).for_each(|thread| self.end_chunk(thread));
        fs::write(folder.join(self.name).with_extension("log"), &self.file)?;
        Ok(self.threads.iter().map(|thread| thread.count).sum())
    }
}

fn push(chunk: &mut Vec<u8>, record: &Record<'_>) {
    let mut frame = [0; 1024];
    let len = frame::encode(&mut frame, |encoder| record.encode(encoder)).unwrap();
    chunk.extend_from_slice(&frame[..len]);
}

/// What a request is about.
struct Request {
    id: String,
    path: String,
    user: String,
    key: String,
    address: String,
    thread: usize,
}

impl Request {
    fn new(numbers: &mut Numbers, number: u64) -> Request {
        let address = numbers.frequent(3000);
        Request {
            id: format!("{:016x}", numbers.next()),
            path: format!("/v1/items/{:x}/detail", numbers.frequent(400) * 7919),
            user: format!("user-{}", numbers.frequent(5000) * 31),
            key: format!("item:{:05}:price", numbers.frequent(20_000)),
            address: format!("10.{}.{}.{}", address % 7, address / 256, address % 256),
            thread: number as usize % THREADS,
        }
    }
}

/// Nanoseconds.
fn ns(milliseconds: f64) -> u64 {
    (milliseconds * 1e6) as u64
}

/// Logs a request, and returns how long it took in milliseconds.
fn edge(edge: &mut Service, it: &Request, numbers: &mut Numbers, time: &mut u64) {
    let (id, thread) = (Text(&it.id), it.thread);
    edge.log(
        thread,
        *time,
        10,
        Level::DEBUG,
        "accepted %s from %s",
        &[Text(&it.id), Text(&it.address)],
    );
    *time += ns(numbers.duration(0.3));
    let method = ["GET", "GET", "GET", "PUT", "POST"][numbers.below(5) as usize];
    edge.log(
        thread,
        *time,
        20,
        Level::INFO,
        "request %s: %s %s",
        &[id, Text(method), Text(&it.path)],
    );
    *time += ns(numbers.duration(0.2));
    let bytes = Int(numbers.duration(900.0) as i64);
    edge.log(
        thread,
        *time,
        30,
        Level::INFO,
        "request %s: user %s, %ld bytes",
        &[Text(&it.id), Text(&it.user), bytes],
    );
    *time += ns(numbers.duration(0.1));
    let port = Int(7000 + numbers.below(16) as i64);
    edge.log(
        thread,
        *time,
        40,
        Level::DEBUG,
        "request %s: forwarded to %s:%d",
        &[Text(&it.id), Text("api-1"), port],
    );
    if numbers.below(3) == 0 {
        edge.log(
            thread,
            *time,
            50,
            Level::TRACE,
            "keepalive of %d connections",
            &[Int(numbers.below(900) as i64)],
        );
    }
}

fn api(api: &mut Service, it: &Request, numbers: &mut Numbers, time: &mut u64) {
    let thread = it.thread;
    *time += ns(numbers.duration(0.8));
    api.log(
        thread,
        *time,
        15,
        Level::DEBUG,
        "handling %s for %s",
        &[Text(&it.id), Text(&it.user)],
    );
    *time += ns(numbers.duration(0.4));
    let role = Int(numbers.below(6) as i64);
    api.log(
        thread,
        *time,
        25,
        Level::INFO,
        "request %s: authorized %s as %d",
        &[Text(&it.id), Text(&it.user), role],
    );
    *time += ns(numbers.duration(0.6));
    api.log(
        thread,
        *time,
        35,
        Level::DEBUG,
        "request %s: cache miss for %s",
        &[Text(&it.id), Text(&it.key)],
    );
    let took = numbers.duration(4.0);
    *time += ns(took);
    let rows = Int(numbers.duration(30.0) as i64);
    api.log(
        thread,
        *time,
        45,
        Level::INFO,
        "request %s: query took %.3f ms, %ld rows",
        &[Text(&it.id), Float(took), rows],
    );
    if numbers.below(1600) == 0 {
        let why = ["timeout", "refused", "bad row"][numbers.below(3) as usize];
        api.log(
            thread,
            *time,
            65,
            Level::ERROR,
            "request %s failed: %s",
            &[Text(&it.id), Text(why)],
        );
    }
    if numbers.below(2) == 0 {
        let free = Int(numbers.below(64) as i64);
        api.log(
            thread,
            *time,
            55,
            Level::TRACE,
            "pool has %d of %d connections",
            &[free, Int(64)],
        );
    }
}

fn store(store: &mut Service, it: &Request, numbers: &mut Numbers, time: &mut u64) {
    let thread = it.thread;
    *time += ns(numbers.duration(0.5));
    store.log(
        thread,
        *time,
        12,
        Level::DEBUG,
        "get %s for %s",
        &[Text(&it.key), Text(&it.id)],
    );
    let took = numbers.duration(80.0);
    *time += took as u64 * 1000;
    let page = Int(numbers.below(4_000_000) as i64);
    store.log(
        thread,
        *time,
        22,
        Level::DEBUG,
        "request %s: page %ld read in %.3f us",
        &[Text(&it.id), page, Float(took)],
    );
    let waited = numbers.duration(12.0);
    *time += waited as u64 * 1000;
    store.log(
        thread,
        *time,
        32,
        Level::TRACE,
        "request %s: waited %.3f us for a lock",
        &[Text(&it.id), Float(waited)],
    );
    *time += ns(numbers.duration(0.1));
    let change = Int((*time / 1000 % 100_000_000) as i64);
    store.log(
        thread,
        *time,
        42,
        Level::INFO,
        "request %s: committed %lu",
        &[Text(&it.id), change],
    );
    if numbers.below(2) == 0 {
        let bytes = Int(numbers.duration(500.0) as i64);
        store.log(
            thread,
            *time,
            52,
            Level::TRACE,
            "put %s, %ld bytes",
            &[Text(&it.key), bytes],
        );
    }
    if numbers.below(4) == 0 {
        let took = numbers.duration(9.0);
        let keys = Int(numbers.below(5000) as i64);
        store.log(
            thread,
            *time,
            62,
            Level::DEBUG,
            "compacted %ld keys in %.3f ms",
            &[keys, Float(took)],
        );
    }
}

fn answer(services: &mut [Service; 3], it: &Request, numbers: &mut Numbers, start: u64, time: u64) {
    let [edge, api, _] = services;
    let bytes = Int(numbers.duration(3000.0) as i64);
    api.log(
        it.thread,
        time,
        75,
        Level::INFO,
        "request %s: answer of %ld bytes",
        &[Text(&it.id), bytes],
    );
    let time = time + ns(numbers.duration(0.7));
    let took = (time - start) as f64 / 1e6;
    let status = Int([200, 200, 200, 200, 204, 304, 404][numbers.below(7) as usize]);
    edge.log(
        it.thread,
        time,
        70,
        Level::INFO,
        "request %s: %d in %.3f ms",
        &[Text(&it.id), status, Float(took)],
    );
    if took > 25.0 {
        edge.log(
            it.thread,
            time,
            80,
            Level::WARN,
            "request %s was slow: %.3f ms",
            &[Text(&it.id), Float(took)],
        );
    }
}

fn main() -> io::Result<()> {
    let mut words = env::args().skip(1);
    let folder = words.next().expect("a folder to write to");
    let requests = words
        .next()
        .map_or(100_000, |number| number.parse().unwrap());
    println!("{} records", write(Path::new(&folder), requests)?);
    Ok(())
}

/// Writes the logs of a number of requests, and returns how many records they have.
pub fn write(folder: &Path, requests: u64) -> io::Result<u64> {
    let mut numbers = Numbers(42);
    let names = [("edge", 1), ("api", 2), ("store", 3)];
    let mut services = names.map(|(name, number)| Service::new(name, number));
    let mut begin = START as f64;
    for number in 0..requests {
        begin += numbers.duration(BETWEEN);
        let request = Request::new(&mut numbers, number);
        let mut time = begin as u64;
        edge(&mut services[0], &request, &mut numbers, &mut time);
        api(&mut services[1], &request, &mut numbers, &mut time);
        store(&mut services[2], &request, &mut numbers, &mut time);
        answer(&mut services, &request, &mut numbers, begin as u64, time);
    }
    fs::create_dir_all(folder)?;
    let mut records = 0;
    for service in services {
        records += service.write(folder)?;
    }
    Ok(records)
}
