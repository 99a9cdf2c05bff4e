//! What a chunk must define before a record: the preamble of the record's
//! image, its thread, its strings and code addresses. Written just before the
//! record that needs them first, in the same breath, and marked only after
//! they are in the log: then no surviving record lacks them.

mod strings;

pub(crate) use strings::{Logged, write_string};

use crate::call::site::{Meta, Strings, Template, run_time};
use crate::context::Context;
use crate::image::code::{self, Epoch};
use crate::image::{Image, Images};
use crate::process::Process;
use crate::sink::Put;
use crate::sys;
use crate::thread::{Dropped, Thread, with_scratch};
use core::ffi::CStr;
use core::sync::atomic::Ordering;
use logdef_unwind::modules;
use logdef_wire::frame;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{
    BacktraceLogdef, ContextLogdef, Module, Note, NoteKind, Preamble, ThreadLogdef,
};
use logdef_wire::{Avma, Magic, Map, Run, Svma};

/// What a record refers to.
pub(crate) struct Subject<'s> {
    pub template: &'s Template,
    pub strings: Strings<'s>,
    pub backtrace: &'s [usize],
    /// Of the backtrace.
    pub epoch: Epoch,
    /// In which the call was made.
    pub context: Option<&'s Context>,
}

impl Subject<'_> {
    /// Whether a chunk defines all of it.
    #[inline(always)]
    pub fn is_defined(&self, thread: &Thread, chunk: u32) -> bool {
        thread.has_site(self.template.id, chunk)
            && thread.has_thread(chunk)
            && self
                .context
                .is_none_or(|context| thread.has_address(context_mark(context), chunk))
            && self
                .backtrace
                .iter()
                .all(|address| thread.has_address(address_mark(self.epoch, *address), chunk))
    }
}

/// A number that no chunk has, and that no mark starts with: nothing is defined
/// in it.
const NO_CHUNK: u32 = u32::MAX;

/// Puts what chunk `chunk` does not define and the record's frame into it; or
/// all that the record refers to, into whatever chunk the thread has.
#[cold]
#[inline(never)]
pub(crate) fn put(
    process: &Process,
    thread: &Thread,
    subject: &Subject<'_>,
    record: &[u8],
    chunk: u32,
    everything: bool,
) -> Put {
    let (known, wanted) = if everything {
        (NO_CHUNK, None)
    } else {
        (chunk, Some(chunk))
    };
    // The scratch memory may hold the record itself; then this gets another.
    let put = with_scratch(thread, |scratch| {
        let mut missing = Missing::of(process, thread, subject, known);
        let mut out = Frames {
            buffer: scratch,
            len: 0,
        };
        // Definitions that do not fit are left out: the record is worth more.
        let complete = missing.write(process, thread, subject, known, &mut out);
        let Some(frames) = out.followed_by(record) else {
            return Ok(process.sink.put(&process.shared, thread, record, wanted));
        };
        let put = process.sink.put(&process.shared, thread, frames, wanted);
        if let (Put::Done(chunk), Ok(())) = (put, complete) {
            missing.mark(thread, subject, chunk);
        }
        Ok(put)
    });
    put.unwrap_or(Put::Dropped)
}

/// Puts a frame that refers to the run alone into the thread's chunk; after a preamble where the thread has written
/// none, so that every file of an appended log begins with one.
pub(crate) fn put_note(process: &Process, thread: &Thread, frame: &[u8]) -> Put {
    let chunk = process.sink.chunk(thread);
    let program = process.images.of(sys::main_program_address());
    let put = |frames: &[u8]| process.sink.put(&process.shared, thread, frames, chunk);
    let lacks_one = |index| chunk.is_some_and(|chunk| !thread.has_image(index, chunk));
    let Some((index, image)) = program.filter(|(index, _)| lacks_one(*index)) else {
        return put(frame);
    };
    let put = with_scratch(thread, |scratch| {
        let mut out = Frames {
            buffer: scratch,
            len: 0,
        };
        // A preamble that does not fit is left out: the note is worth more.
        let complete = write_preamble(process, Some(image), None, &mut out);
        let Some(frames) = out.followed_by(frame) else {
            return Ok(put(frame));
        };
        let put = put(frames);
        if let (Put::Done(chunk), Ok(())) = (put, complete) {
            thread.mark_image(index, chunk);
        }
        Ok(put)
    });
    put.unwrap_or(Put::Dropped)
}

