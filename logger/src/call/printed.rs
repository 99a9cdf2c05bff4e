//! Values that the program prints itself, straight into a record: what it needs to be
//! called with the room that there is. A room for unsafe: it is called by the copy of the
//! logger that leads, which may be another one. Knows nothing of records.

use core::fmt::{self, Debug, Display, Write};
use core::panic::AssertUnwindSafe;
use logdef_wire::site::ArgKind;
use std::panic::catch_unwind;

/// Prints a value of any type.
pub type DisplayBy = fn(&dyn Display, &mut dyn Write) -> fmt::Result;
/// Prints a value of any type for debugging.
pub type DebugBy = fn(&dyn Debug, &mut dyn Write) -> fmt::Result;

/// A value and how the program prints it. The front of it is known to other copies of the
/// logger.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Printing<'a> {
    print: unsafe extern "C" fn(*const Printing<'static>, *mut u8, usize, usize) -> usize,
    how: How<'a>,
}

#[derive(Clone, Copy)]
enum How<'a> {
    Display(&'a dyn Display, DisplayBy),
    Debug(&'a dyn Debug, DebugBy),
}

impl Debug for Printing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Printing")
    }
}

impl<'a> Printing<'a> {
    /// The kind of a word that is the address of one: text.
    pub const TEXT: ArgKind = ArgKind(0x80);
    /// The same, of which width and precision are applied already.
    pub const WHOLE: ArgKind = ArgKind(0x81);

    pub fn display(value: &'a dyn Display, by: DisplayBy) -> Printing<'a> {
        let how = How::Display(value, by);
        Printing { print, how }
    }

    pub fn debug(value: &'a dyn Debug, by: DebugBy) -> Printing<'a> {
        let how = How::Debug(value, by);
        Printing { print, how }
    }

    /// Prints into `room`, and returns how many bytes the text has, as far as that was
    /// found out: printing is ended when it is longer than `most`.
    ///
    /// # Safety
    ///
    /// `at` points to one that is alive.
    pub unsafe fn print(at: *const Printing<'static>, room: &mut [u8], most: usize) -> usize {
        // SAFETY: `at` points to a live value, and the room is lent for as long as the call lasts.
        unsafe { ((*at).print)(at, room.as_mut_ptr(), room.len(), most) }
    }
}

/// # Safety
///
/// `at` points to one that is alive, and `room` to `len` bytes that nothing else uses.
unsafe extern "C" fn print(
    at: *const Printing<'static>,
    room: *mut u8,
    len: usize,
    most: usize,
) -> usize {
    // SAFETY: `at` is alive and `room` is used by this call alone (contract above).
    let (printing, room) = unsafe { (&*at, core::slice::from_raw_parts_mut(room, len)) };
    let mut to = Room { room, len: 0, most };
    let printed = catch_unwind(AssertUnwindSafe(|| match printing.how {
        How::Display(value, by) => by(value, &mut to),
        How::Debug(value, by) => by(value, &mut to),
    }));
    if printed.is_err() {
        let _ = to.write_str(PANICKED);
    }
    to.len
}

/// Stands where the program panicked while it printed a value.
const PANICKED: &str = "…[panicked]";

/// Where text is printed to; what does not fit is counted.
struct Room<'r> {
    room: &'r mut [u8],
    len: usize,
    most: usize,
}

impl Write for Room<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = self.room.get_mut(self.len..).unwrap_or_default();
        let fits = free.len().min(text.len());
        free[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += text.len();
        if self.len > self.most {
            return Err(fmt::Error);
        }
        Ok(())
    }
}
