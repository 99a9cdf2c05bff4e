//! A call that comes before the log is open: what is kept of it, and how it is written
//! when the log opens, with its own time and thread. Until then nothing is known of
//! the run, and the image that called may be unloaded; so its strings are kept too.

use crate::call::body::pairs::Pairs;
use crate::call::body::{self, Arguments, Backtrace, Head, InContext, OptionalFields, Tail};
use crate::call::gate;
use crate::call::site::{Strings, Template};
use crate::clock;
use crate::context;
use crate::logdefs::{self, Frames, Logged};
use crate::process::{Process, current};
use crate::sink::Put;
use crate::sys;
use crate::thread::{Fields, Thread};
use core::ffi::CStr;
use core::num::NonZeroUsize;
use core::sync::atomic::Ordering;
use logdef_wire::msgpack::{Decoder, Encoder, OutOfRoom};
use logdef_wire::record::{Data, Glance, ThreadLogdef};
use logdef_wire::{Description, Level, Record, Run, Sequence, Svma};
use std::collections::HashSet;

/// A call, and what is to be kept of it.
pub(crate) struct Call<'c> {
    pub template: &'c Template,
    pub strings: Strings<'c>,
    pub arguments: Arguments<'c>,
    pub kind: u8,
    pub key: Option<(&'static str, u64)>,
    pub pairs: Pairs<'c>,
    pub backtrace: Backtrace<'c>,
    /// The mirror, its observer or a capture wants it.
    pub wanted: bool,
    /// The mirror or its observer wants it.
    pub shown: bool,
}

/// Bytes of a body at most.
const BODY: usize = 32 << 10;
/// Bytes that strings are cut to: the first, or the second if they do not all fit.
const BOUNDS: [usize; 2] = [4096, 256];

/// Keeps a call, and shows it. `false` if it is lost. May be called in a signal handler.
pub(crate) fn keep(process: &Process, call: &Call<'_>) -> bool {
    // Stacks of handlers are small.
    let room = const { NonZeroUsize::new(3 * BODY).unwrap() };
    let Ok(mut memory) = sys::Temporary::new(room) else {
        return false;
    };
    let (body, entry) = memory.bytes().split_at_mut(BODY);
    let mut bounds = BOUNDS.iter();
    let Some(len) = bounds.find_map(|bound| call.encode(body, *bound).ok()) else {
        return false;
    };
    let body = &body[..len];
    if call.wanted {
        process.mirror.show(body, call.strings);
    }
    let mut encoder = Encoder::new(entry);
    let name = sys::thread_name();
    let [module, target, function] = call.strings.place().map(Option::unwrap_or_default);
    let kept = Kept {
        tid: sys::thread_id().into(),
        name: sys::until_nul(&name),
        shown: call.shown,
        module,
        target,
        function,
        file: call.strings.file(),
        format: call.strings.template().unwrap_or(call.strings.format()),
        description: call.strings.description().as_bytes(),
        body,
    };
    process.early.has_room()
        && kept.encode(&mut encoder).is_ok()
        && process.early.keep(encoder.written())
}

impl Call<'_> {
    /// Encodes the record's body, but for run and sequence, which are not known yet.
    fn encode(&self, buffer: &mut [u8], bound: usize) -> Result<usize, OutOfRoom> {
        let bound = bound.min(self.arguments.bound);
        let head = Head {
            template: self.template,
            thread: Fields::of(Run(0), sys::thread_self()),
            sequence: 0,
            time: clock::realtime(),
        };
        let arguments = Arguments {
            bound,
            ..self.arguments
        };
        let tail = Tail {
            kind: self.kind,
            key: self.key,
            pairs: self.pairs,
            // The context may be gone when the log opens.
            context: context::current().map_or(InContext::None, InContext::Spelled),
        };
        let optional = OptionalFields::of(self.template, self.strings, self.backtrace, tail);
        let (len, _) = body::encode(buffer, &head, &arguments, None)?;
        body::append_optional_fields(buffer, len, &optional, bound)
    }
}

/// What is kept of a call.
struct Kept<'k> {
    tid: u64,
    /// The thread's name.
    name: &'k [u8],
    /// The mirror has shown it.
    shown: bool,
    /// Empty for none, as the next two.
    module: &'k CStr,
    target: &'k CStr,
    function: &'k CStr,
    file: &'k CStr,
    format: &'k CStr,
    description: &'k [u8],
    body: &'k [u8],
}