/// Gives the thread another chunk, which begins with a preamble that contains its size.
/// `false` if no chunk can be had.
#[cold]
#[inline(never)]
fn next_chunk(process: &Process, thread: &Thread, need: usize) -> bool {
    let take = || take_chunk(process, thread, need);
    thread.take_chunk(take).unwrap_or(false)
}

fn take_chunk(process: &Process, thread: &Thread, need: usize) -> bool {
    // The opening takes room too; a path is its longest part.
    let Some(claim) = process
        .sink
        .claim(&process.shared, thread, need as u64 + 1024)
    else {
        return false;
    };
    let found = process.images.of(sys::main_program_address());
    let opened = with_scratch(thread, |scratch| {
        let mut out = Frames {
            buffer: scratch,
            len: 0,
        };
        let image = found.map(|(_, image)| image);
        let size = Some(claim.size() as u32);
        let _ = write_preamble(process, image, size, &mut out);
        let at = out.len as u64;
        if let Some(range) = process.sink.pruned_from(thread, claim, at) {
            let _ = write_pruned(process, range, &mut out);
        }
        process.sink.enter(thread, claim, &out.buffer[..out.len]);
        Ok(())
    });
    match (opened, found) {
        (Ok(()), Some((index, _))) => thread.mark_image(index, claim.chunk),
        (Ok(()), None) => {}
        // A chunk without an opening is better than none.
        (Err(_), _) => process.sink.enter(thread, claim, &[]),
    }
    true
}

/// Says of the file's front that its chunks were pruned.
fn write_pruned(
    process: &Process,
    (start, size): (i64, u64),
    out: &mut Frames<'_>,
) -> Result<(), OutOfRoom> {
    let note = Note {
        run: Some(process.shared.run.id()),
        kind: Some(NoteKind::PRUNED),
        time: Some(crate::clock::realtime()),
        start: Some(start),
        size: Some(size),
        ..Note::default()
    };
    out.frame(|e| note.encode(e))
}

/// Calls `put`, which gets the number of the attempt, until frames of `len` bytes are in
/// the log: again if a handler moved the thread to another chunk meanwhile, and with
/// another chunk if this one is full.
#[inline(always)]
pub(crate) fn place(
    process: &Process,
    thread: &Thread,
    len: usize,
    mut put: impl FnMut(u32) -> Put,
) -> Result<(), Dropped> {
    let mut chunks = 0;
    for attempt in 0..ATTEMPTS {
        match put(attempt) {
            Put::Done(_) => return Ok(()),
            Put::Moved => {}
            Put::Full if chunks < CHUNKS && next_chunk(process, thread, len) => chunks += 1,
            Put::Full | Put::Dropped => break,
        }
    }
    Err(Dropped)
}

/// A record that was not placed after this many attempts is dropped: handlers interrupt
/// its thread, or other processes begin files, all the time.
const ATTEMPTS: u32 = 1000;
/// A record for which this many chunks were too small is dropped.
const CHUNKS: u32 = 8;

/// Puts the logdefs of code addresses into the thread's chunk, as far as they
/// are not there.
pub(crate) fn put_addresses(process: &Process, thread: &Thread, addresses: &[usize]) {
    let now = || process.now(thread);
    process.code.is_settled(process.images, addresses, now);
    let Some(chunk) = process.sink.chunk(thread) else {
        return;
    };
    let mut addresses = Addresses {
        addresses,
        epoch: process.code.epoch(),
        modules: Set::default(),
    };
    let put = with_scratch(thread, |scratch| {
        let mut out = Frames {
            buffer: scratch,
            len: 0,
        };
        let program = process.images.of(sys::main_program_address());
        let magic = program.and_then(|(_, program)| program.known_magic());
        // What does not fit is found by the module, or not at all.
        let _ = addresses.write(process, thread, magic, chunk, &mut out);
        let frames = &out.buffer[..out.len];
        Ok(if frames.is_empty() {
            Put::Dropped
        } else {
            process
                .sink
                .put(&process.shared, thread, frames, Some(chunk))
        })
    });
    if let Ok(Put::Done(chunk)) = put {
        addresses.mark(thread, chunk);
    }
}

