//! The layout of a call site's static record, as it stands in the section
//! `logdef_sites` of each image that logs: 64 bytes on 64-bit machines, eight
//! words. The logger reads it in memory, the symbolizer in the image file, and
//! `logdef.h` declares it; this is where they agree.
//!
//! ```text
//!  offset  size
//!       0     8   format     address of the NUL-terminated format string
//!       8     8   file       address of the NUL-terminated file name
//!      16     8   function   address of the function's name, or 0
//!      24     8   module     address of the module's name, or 0
//!      32     8   kinds      address of one byte a caller's argument, or 0
//!      40     8   plan       address of the compiled capture plan, or 0
//!      48     8   state      address of the site's mutable state
//!      56     4   line
//!      60     1   level      0: each call passes its own
//!      61     1   args       how many arguments the caller passes
//!      62     1   version    of this layout, 1
//!      63     1   flags      see [`flags`]
//! ```

/// The section that holds the records; a C identifier, so that linkers give
/// it start and stop symbols.
pub const SECTION: &str = "logdef_sites";
/// Bytes of one record.
pub const SIZE: usize = 64;
/// The version of the layout described here.
pub const VERSION: u8 = 1;

/// Offset of the address of the format string.
pub const FORMAT: usize = 0;
/// Offset of the address of the file name.
pub const FILE: usize = FORMAT + 8;
/// Offset of the address of the function's name.
pub const FUNCTION: usize = FILE + 8;
/// Offset of the address of the module's name.
pub const MODULE: usize = FUNCTION + 8;
/// Offset of the address of the argument kinds.
pub const KINDS: usize = MODULE + 8;
/// Offset of the address of the capture plan.
pub const PLAN: usize = KINDS + 8;
/// Offset of the address of the mutable state.
pub const STATE: usize = PLAN + 8;
/// Offset of the line.
pub const LINE: usize = STATE + 8;
/// Offset of the level.
pub const LEVEL: usize = LINE + 4;
/// The level of a site whose calls pass theirs.
pub const ANY_LEVEL: u8 = 0;
/// Offset of the number of arguments.
pub const ARGS: usize = LEVEL + 1;
/// Offset of the version.
pub const VERSION_AT: usize = ARGS + 1;
/// Offset of the flags.
pub const FLAGS: usize = VERSION_AT + 1;

const _: () = assert!(FLAGS + 1 == SIZE);

/// Bits of the flags byte.
pub mod flags {
    /// Every record of this site carries a backtrace.
    pub const BACKTRACE: u8 = 1;
    /// No record of this site carries a backtrace.
    pub const NO_BACKTRACE: u8 = 2;
    /// The two bits that hold the kind of the site's records
    /// ([`crate::record::Kind`]), shifted by [`KIND_SHIFT`].
    pub const KIND: u8 = 0b1100;
    /// See [`KIND`].
    pub const KIND_SHIFT: u32 = 2;
    /// The site is limited: one word follows the arguments, the number of
    /// calls that the limit skipped since the site's last record. It is logged
    /// as the key [`SKIPPED`].
    pub const LIMITED: u8 = 16;
    /// See [`LIMITED`].
    pub const SKIPPED: &str = "skipped";
    /// The site begins or ends a span that may end on another thread: one word
    /// follows the arguments, which begin and end share. It is logged as the key
    /// [`SPAN_ID`].
    pub const SPAN: u8 = 32;
    /// See [`SPAN`].
    pub const SPAN_ID: &str = "span";
    /// The site's records carry more than its text shows: after the format string,
    /// and its NUL, stands one that begins like it and takes all arguments.
    pub const ATTACHED: u8 = 64;
    /// After the format string, and what [`ATTACHED`] puts after it, stands its
    /// description ([`crate::Description`]). If its grammar is no printf's, the
    /// format string is empty, and the text stands after the description.
    pub const DESCRIBED: u8 = 128;
    /// Flags of sites where a span of time begins.
    pub const BEGIN: u8 = 1 << KIND_SHIFT;
    /// Flags of sites where one ends.
    pub const END: u8 = 2 << KIND_SHIFT;
    /// Flags of sites that log the values of counters.
    pub const COUNTER: u8 = 3 << KIND_SHIFT;
}

/// How a caller passes one argument: the type of the word, from which, with
/// the conversion, follows what is logged. One byte each in a site's `kinds`.
///
/// The numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ArgKind(pub u8);

impl ArgKind {
    /// A signed integer, sign-extended.
    pub const INT: ArgKind = ArgKind(1);
    /// An unsigned integer, zero-extended.
    pub const UINT: ArgKind = ArgKind(2);
    /// The bits of a double.
    pub const DOUBLE: ArgKind = ArgKind(3);
    /// The address of a `long double` in the machine's own form.
    pub const LONG_DOUBLE: ArgKind = ArgKind(4);
    /// A pointer to `char`: with `%s` the string it points to, which ends at
    /// a NUL or at the precision.
    pub const CSTR: ArgKind = ArgKind(5);
    /// A pointer to `wchar_t`: with `%ls` the string it points to.
    pub const WSTR: ArgKind = ArgKind(6);
    /// Any other pointer; never followed.
    pub const POINTER: ArgKind = ArgKind(7);
    /// The address of a pointer and a length: bytes that need no NUL. A null
    /// pointer in it is a missing string.
    pub const BYTES: ArgKind = ArgKind(8);
    /// A Unicode scalar value: with `%c` an integer if it is ASCII, else a raw of
    /// its UTF-8.
    pub const CHAR: ArgKind = ArgKind(9);
    /// 0 or 1: false or true.
    pub const BOOL: ArgKind = ArgKind(10);
    /// The address of a signed integer of 128 bits, in the machine's byte order.
    pub const INT128: ArgKind = ArgKind(11);
    /// The address of an unsigned one.
    pub const UINT128: ArgKind = ArgKind(12);
    /// The address of a pointer and a length: bytes that are no text.
    pub const BLOB: ArgKind = ArgKind(13);
    /// The address of a pointer and a length: text that the program made of a value,
    /// width and precision applied.
    pub const PRINTED: ArgKind = ArgKind(14);

    /// The name of a kind that is described here, for people.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            ArgKind::INT => Some("int"),
            ArgKind::UINT => Some("unsigned"),
            ArgKind::DOUBLE => Some("double"),
            ArgKind::LONG_DOUBLE => Some("long double"),
            ArgKind::CSTR | ArgKind::BYTES => Some("string"),
            ArgKind::WSTR => Some("wide string"),
            ArgKind::POINTER => Some("pointer"),
            ArgKind::CHAR => Some("char"),
            ArgKind::BOOL => Some("bool"),
            ArgKind::INT128 => Some("int128"),
            ArgKind::UINT128 => Some("unsigned int128"),
            ArgKind::BLOB => Some("bytes"),
            ArgKind::PRINTED => Some("printed"),
            _ => None,
        }
    }
}