impl<'k> Kept<'k> {
    fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(self.tid)?;
        encoder.raw(self.name)?;
        encoder.uint(self.shown.into())?;
        for string in [
            self.module,
            self.target,
            self.function,
            self.file,
            self.format,
        ] {
            encoder.raw(string.to_bytes_with_nul())?;
        }
        encoder.raw(self.description)?;
        encoder.raw(self.body)
    }

    fn decode(bytes: &'k [u8]) -> Option<Kept<'k>> {
        let decoder = &mut Decoder::new(bytes);
        let tid = decoder.value().ok()?.as_uint()?;
        let name = decoder.value().ok()?.as_raw()?;
        let shown = decoder.value().ok()?.as_uint()? != 0;
        let mut raw = || decoder.value().ok()?.as_raw();
        let string = |bytes| CStr::from_bytes_with_nul(bytes).ok();
        Some(Kept {
            tid,
            name,
            shown,
            module: string(raw()?)?,
            target: string(raw()?)?,
            function: string(raw()?)?,
            file: string(raw()?)?,
            format: string(raw()?)?,
            description: raw()?,
            body: raw()?,
        })
    }

    fn strings(&self) -> Strings<'k> {
        Strings::Text {
            file: self.file,
            format: self.format,
            description: Description::of(self.description),
        }
    }

    /// Whether the call is on by the settings that the log was opened with.
    fn is_on(&self, data: &Data<'_>) -> bool {
        let mut place = [self.target, self.module].into_iter().map(CStr::to_bytes);
        let place = place.find(|place| !place.is_empty());
        let level = data.level.unwrap_or(Level::INFO);
        let line = data.line.unwrap_or(0) as u32;
        gate::is_on(level, self.file.to_bytes(), line, place)
    }
}

