//! A record of another log, as an import hands it over.

use crate::recover::standing::Standing;
use logdef_wire::record::{BacktraceLogdef, Kind};
use logdef_wire::{Array, Level, Value};
use std::borrow::Cow;

/// A record of another log, with everything spelled out. What is not known is left
/// at its default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<'a> {
    /// The program, component or library that logged, by path or name.
    pub image: &'a [u8],
    /// The process, by its number.
    pub pid: Option<u64>,
    /// The thread, as the kernel numbers it.
    pub tid: Option<u64>,
    /// The process has no such number: this one only keeps it apart from others, and the log
    /// does not have it.
    pub is_pid_made_up: bool,
    /// The same of the thread.
    pub is_tid_made_up: bool,
    /// The thread's name; a change of it begins no other thread.
    pub thread_name: Option<&'a [u8]>,
    /// Nanoseconds since the Unix epoch.
    pub time: Option<u64>,
    /// Severity; `None` where the source has none.
    pub level: Option<Level>,
    /// The source file, or whatever else names a place.
    pub file: Option<&'a [u8]>,
    /// The line in that file.
    pub line: Option<u64>,
    /// A printf format: `%s` with one argument for a text, or see [`literal`]. Or one in
    /// the grammar that its description names.
    pub format: &'a [u8],
    /// Grammar of the format and names of its arguments, as
    /// [`Description`](logdef_wire::Description) reads them.
    pub description: &'a [u8],
    /// Arguments, in the order in which the format takes them from the wire.
    pub args: &'a [Value<'a>],
    /// Keys and values beside the arguments; the text does not show them.
    pub keys: &'a [(&'a [u8], Value<'a>)],
    /// Return addresses, innermost first; nil after them where there were more.
    pub backtrace: Option<Array<'a>>,
    /// What is known of these addresses. The run and the magic are those of the record.
    pub addresses: &'a [BacktraceLogdef<'a>],
    /// What the record stands for; absent for a message.
    pub kind: Option<Kind>,
    /// Records of this thread that were lost just before this one.
    pub dropped: u64,
    /// How far it could be trusted where it comes from.
    pub standing: Standing,
}

/// A format that prints `text` as it stands.
pub fn literal(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'%') {
        return Cow::Borrowed(text);
    }
    let twice = |byte: &u8| std::iter::repeat_n(*byte, if *byte == b'%' { 2 } else { 1 });
    Cow::Owned(text.iter().flat_map(twice).collect())
}
