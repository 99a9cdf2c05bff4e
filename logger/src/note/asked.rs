//! What `logdef ctl` asked for: written down, and done if it is more than level and filter.

use super::{MOST_TEXT, Progress, drops, in_words, write};
use crate::control::News;
use crate::control::change::Change;
use crate::filter::spell;
use crate::fixed_text::FixedText;
use crate::handler;
use crate::process::Process;
use core::fmt::{self, Write};
use logdef_wire::control::{Request, Taken};
use logdef_wire::record::{Note, NoteKind};

/// A request in words: a filter, and who asked.
type Text = FixedText<1280>;

/// Writes down what was asked for and is obeyed now, and does what else is asked for. May be
/// called in a signal handler.
#[cold]
pub(crate) fn report(process: &'static Process) {
    let news = process.control.take_news();
    let mut text = Text::new();
    if news.has(News::CHANGED)
        && let Some(change) = process.control.change()
        && describe(change, &mut text).is_ok()
    {
        note(process, text.bytes());
    }
    for (kind, words) in [
        (
            News::ENDED,
            "level and filter of the program again: the time is over",
        ),
        (
            News::RESET,
            "level and filter of the program again, as asked for",
        ),
        (
            News::REFUSED,
            "a filter that was asked for cannot be obeyed: nothing changed",
        ),
        (
            News::TOO_MANY,
            "a change that was asked for is refused: a process obeys 4,096, restart the program",
        ),
        (
            News::NO_MEMORY,
            "a change that was asked for is refused: there is no memory to keep it",
        ),
    ] {
        if news.has(kind) {
            note(process, words.as_bytes());
        }
    }
    if news.has(News::ASKED) {
        process
            .control
            .take_asked(|request, taken| obey(process, request, taken));
    }
}

fn describe(change: &Change, text: &mut Text) -> fmt::Result {
    match change.level() {
        Some(level) => {
            text.write_str("level ")?;
            spell(level, text)?;
        }
        None => write!(text, "filter {}", change.text())?,
    }
    if let Some(ends) = change.ends {
        let left = ends.realtime.saturating_sub(crate::clock::realtime());
        write!(text, " for {} s", left.div_ceil(1_000_000_000))?;
    }
    asked_by(text, change.pid, change.user)
}

fn asked_by(text: &mut Text, pid: u32, user: u32) -> fmt::Result {
    write!(text, ", asked for by process {pid} of user {user}")
}

/// Does what is new in a request. `false` if something of it is left.
fn obey(process: &'static Process, request: &Request<'_>, taken: &mut Taken) -> bool {
    let mut text = Text::new();
    if request.note > taken.note {
        taken.note = request.note;
        let _ = text.push(request.text);
        let _ = asked_by(&mut text, request.pid, request.user);
        note(process, text.bytes());
    }
    if request.rotate > taken.rotate {
        taken.rotate = request.rotate;
        let mut text = Text::new();
        let _ = match process.sink.reopen(&process.shared) {
            Ok(()) => text.write_str("opened again"),
            Err(errno) => write!(text, "not opened again: {}", in_words(errno)),
        };
        let _ = asked_by(&mut text, request.pid, request.user);
        note(process, text.bytes());
    }
    // It waits and allocates: left to a call that stands in no handler.
    if request.sync > taken.sync && !handler::is_running() {
        let progress = Progress::of(process);
        let synced = process.sink.sync(&process.shared);
        progress.note(process, synced);
        drops(process);
        taken.sync = request.sync;
        taken.sync_errno = synced.err().map_or(0, |errno| errno.0 as u32);
    }
    request.sync <= taken.sync
}

fn note(process: &'static Process, text: &[u8]) {
    write(process, |encoder| {
        Note {
            run: Some(process.shared.run.id()),
            kind: Some(NoteKind::CONTROL),
            time: Some(crate::clock::realtime()),
            text: Some(&text[..text.len().min(MOST_TEXT)]),
            ..Note::default()
        }
        .encode(encoder)
    });
}
