//! What of a log becomes an entry: one way for records, notes and losses, whether the log is finished or grows. What the
//! store has already is left out before anything is looked up for it.

use crate::failure::Failure;
use crate::push::entries::{Entries, is_wanted, mark};
use crate::push::sender::Sender;
use logdef_resync::{Place, Resolver, Tables};
use logdef_wire::record::{Data, Note};

/// Feeds a sender.
pub struct Feed<'s> {
    pub sender: &'s mut Sender,
    entries: Entries,
    /// Whether records are searched for: notes that are no matter of losses are not, then.
    is_search: bool,
}

impl<'s> Feed<'s> {
    pub fn new(sender: &'s mut Sender, entries: Entries, is_search: bool) -> Feed<'s> {
        Feed {
            sender,
            entries,
            is_search,
        }
    }

    /// A record that was chosen.
    pub fn record(
        &mut self,
        data: &Data<'_>,
        body: &[u8],
        place: Place,
        resolver: &mut Resolver<'_>,
    ) -> Result<(), Failure> {
        let mark = mark(&data.front, body);
        if self.sender.has(&mark) {
            return Ok(());
        }
        let stack = resolver.backtrace(data, place);
        let resolved = resolver.resolve(data, place);
        self.sender
            .add(self.entries.record(&resolved, &stack), mark)
    }

    /// A note of what was chosen.
    pub fn note(
        &mut self,
        note: &Note<'_>,
        place: Place,
        tables: &Tables,
        resolver: &mut Resolver<'_>,
    ) -> Result<(), Failure> {
        if !is_wanted(note, self.is_search) {
            return Ok(());
        }
        let stack = note
            .backtrace
            .map(|addresses| resolver.stack(addresses, note.run, note.time, place, true));
        let (entry, mark) = self.entries.note(note, tables, &stack.unwrap_or_default());
        if self.sender.has(&mark) {
            return Ok(());
        }
        self.sender.add(entry, mark)
    }

    /// Something that was lost, in words; `what` makes it the same if it is found again.
    pub fn loss(&mut self, text: String, what: &[&[u8]]) -> Result<(), Failure> {
        let (entry, mark) = self.entries.loss(text, what);
        if self.sender.has(&mark) {
            return Ok(());
        }
        self.sender.add(entry, mark)
    }
}
