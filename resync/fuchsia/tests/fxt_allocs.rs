//! Writing allocates nothing per record, once its tables know the strings; neither
//! does encoding into a fixed buffer, nor reading raw records.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use logdef_fuchsia::fxt::{
    Argument, Event, FixedBuffer, Item, Log, Metadata, Raw, Record, Records, Thread, ThreadRef,
    Ticks, Tracker, WriteError, Writer,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system allocator, which keeps the
// contract; counting touches a thread-local integer that needs no allocation itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

fn write(trace: &mut Writer<std::io::Sink>, n: u64) {
    let thread = Thread::new(1, n % 300);
    trace.log(n, thread, "a message").unwrap();
    let args = [
        Argument::new("severity", "INFO"),
        Argument::new("line", n as u32),
        Argument::new("ratio", 0.5),
    ];
    trace
        .write(Event::instant(n, thread, "net", "accepted").args(&args))
        .unwrap();
}

#[test]
fn a_session_allocates_nothing_for_records_of_known_strings() {
    let mut trace = Writer::new(std::io::sink()).unwrap();
    for n in 0..1000 {
        write(&mut trace, n);
    }
    let n = allocations(|| (0..10_000).for_each(|n| write(&mut trace, n)));
    assert_eq!(n, 0);
}

#[test]
fn a_fixed_buffer_takes_what_fits_and_refuses_the_rest_without_allocating() {
    let mut room = [0xff; 40];
    let log: Record<Raw<'_>> = Log {
        time: Ticks(1),
        thread: ThreadRef::Inline(Thread::new(2, 3)),
        message: b"hi" as &[u8],
    }
    .into();
    let n = allocations(|| {
        let mut buffer = FixedBuffer::new(&mut room);
        assert_eq!(log.encode(&mut buffer), Ok(40));
        assert_eq!(log.encode(&mut buffer), Err(WriteError::BufferFull));
        let magic: Record<Raw<'_>> = Metadata::Magic.into();
        assert_eq!(magic.encode(&mut buffer), Err(WriteError::BufferFull));
        assert_eq!(buffer.as_bytes().len(), 40);
    });
    assert_eq!(n, 0);
    assert_eq!(room[34..], [0; 6]);
}

#[test]
fn raw_records_are_read_and_tracked_without_allocating() {
    let mut trace = Writer::new(Vec::new()).unwrap();
    for n in 0..1000_u64 {
        trace.log(n, Thread::new(1, 1), "a message").unwrap();
    }
    let bytes = trace.finish().unwrap();
    let mut tracker = Tracker::new();
    let mut track = || {
        for item in Records::new(&bytes) {
            let Item::Record(found) = item else {
                panic!("{item:?}");
            };
            if let Record::Log(_) = found.record {
                tracker.track(&found);
            }
        }
    };
    track();
    assert_eq!(allocations(track), 0);
}
