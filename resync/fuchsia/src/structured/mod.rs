//! Structured log records, as specified by "Encoding structured records" of the Fuchsia documentation.
//!
//! A record is a sequence of little-endian 8-byte words:
//!
//! ```text
//! word 0   bits 0..=3 type 9 | 4..=15 SizeWords | 16..=55 reserved | 56..=63 severity
//! word 1   timestamp, signed nanoseconds
//! words    arguments, back to back, up to SizeWords
//!
//! argument bits 0..=3 type | 4..=15 SizeWords | 16..=31 NameRef | 32..=63 by type
//!          the name, padded with zeros to a word
//!          the value: one word for numbers, padded text for text, none for a boolean (header bit 32)
//! ```
//!
//! A string reference is 0 for the empty string, or `0x8000 | length in bytes` for text that follows.
//!
//! There are two readers in one, chosen by [`Profile`]: *strict* accepts exactly what the text of the
//! format promises, and what it accepts is the one encoding of that record (re-encoding gives the same
//! bytes); *lenient* accepts what readers in the field accept, which the text of the format does not. [`RecordWriter`] is always strict. Reading
//! borrows from the input and writing allocates nothing.
//!
//! A record carries no checksum and a two-word boolean argument is bit for bit an empty record, so
//! nothing here ever looks for "the next record" inside damaged bytes.
//!
//! ```
//! use logdef_fuchsia::structured::{Profile, Record, RecordWriter, Severity, Value};
//!
//! let mut buffer = [0; 256];
//! let mut writer = RecordWriter::new(&mut buffer, 72, Severity::INFO)?;
//! writer.argument("message", "listening")?;
//! writer.argument("port", 8080_u64)?;
//! let bytes = writer.finish();
//!
//! let (record, rest) = Record::parse(bytes, Profile::Strict)?;
//! assert_eq!(record.timestamp(), 72);
//! assert_eq!(record.arguments().nth(1).unwrap().value, Value::UnsignedInt(8080));
//! assert!(rest.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod argument;
mod dropped;
mod error;
mod fit;
mod record;
mod severity;
mod words;

pub use argument::{Argument, Arguments, Value};
pub use dropped::{AddDroppedError, add_dropped};
pub use error::{DecodeError, EncodeError, Field, Rule};
pub use fit::{Cut, fit};
pub use record::{Header, Record, RecordWriter};
pub use severity::Severity;

/// The longest record in words: `SizeWords` has 12 bits.
pub const MAX_RECORD_WORDS: usize = 4095;
/// The longest record in bytes.
pub const MAX_RECORD_BYTES: usize = MAX_RECORD_WORDS * 8;
/// The size of the buffer that every reader of datagrams offers; the longest record fits.
pub const MAX_DATAGRAM_BYTES: usize = 32_768;
/// Most arguments a strict record may have (`MAX_ARGS` of `fuchsia.diagnostics.stream`).
pub const MAX_ARGUMENTS: usize = 15;
/// Longest name of an argument in a strict record, in bytes (`MAX_ARG_NAME_LENGTH`).
pub const MAX_NAME_BYTES: usize = 256;
/// Longest text a string reference can announce; the record limit is met first.
pub const MAX_TEXT_BYTES: usize = 32_767;

/// What a reader accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// What the text of the format promises: reserved bits and padding zero, sizes consistent, names of
    /// 1 to 256 bytes, at most 15 arguments, text that is UTF-8. What passes is canonical.
    Strict,
    /// Less than the text of the format demands, as readers in the field are: all of the above is ignored,
    /// a null argument reads as the unsigned number 1, and the first argument named `message` may be
    /// damaged text.
    #[default]
    Lenient,
}