/// What a chunk does not define.
struct Missing<'p> {
    image: Option<&'p Image>,
    preamble: bool,
    thread: bool,
    format: Option<Svma>,
    file: Option<Svma>,
    addresses: Addresses<'p>,
    context: Option<&'p Context>,
}

/// The highest bits of a mark among code addresses say what it stands for.
const STRING: u64 = 1 << 63;
const MODULE: u64 = 1 << 62;
const ADDRESS_BITS: u32 = 48;

/// A context, by its number and how many keys it has.
#[inline(always)]
pub(crate) fn context_mark(context: &Context) -> u64 {
    STRING | MODULE | context.mark()
}

/// A code address in an epoch.
fn address_mark(epoch: Epoch, address: usize) -> u64 {
    (epoch.0 as u64) << ADDRESS_BITS & (MODULE - 1) | address as u64 & ((1 << ADDRESS_BITS) - 1)
}

fn module_mark(epoch: Epoch, image: u8) -> u64 {
    MODULE | address_mark(epoch, image as usize)
}

/// A string of an image, for calls without a site.
fn string_mark(image: u8, at: Svma) -> u64 {
    STRING | (image as u64) << ADDRESS_BITS | at.0
}

impl<'p> Missing<'p> {
    fn of(process: &'p Process, thread: &Thread, subject: &Subject<'p>, chunk: u32) -> Self {
        let Meta {
            image: index, file, ..
        } = subject.template.meta;
        let image = process.images.get(index);
        let site = thread.has_site(subject.template.id, chunk);
        let without_site = subject.template.id == 0;
        let numbered = subject.strings.is_made_at_run_time();
        let address = |string: &CStr| {
            let at = if numbered {
                run_time::number_of(string)
            } else {
                image?.address_of(string)?
            };
            let known = without_site && thread.has_address(string_mark(index, at), chunk);
            (!known).then_some(at)
        };
        let file_known = site || thread.has_file(file, chunk);
        Missing {
            image,
            preamble: image.is_some() && !thread.has_image(index, chunk),
            thread: !thread.has_thread(chunk),
            format: (!site).then(|| address(subject.strings.format())).flatten(),
            file: (!file_known)
                .then(|| address(subject.strings.file()))
                .flatten(),
            addresses: Addresses {
                addresses: subject.backtrace,
                epoch: subject.epoch,
                modules: Set::default(),
            },
            context: subject
                .context
                .filter(|context| !thread.has_address(context_mark(context), chunk)),
        }
    }

    fn mark(&self, thread: &Thread, subject: &Subject<'_>, chunk: u32) {
        let Meta { image, file, .. } = subject.template.meta;
        if self.preamble {
            thread.mark_image(image, chunk);
        }
        if self.thread {
            thread.mark_thread(chunk);
        }
        if subject.template.id > 0 {
            thread.mark_site(subject.template.id, chunk);
        } else if let Some(at) = self.format {
            thread.mark_address(string_mark(image, at), chunk);
        }
        if self.file.is_some() {
            thread.mark_file(file, chunk);
        }
        self.addresses.mark(thread, chunk);
        for context in self.context.into_iter().flat_map(Context::line) {
            thread.mark_address(context_mark(context), chunk);
        }
    }

