//! What a chunk must define before a record: the preamble of the record's
//! image, its thread, its strings and code addresses. Written just before the
//! record that needs them first, in the same breath, and marked only after
//! they are in the log: then no surviving record lacks them.

use crate::emit::{Strings, with_scratch};
use crate::image::Image;
use crate::process::Process;
use crate::sink::Put;
use crate::site::{Meta, Template};
use crate::sys;
use crate::thread::Thread;
use core::ffi::CStr;
use core::sync::atomic::Ordering;
use logdef_unwind::modules;
use logdef_wire::frame;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{BacktraceLogdef, Preamble, StringLogdef, ThreadLogdef};
use logdef_wire::{Avma, Svma};

/// What a record refers to.
pub(crate) struct Subject<'s> {
    pub template: &'s Template,
    pub strings: Strings<'s>,
    pub backtrace: &'s [usize],
}

impl Subject<'_> {
    /// Whether a chunk defines all of it.
    #[inline(always)]
    pub fn is_defined(&self, thread: &Thread, chunk: u32) -> bool {
        thread.has_site(self.template.id, chunk)
            && thread.has_thread(chunk)
            && self
                .backtrace
                .iter()
                .all(|address| thread.has_address(*address as u64, chunk))
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
    let (known, wanted) = match everything {
        true => (NO_CHUNK, None),
        false => (chunk, Some(chunk)),
    };
    // The scratch memory may hold the record itself; then this gets another.
    let put = with_scratch(thread, |scratch| {
        let missing = Missing::of(process, thread, subject, known);
        let mut out = Frames {
            buffer: scratch,
            len: 0,
        };
        // Definitions that do not fit are left out: the record is worth more.
        let _ = missing.write(process, thread, subject, known, &mut out);
        let Some(room) = out.buffer.get_mut(out.len..out.len + record.len()) else {
            return Ok(process.sink.put(thread, record, wanted));
        };
        room.copy_from_slice(record);
        let frames = &out.buffer[..out.len + record.len()];
        let put = process.sink.put(thread, frames, wanted);
        if let Put::Done(chunk) = put {
            missing.mark(thread, subject, chunk);
        }
        Ok(put)
    });
    put.unwrap_or(Put::Dropped)
}

/// Gives the thread another chunk, opened by a preamble that tells its size.
/// `false` if there is none to be had.
#[cold]
#[inline(never)]
pub(crate) fn next_chunk(process: &Process, thread: &Thread, need: usize) -> bool {
    // The opening takes room too; a path is its longest part.
    let Some(claim) = process.sink.claim(thread, need as u64 + 1024) else {
        return false;
    };
    let found = process.images.of(crate::main_program_address());
    let opened = with_scratch(thread, |scratch| {
        let mut out = Frames {
            buffer: scratch,
            len: 0,
        };
        let image = found.map(|(_, image)| image);
        let size = Some(claim.size() as u32);
        let _ = write_preamble(process, image, size, &mut out);
        process.sink.enter(thread, claim, &out.buffer[..out.len]);
        Ok(())
    });
    match (opened, found) {
        (Ok(()), Some((index, _))) => thread.mark_image(index, claim.unit as u32),
        (Ok(()), None) => {}
        // A chunk without an opening is better than none.
        (Err(_), _) => process.sink.enter(thread, claim, &[]),
    }
    true
}

/// What a chunk does not define.
struct Missing<'p> {
    image: Option<&'p Image>,
    preamble: bool,
    thread: bool,
    format: Option<Svma>,
    file: Option<Svma>,
}

/// A string's name among code addresses, for calls without a site. Code is
/// never that high.
fn string_mark(image: u8, at: Svma) -> u64 {
    (image as u64 + 1) << 56 | at.0
}

