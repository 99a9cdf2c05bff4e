//! What a source lacks of what was logged: an imported log says so in notes.

use super::addresses::hash;
use super::log_writer::LogWriter;
use crate::read::input::Error;
use crate::recover::carried::Carried;
use crate::recover::losses::Losses;
use logdef_wire::Run;
use logdef_wire::record::{Note, NoteKind};
use std::io::Write;

impl<W: Write> LogWriter<W> {
    /// Takes in what the source lacks of what was logged, but for dropped records that entries count: the
    /// log is not clean.
    pub fn lose(&mut self, losses: &Losses) {
        let lost = &mut self.lost;
        for (sum, more) in [
            (&mut lost.missing, losses.missing),
            (&mut lost.dropped, losses.dropped),
            (&mut lost.damaged, losses.damaged),
            (&mut lost.rejected, losses.rejected),
            (&mut lost.broken_off, losses.broken_off),
            (&mut lost.torn, losses.torn),
        ] {
            // What a source says may be anything.
            *sum = sum.saturating_add(more).min(u64::MAX >> 8);
        }
    }

    /// Writes notes of what the source lacks.
    pub(super) fn note_losses(&mut self) -> Result<(), Error> {
        let lost = self.lost;
        let carried = Carried {
            damaged: lost.damaged,
            torn: lost.torn,
            missing: lost.missing,
            rejected: lost.rejected,
            broken_off: lost.broken_off,
            rebuilt: 0,
            may_hide_records: false,
        };
        if carried.is_news() {
            let text = carried.to_string();
            let note = Note {
                kind: Some(NoteKind::RECOVERY),
                text: Some(text.as_bytes()),
                ..Note::default()
            };
            self.frame(|encoder| note.encode(encoder))?;
        }
        // No thread of this log counts them: a run of which nothing else is here has made these calls.
        if lost.missing + lost.dropped > 0 {
            let origin = self.origin.0.to_be_bytes();
            let note = Note {
                run: Some(Run(hash(&[b"lost", &origin]))),
                kind: Some(NoteKind::END),
                text: Some(b"records that the source of this log lacks"),
                calls: Some(lost.missing + lost.dropped),
                dropped: Some(lost.dropped),
                ..Note::default()
            };
            self.frame(|encoder| note.encode(encoder))?;
        }
        Ok(())
    }
}