    fn write(
        &mut self,
        process: &Process,
        thread: &Thread,
        subject: &Subject<'_>,
        chunk: u32,
        out: &mut Frames<'_>,
    ) -> Result<(), OutOfRoom> {
        let magic = self.image.and_then(Image::known_magic);
        let run = Some(process.shared.run.id());
        if self.preamble {
            write_preamble(process, self.image, None, out)?;
        }
        if self.thread {
            let name = sys::thread_name();
            out.frame(|e| {
                ThreadLogdef {
                    run,
                    thread: Some(sys::thread_self()),
                    tid: Some(thread.tid() as u64),
                    name: Some(sys::until_nul(&name)),
                    number: Some(thread.number()),
                }
                .encode(e)
            })?;
        }
        let strings = subject.strings;
        // A string too long to define is found in the image, or not at all.
        if let Some(at) = self.file {
            let _ = write_string(at, magic, run, &Logged::of_file(strings), out);
        }
        if let Some(at) = self.format {
            let _ = write_string(at, magic, run, &Logged::of_format(strings), out);
        }
        if let Some(context) = self.context {
            write_context(context, run, |mark| thread.has_address(mark, chunk), out);
        }
        self.addresses.write(process, thread, magic, chunk, out)
    }
}

/// Writes those of a context and its ancestors that are not known, the last of them first.
fn write_context(
    context: &Context,
    run: Option<Run>,
    is_known: impl Fn(u64) -> bool,
    out: &mut Frames<'_>,
) {
    let depth = context.line().count();
    for ancestor in (0..depth).rev().filter_map(|at| context.line().nth(at)) {
        if is_known(context_mark(ancestor)) {
            continue;
        }
        let keys = ancestor.keys();
        let logdef = ContextLogdef {
            run,
            id: Some(ancestor.id()),
            parent: ancestor.parent().map(Context::id),
            keys: Map::from_objects(keys.count, keys.objects).ok(),
            span: None,
        };
        // Keys that do not fit are lost; the record is worth more.
        let _ = out.frame(|e| logdef.encode(e));
    }
}

/// The code addresses of a backtrace, and the modules they belong to.
struct Addresses<'a> {
    addresses: &'a [usize],
    epoch: Epoch,
    /// Modules whose records were written.
    modules: Set,
}

impl Addresses<'_> {
    fn write(
        &mut self,
        process: &Process,
        thread: &Thread,
        magic: Option<Magic>,
        chunk: u32,
        out: &mut Frames<'_>,
    ) -> Result<(), OutOfRoom> {
        for (index, address) in self.addresses.iter().enumerate() {
            let known = thread.has_address(address_mark(self.epoch, *address), chunk)
                || self.addresses[..index].contains(address);
            if known {
                continue;
            }
            let module = modules::find(code::before(*address));
            let image = module.and_then(|module| process.images.of_module(&module));
            if let Some((number, image)) = image
                && self.modules.insert(number)
                && !thread.has_address(module_mark(self.epoch, number), chunk)
            {
                write_module(process, image, out)?;
            }
            write_address(process, magic, *address, module, out)?;
        }
        Ok(())
    }

    fn mark(&self, thread: &Thread, chunk: u32) {
        if self.addresses.is_empty() {
            return;
        }
        for address in self.addresses {
            thread.mark_address(address_mark(self.epoch, *address), chunk);
        }
        for image in self.modules.iter() {
            thread.mark_address(module_mark(self.epoch, image), chunk);
        }
    }
}

#[derive(Default)]
struct Set([u64; Images::MAX.div_ceil(64)]);

impl Set {
    /// Whether it is new.
    fn insert(&mut self, image: u8) -> bool {
        let word = &mut self.0[image as usize / 64];
        let before = *word;
        *word |= 1 << (image % 64);
        *word != before
    }

    fn iter(&self) -> impl Iterator<Item = u8> {
        (0..Images::MAX as u8).filter(|image| self.0[*image as usize / 64] >> (image % 64) & 1 != 0)
    }
}