impl<'p> Missing<'p> {
    fn of(process: &'p Process, thread: &Thread, subject: &Subject<'_>, chunk: u32) -> Self {
        let Meta {
            image: index, file, ..
        } = subject.template.meta;
        let image = process.images.get(index);
        let site = thread.has_site(subject.template.id, chunk);
        let without_site = subject.template.id == 0;
        let address = |string: &CStr| {
            let at = image?.address_of(string)?;
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
        for address in subject.backtrace {
            thread.mark_address(*address as u64, chunk);
        }
    }

    fn write(
        &self,
        process: &Process,
        thread: &Thread,
        subject: &Subject<'_>,
        chunk: u32,
        out: &mut Frames<'_>,
    ) -> Result<(), OutOfRoom> {
        let magic = self.image.map(|image| image.magic);
        let run = Some(process.run());
        if self.preamble {
            write_preamble(process, self.image, None, out)?;
        }
        if self.thread {
            let name = thread.name();
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
        for (at, string) in [
            (self.file, subject.strings.file()),
            (self.format, subject.strings.format()),
        ] {
            let Some(at) = at else { continue };
            let logdef = StringLogdef {
                magic,
                address: Some(at),
                string: Some(string.to_bytes()),
                run,
            };
            // A string too long to define is found in the image, or not at all.
            let _ = out.frame(|e| logdef.encode(e));
        }
        for (index, address) in subject.backtrace.iter().enumerate() {
            let known = thread.has_address(*address as u64, chunk)
                || subject.backtrace[..index].contains(address);
            if !known {
                write_address(process, self.image, *address, out)?;
            }
        }
        Ok(())
    }
}

fn write_preamble(
    process: &Process,
    image: Option<&Image>,
    size: Option<u32>,
    out: &mut Frames<'_>,
) -> Result<(), OutOfRoom> {
    let fingerprint = image.and_then(|image| image.fingerprint.as_ref());
    let about = process.about();
    let (mut host, mut boot_id) = ([0; 64], [0; 64]);
    let (host, boot_id) = (about.host(&mut host), about.boot_id(&mut boot_id));
    out.frame(|e| {
        Preamble {
            magic: image.map(|image| image.magic),
            path: image.map(Image::path),
            size: fingerprint.map(|(size, _)| *size),
            digest: fingerprint.map(|(_, digest)| &digest[..]),
            version: Some(1),
            run: Some(process.run()),
            pid: Some(process.pid.load(Ordering::Relaxed) as u64),
            load_bias: image.map(|image| image.load_bias() as u64),
            build_id: image.and_then(Image::build_id),
            realtime: Some(process.realtime.load(Ordering::Relaxed)),
            monotonic: Some(process.monotonic.load(Ordering::Relaxed)),
            machine: Some(std::env::consts::ARCH.as_bytes()),
            host,
            chunk: size.map(u64::from),
            boot_id,
            file_system: process.sink.file_system(),
        }
        .encode(e)
    })
}

fn write_address(
    process: &Process,
    image: Option<&Image>,
    address: usize,
    out: &mut Frames<'_>,
) -> Result<(), OutOfRoom> {
    // A return address can be one past the end of its function.
    let module = modules::find(address.wrapping_sub(1));
    let symbol = module
        .as_ref()
        .and_then(|module| module.exported_symbol(address.wrapping_sub(1)));
    let of = module.and_then(|module| process.images.of(module.start()));
    let path = match (of, &module) {
        (Some((_, image)), _) => Some(image.path()),
        (None, Some(module)) => Some(module.name().to_bytes()),
        (None, None) => None,
    };
    out.frame(|e| {
        BacktraceLogdef {
            magic: image.map(|image| image.magic),
            address: Some(Avma(address as u64)),
            fname: path,
            fbase: module.map(|module| Avma(module.start() as u64)),
            sname: symbol.map(|symbol| symbol.name.to_bytes()),
            saddr: symbol.map(|symbol| Avma(symbol.address as u64)),
            run: Some(process.run()),
            build_id: module.and_then(|module| module.build_id()),
            load_bias: module.map(|module| module.load_bias() as u64),
        }
        .encode(e)
    })
}

/// Frames one after another in a buffer.
struct Frames<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl Frames<'_> {
    fn frame(
        &mut self,
        body: impl FnOnce(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
    ) -> Result<(), OutOfRoom> {
        self.len += frame::encode(&mut self.buffer[self.len..], body)?;
        Ok(())
    }
}