/// Writes the calls that were kept; what cannot be written is counted. Allocates.
pub(crate) fn write_all(process: &'static Process) {
    let mut writing = Writing {
        process,
        threads: Vec::new(),
        chunk: 0,
        defined: HashSet::new(),
    };
    for entry in process.early.end() {
        let kept = Kept::decode(&entry);
        if !kept.is_some_and(|kept| writing.take(&kept)) {
            process.shared.run.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A thread that made calls before the log was open.
struct EarlyThread {
    tid: u64,
    /// `pthread_self()`.
    thread: u64,
    next: Sequence,
}

/// The calling thread writes for all others.
struct Writing {
    process: &'static Process,
    threads: Vec<EarlyThread>,
    /// What this chunk defines: strings by magic and address, threads by number.
    chunk: u32,
    defined: HashSet<(u64, u64)>,
}

/// No string's magic: what is defined is a thread.
const THREAD: u64 = 0;

impl Writing {
    /// Writes a call and shows it, if it is on. `false` if it is lost.
    fn take(&mut self, kept: &Kept<'_>) -> bool {
        let Ok(Record::Data(data)) = Record::decode(kept.body) else {
            return false;
        };
        if !kept.is_on(&data) {
            return true;
        }
        let process = self.process;
        let Some(thread) = current(process) else {
            return false;
        };
        let Some(sequence) = self.sequence(thread, kept, &data) else {
            return false;
        };
        let data = Data {
            front: Glance {
                run: Some(process.shared.run.id()),
                sequence: Some(sequence),
                ..data.front
            },
            ..data
        };
        let written = self.write(thread, kept, &data);
        thread
            .returned
            .store(thread.next.load(Ordering::Relaxed), Ordering::Release);
        if !kept.shown && data.level.is_some_and(|level| process.mirror.shows(level)) {
            let mut body = vec![0; kept.body.len() + 64];
            let mut encoder = Encoder::new(&mut body);
            if data.encode(&mut encoder).is_ok() {
                process.mirror.show_late(encoder.written(), kept.strings());
            }
        }
        written
    }

    /// The sequence of a call: of the calling thread, or of one that gets a number for
    /// its early calls alone.
    fn sequence(&mut self, mine: &Thread, kept: &Kept<'_>, data: &Data<'_>) -> Option<Sequence> {
        let thread = data.thread?;
        if kept.tid == u64::from(sys::thread_id()) && thread == sys::thread_self() {
            return Some(mine.count());
        }
        let is_known = |known: &EarlyThread| known.tid == kept.tid && known.thread == thread;
        let known = self.threads.iter().position(is_known);
        let index = match known {
            Some(index) => index,
            None => {
                let (_, number) = self.process.shared.run.number_thread().ok()?;
                self.threads.push(EarlyThread {
                    tid: kept.tid,
                    thread,
                    next: Sequence::new(number, 0),
                });
                self.threads.len() - 1
            }
        };
        let next = &mut self.threads[index].next;
        let sequence = *next;
        next.0 += 1;
        Some(sequence)
    }

    fn write(&mut self, thread: &Thread, kept: &Kept<'_>, data: &Data<'_>) -> bool {
        let process = self.process;
        let calls = &thread.lasting().calls;
        let addresses = data.backtrace.into_iter().flatten();
        let addresses: Vec<usize> = addresses
            .filter_map(|address| Some(address.as_uint()? as usize))
            .collect();
        if !addresses.is_empty() {
            calls.uncounted(|| logdefs::put_addresses(process, thread, &addresses));
        }
        let mut buffer = vec![0; 3 * BODY];
        let need = kept.body.len() + kept.format.count_bytes() + kept.file.count_bytes() + 512;
        let put = |_| self.put(thread, kept, data, &mut buffer);
        calls
            .uncounted(|| logdefs::place(process, thread, need, put))
            .is_ok()
    }

    /// Puts a record into the thread's chunk, after what that does not define.
    fn put(&mut self, thread: &Thread, kept: &Kept<'_>, data: &Data<'_>, buffer: &mut [u8]) -> Put {
        let Process { shared, sink, .. } = self.process;
        let Some(chunk) = sink.chunk(thread) else {
            return Put::Full;
        };
        if chunk != self.chunk {
            self.chunk = chunk;
            self.defined.clear();
        }
        let mut out = Frames { buffer, len: 0 };
        let mut defined = Vec::new();
        if self
            .encode(thread, kept, data, &mut out, &mut defined)
            .is_err()
        {
            return Put::Dropped;
        }
        let put = sink.put(shared, thread, &out.buffer[..out.len], Some(chunk));
        if let Put::Done(chunk) = put {
            self.defined.extend(defined);
            if data.sequence.map(Sequence::number) == Some(thread.number()) {
                thread.mark_thread(chunk);
            }
        }
        put
    }

    fn encode(
        &self,
        thread: &Thread,
        kept: &Kept<'_>,
        data: &Data<'_>,
        out: &mut Frames<'_>,
        defined: &mut Vec<(u64, u64)>,
    ) -> Result<(), OutOfRoom> {
        let run = data.run;
        let mut images = self.process.images.iter();
        let image = images.find(|(_, image)| image.known_magic() == data.magic);
        if let Some((index, image)) = image
            && !thread.has_image(index, self.chunk)
        {
            logdefs::write_preamble(self.process, Some(image), None, out)?;
            thread.mark_image(index, self.chunk);
        }
        let number = data.sequence.map(|sequence| sequence.number());
        let mut is_new = |key| {
            defined.push(key);
            !self.defined.contains(&key)
        };
        if is_new((THREAD, number.unwrap_or_default().0)) {
            let logdef = ThreadLogdef {
                run,
                thread: data.thread,
                tid: Some(kept.tid),
                name: Some(kept.name),
                number,
            };
            out.frame(|e| logdef.encode(e))?;
        }
        let magic = data.magic;
        let place = [kept.module, kept.target, kept.function];
        let format = Logged {
            string: kept.format.to_bytes(),
            description: Description::of(kept.description),
            place: place.map(|name| (!name.is_empty()).then_some(name)),
        };
        let file = Logged {
            string: kept.file.to_bytes(),
            ..Logged::default()
        };
        for (address, logged) in [(data.file, file), (data.format, format)] {
            let Some(address @ Svma(at)) = address else {
                continue;
            };
            if is_new((magic.unwrap_or_default().0, at)) {
                logdefs::write_string(address, magic, run, &logged, out)?;
            }
        }
        out.frame(|e| data.encode(e))
    }
}