/// A module's record, after those of the modules whose place it took.
fn write_module(process: &Process, image: &Image, out: &mut Frames<'_>) -> Result<(), OutOfRoom> {
    let since = image.since();
    let mut write = |image: &Image, unloaded: Option<bool>| {
        out.frame(|e| {
            Module {
                run: Some(process.shared.run.id()),
                load_bias: Some(image.load_bias() as u64),
                start: Some(Avma(image.start() as u64)),
                size: Some(image.size() as u64),
                path: Some(image.path()),
                build_id: image.build_id(),
                magic: image.known_magic(),
                time: since,
                unloaded,
            }
            .encode(e)
        })
    };
    for (_, other) in process.images.iter() {
        if other.overlaps(image) && other.gone().is_some() && other.gone() == since {
            write(other, Some(true))?;
        }
    }
    write(image, None)
}

/// Writes an image's preamble; with a size, one that opens a chunk.
pub(crate) fn write_preamble(
    process: &Process,
    image: Option<&Image>,
    size: Option<u32>,
    out: &mut Frames<'_>,
) -> Result<(), OutOfRoom> {
    let identity = image.and_then(Image::identity);
    let fingerprint = identity.and_then(|identity| identity.fingerprint.as_ref());
    let run = &process.shared.run;
    let (mut host, mut boot_id) = ([0; 64], [0; 64]);
    let (host, boot_id) = (run.host.name(&mut host), run.host.boot_id(&mut boot_id));
    out.frame(|e| {
        Preamble {
            magic: identity.map(|identity| identity.magic),
            path: image.map(Image::path),
            size: fingerprint.map(|fingerprint| fingerprint.size),
            digest: fingerprint.map(|fingerprint| &fingerprint.digest[..]),
            version: Some(1),
            run: Some(run.id()),
            pid: Some(run.pid.load(Ordering::Relaxed) as u64),
            load_bias: image.map(|image| image.load_bias() as u64),
            build_id: image.and_then(Image::build_id),
            realtime: Some(run.realtime.load(Ordering::Relaxed)),
            monotonic: Some(run.monotonic.load(Ordering::Relaxed)),
            machine: Some(std::env::consts::ARCH.as_bytes()),
            host,
            chunk: size.map(u64::from),
            boot_id,
            file_system: process.sink.file_system(),
            family: Some(process.shared.run.family()),
            parent: process.shared.run.parent(),
            ..Preamble::default()
        }
        .encode(e)
    })
}

fn write_address(
    process: &Process,
    magic: Option<Magic>,
    address: usize,
    module: Option<logdef_unwind::Module>,
    out: &mut Frames<'_>,
) -> Result<(), OutOfRoom> {
    let symbol = module.and_then(|module| module.exported_symbol(code::before(address)));
    let image = module.and_then(|module| process.images.of_module(&module));
    let path = match (image, &module) {
        (Some((_, image)), _) => Some(image.path()),
        (None, Some(module)) => Some(module.name().to_bytes()),
        (None, None) => None,
    };
    out.frame(|e| {
        BacktraceLogdef {
            magic,
            address: Some(Avma(address as u64)),
            fname: path,
            fbase: module.map(|module| Avma(module.start() as u64)),
            sname: symbol.map(|symbol| symbol.name.to_bytes()),
            saddr: symbol.map(|symbol| Avma(symbol.address as u64)),
            run: Some(process.shared.run.id()),
            build_id: module.and_then(|module| module.build_id()),
            load_bias: module.map(|module| module.load_bias() as u64),
        }
        .encode(e)
    })
}

/// Frames one after another in a buffer.
pub(crate) struct Frames<'b> {
    pub buffer: &'b mut [u8],
    pub len: usize,
}

impl Frames<'_> {
    /// Adds one.
    pub fn frame(
        &mut self,
        body: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
    ) -> Result<(), OutOfRoom> {
        self.len += frame::encode(&mut self.buffer[self.len..], body)?;
        Ok(())
    }

    /// All of them and one more after them, if that fits.
    fn followed_by(&mut self, frame: &[u8]) -> Option<&[u8]> {
        let end = self.len + frame.len();
        self.buffer.get_mut(self.len..end)?.copy_from_slice(frame);
        Some(&self.buffer[..end])
    }
}
