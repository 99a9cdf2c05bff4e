//! A record of text and fields, for bindings of other languages, which have no call sites of ours:
//! each place in a source that logs becomes one when it is met first.

use core::ffi::{CStr, c_char, c_int};
use core::slice;
use logdef::__private::Places;
use logdef::{CallSite, NewCallSite, Passed, value};
use logdef_wire::Level;
use std::sync::OnceLock;

use crate::calls::level_of;

/// Fields beyond these are left out.
const FIELDS: usize = 32;

/// `struct logdef_field`.
#[repr(C)]
pub struct Field {
    name: *const c_char,
    kind: c_int,
    value: Union,
    /// Bytes of a text.
    length: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
union Union {
    signed: i64,
    unsigned: u64,
    real: f64,
    text: *const u8,
}

/// A value with its type.
#[derive(Clone, Copy)]
enum Typed<'f> {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Bool(bool),
    Text(&'f [u8]),
}

/// A call site, and what it is known by.
struct Known {
    level: Level,
    line: u32,
    file: String,
    function: String,
    site: CallSite,
}

/// Parts of the table of call sites, each of which is made for the first site in it: as one static it
/// would be a quarter of the library's file.
const PARTS: usize = 8;

static SITES: [OnceLock<Box<Places<Known, 512>>>; PARTS] = [const { OnceLock::new() }; PARTS];

/// Writes a record of `length` bytes of text and `n` fields.
///
/// Signal safety: not async-signal-safe.
///
/// # Safety
///
/// `file` and `function` are C strings or null; `text` points to `length` bytes, and `fields` to `n`
/// fields, whose names are C strings and whose texts have as many bytes as they say.
#[unsafe(no_mangle)]
#[unsafe(link_section = "logdef_interface")] // Left out of backtraces.
pub unsafe extern "C" fn logdef_write(
    level: c_int,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    text: *const u8,
    length: usize,
    fields: *const Field,
    n: usize,
) {
    // SAFETY: as `# Safety` demands.
    let (file, function, text, fields) = unsafe {
        (
            string(file),
            string(function),
            bytes(text, length),
            slice::from_raw_parts(if n == 0 { [].as_ptr() } else { fields }, n),
        )
    };
    let site = site(level_of(level), file, line, function);
    if !site.is_on() {
        return;
    }
    let mut typed = [("", Typed::Bool(false)); FIELDS];
    let mut count = 0;
    for (place, field) in typed.iter_mut().zip(fields) {
        // SAFETY: as `# Safety` demands.
        *place = unsafe { (string(field.name), field.typed()) };
        count += 1;
    }
    let pairs: [(&str, Passed<'_>); FIELDS] =
        core::array::from_fn(|index| (typed[index].0, typed[index].1.pass()));
    site.log_pairs(&[value(&text)], &pairs[..count]);
}

/// A C string, or none; empty if it is not UTF-8.
///
/// # Safety
///
/// It is a C string or null.
unsafe fn string<'s>(at: *const c_char) -> &'s str {
    if at.is_null() {
        return "";
    }
    // SAFETY: it is no null pointer, so the caller vouches for a C string.
    unsafe { CStr::from_ptr(at) }.to_str().unwrap_or("")
}

/// # Safety
///
/// `at` points to `length` bytes, or is null.
unsafe fn bytes<'b>(at: *const u8, length: usize) -> &'b [u8] {
    if at.is_null() {
        return &[];
    }
    // SAFETY: it is no null pointer, so the caller vouches for `length` bytes.
    unsafe { slice::from_raw_parts(at, length) }
}

impl Field {
    /// # Safety
    ///
    /// A text has as many bytes as the field says.
    unsafe fn typed<'f>(&self) -> Typed<'f> {
        // SAFETY: every bit pattern is a value of each number; the kind says what was set, and a
        // text is as long as the field says.
        unsafe {
            match self.kind {
                1 => Typed::Unsigned(self.value.unsigned),
                2 => Typed::Real(self.value.real),
                3 => Typed::Bool(self.value.unsigned != 0),
                4 => Typed::Text(bytes(self.value.text, self.length)),
                _ => Typed::Signed(self.value.signed),
            }
        }
    }
}

impl Typed<'_> {
    fn pass(&self) -> Passed<'_> {
        match self {
            Typed::Signed(number) => value(number),
            Typed::Unsigned(number) => value(number),
            Typed::Real(number) => value(number),
            Typed::Bool(flag) => value(flag),
            Typed::Text(text) => value(text),
        }
    }
}

/// The site of a place in a source.
fn site(level: Level, file: &str, line: u32, function: &str) -> CallSite {
    let make = || Known {
        level,
        line,
        file: file.to_owned(),
        function: function.to_owned(),
        site: NewCallSite::new(level, "{}", 1)
            .file(file, line)
            .function(function)
            .register(),
    };
    let is_it = |known: &Known| {
        (known.level, known.line) == (level, line)
            && known.file == file
            && known.function == function
    };
    let hash = hash(level, file, line, function);
    let part = SITES[hash / 512 % PARTS].get_or_init(|| Box::new(Places::new()));
    let found = part.find(hash, make, is_it);
    found.map_or_else(|| rest(level), |known| known.site)
}

/// The site of all records of a level for which there is no place: a program makes names of files
/// without end.
fn rest(level: Level) -> CallSite {
    static REST: [OnceLock<CallSite>; 256] = [const { OnceLock::new() }; 256];
    *REST[usize::from(level.0)].get_or_init(|| NewCallSite::new(level, "{}", 1).register())
}

fn hash(level: Level, file: &str, line: u32, function: &str) -> usize {
    let bytes = file.bytes().chain(function.bytes());
    let start = (u64::from(line) << 8 | u64::from(level.0)) ^ 0xcbf2_9ce4_8422_2325;
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.fold(start.wrapping_mul(0x0100_0000_01b3), mix);
    (hash >> 20) as usize
}
