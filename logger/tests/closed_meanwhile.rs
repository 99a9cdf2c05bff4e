//! A log is closed, and another opened, while a call is in progress: its record is in its own log, or
//! counted, and never in the other, which other users may read.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::Record;
use std::ffi::c_void;
use std::path::Path;

/// The records of a log, and how many calls it says were dropped.
fn read(path: &Path) -> (u32, u64) {
    let (mut found, mut dropped) = (0, 0);
    common::records(&std::fs::read(path).unwrap(), |record| match record {
        Record::Data(_) => found += 1,
        Record::Note(note) => dropped = dropped.max(note.dropped.unwrap_or(0)),
        _ => {}
    });
    (found, dropped)
}

/// A page that is there once it is supplied.
struct LatePage {
    events: i32,
    at: *mut c_void,
}

const PAGE: usize = 4096;
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: u64 = 0xc018_aa3f;
const UFFDIO_REGISTER: u64 = 0xc020_aa00;
const UFFDIO_COPY: u64 = 0xc028_aa03;
const MISSING: u64 = 1;

impl LatePage {
    /// `None` where the kernel offers none.
    fn new() -> Option<LatePage> {
        // SAFETY: a new descriptor, a new mapping, and requests with structs of their sizes.
        unsafe {
            let events = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) as i32;
            let mut api = [UFFD_API, 0, 0];
            if events < 0 || libc::ioctl(events, UFFDIO_API, &mut api) != 0 {
                return None;
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at = libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            let mut range = [at.addr() as u64, PAGE as u64, MISSING, 0];
            assert_eq!(libc::ioctl(events, UFFDIO_REGISTER, &mut range), 0);
            Some(LatePage { events, at })
        }
    }

    fn text(&self) -> &str {
        // SAFETY: it holds a text of four bytes from the first access on, which waits for that.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.at.cast(), 4)) }
    }

    fn wait_for_access(&self) {
        let mut event = [0_u8; 32];
        // SAFETY: the buffer has the size of an event.
        let read = unsafe { libc::read(self.events, event.as_mut_ptr().cast(), event.len()) };
        assert_eq!(read, 32);
    }

    fn supply(&self) {
        let page = *b"late".repeat(PAGE / 4).first_chunk::<PAGE>().unwrap();
        let mut copy = [
            self.at.addr() as u64,
            page.as_ptr().addr() as u64,
            PAGE as u64,
            0,
            0,
        ];
        // SAFETY: a page of memory for a page.
        let copied = unsafe { libc::ioctl(self.events, UFFDIO_COPY, &mut copy) };
        assert_eq!(copied, 0);
    }
}

// SAFETY: an address that each thread may read, and a descriptor.
unsafe impl Sync for LatePage {}

#[test]
fn a_call_is_in_its_own_log_or_counted() {
    let directory = tempfile::tempdir().unwrap();
    for sink in [Sink::Mapped, Sink::Append] {
        let path = |name: &str| directory.path().join(format!("{name}-{sink:?}"));
        let Some(page) = LatePage::new() else {
            return common::skip::skip("no user space page faults");
        };
        logdef::options().sink(sink).open(path("one")).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                logdef!(Info, "the thread is known");
                logdef!(Warn, "%s", page.text());
            });
            page.wait_for_access();
            logdef::close();
            logdef::options().sink(sink).open(path("two")).unwrap();
            page.supply();
        });
        logdef!(Info, "the other log");
        logdef::close();
        let ((one, _), (two, dropped)) = (read(&path("one")), read(&path("two")));
        assert_eq!(two, 1, "{sink:?}: not of this log");
        assert_eq!(u64::from(one) + dropped, 2, "{sink:?}");
    }
}
