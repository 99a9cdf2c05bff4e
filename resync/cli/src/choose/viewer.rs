//! The way of a record from a frame to the output: chosen on its numbers,
//! looked up, chosen on its text, shown with its neighbours.

use crate::choose::backlog::Backlog;
use crate::choose::cursor::Cursor;
use crate::choose::filter::Filter;
use crate::choose::tail::Tail;
use crate::failure::Failure;
use crate::output::Output;
use crate::show::printer::Printer;
use crate::verb::view::View;
use logdef_resync::{Glance, Place, Resolver, StackEntry, Tables};
use logdef_wire::record::NoteKind;
use logdef_wire::{Record, Tag};
use std::io;
use std::ops::ControlFlow;

/// Shows the records that were chosen.
pub struct Viewer {
    pub output: Output,
    pub printer: Printer,
    filter: Filter,
    cursor: Option<Cursor>,
    shows_all: bool,
    before: usize,
    after: usize,
    /// Matches that are yet wanted.
    head: Option<u64>,
    /// Records that matched nothing and may be neighbours of the next.
    waiting: Backlog,
    /// Neighbours that are yet wanted of the last.
    owed: usize,
    has_shown: bool,
    has_matched: bool,
    has_skipped: bool,
    /// The last records so far, where only they are wanted.
    tail: Option<Tail>,
    /// The body of a record that was kept.
    kept: Vec<u8>,
    message: Vec<u8>,
    unknown: Unknown,
    /// The highest time that was shown while the log was not read yet, and how many records
    /// of before it were shown since.
    latest: u64,
    late: u64,
}

/// What becomes of a record that refers to something without a logdef so far.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unknown {
    /// It is shown as it is.
    Shown,
    /// Printing stops before it, since a later logdef may name it.
    Left,
    /// One was left.
    Met,
}

impl Viewer {
    pub fn new(args: &View, filter: Filter) -> Result<Viewer, Failure> {
        let mut output = Output::new();
        let mut printer = Printer::new(args, output.has_color())?;
        printer.begin(&mut output.buffer);
        let context = args.context.unwrap_or(0);
        let cursor = args.cursor_file.as_deref().map(Cursor::open).transpose()?;
        let shows_all = filter.is_everything() && args.head.is_none() && args.tail.is_none();
        Ok(Viewer {
            output,
            printer,
            filter,
            cursor,
            shows_all,
            before: args.before.unwrap_or(context),
            after: args.after.unwrap_or(context),
            head: args.head,
            waiting: Backlog::default(),
            owed: 0,
            has_shown: false,
            has_matched: false,
            has_skipped: false,
            tail: args.tail.map(Tail::as_they_come),
            kept: Vec::new(),
            message: Vec::new(),
            unknown: Unknown::Shown,
            latest: 0,
            late: 0,
        })
    }

    /// Whether a record matters that the filter does not choose: as the neighbour of one that it
    /// does, or as one that the next view need not look at.
    pub fn wants_all(&self) -> bool {
        !self.filter.is_search() || self.before + self.after > 0 || self.cursor.is_some()
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Shows the last `tail` records only, until [`Viewer::end_tail`]. Records kept so far
    /// are forgotten.
    pub fn begin_tail(&mut self, tail: usize) {
        self.begin(Tail::as_they_come(tail));
    }

    /// Keeps the last records by time, of files that are read one after another.
    pub fn begin_tail_by_time(&mut self, tail: usize) {
        self.begin(Tail::by_time(tail));
    }

    fn begin(&mut self, tail: Tail) {
        self.tail = Some(tail);
        self.shows_all = false;
        self.waiting.clear();
        self.owed = 0;
    }

    /// Whether all that is wanted of the end is there, and of a time or later.
    pub fn has_tail_since(&mut self, time: u64) -> Result<bool, Failure> {
        let Some(tail) = &mut self.tail else {
            return Ok(true);
        };
        tail.is_full_since(time, &mut self.kept).map_err(not_kept)
    }

    /// Records that are not wholly known are left from here on: the first of them
    /// breaks, and is neither shown nor counted.
    pub fn leave_unknown(&mut self) {
        self.unknown = Unknown::Left;
    }

    /// All records are shown from here on.
    pub fn accept_unknown(&mut self) {
        self.unknown = Unknown::Shown;
    }

    /// Records that came after later ones, which were shown before the log was read.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Whether a record was one of those that are wanted.
    pub fn has_matched(&self) -> bool {
        self.has_matched
    }

    /// Whether a record was left.
    pub fn has_met_unknown(&self) -> bool {
        self.unknown == Unknown::Met
    }

    /// It may take a while until the next records come.
    pub fn batch_ends(&mut self) -> Result<(), Failure> {
        if self.output.buffer.is_empty() {
            Ok(())
        } else {
            self.output.flush()
        }
    }

    /// A frame's record comes; breaks when no further one is wanted.
    #[inline]
    pub fn frame(
        &mut self,
        place: Place,
        body: &[u8],
        tables: &Tables,
        resolver: &mut Resolver<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        if self.cursor.is_some() && Tag(body[0]) == Tag::DATA {
            self.behind_cursor(place, body, tables, resolver)
        } else {
            self.any_frame(place, body, tables, resolver)
        }
    }

    /// Passes a record on unless an earlier view showed it, and moves the cursor over it.
    fn behind_cursor(
        &mut self,
        place: Place,
        body: &[u8],
        tables: &Tables,
        resolver: &mut Resolver<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let glance = Glance::of(body).unwrap_or_default();
        if self
            .cursor
            .as_ref()
            .is_some_and(|cursor| cursor.is_behind(&glance))
        {
            return Ok(ControlFlow::Continue(()));
        }
        // What comes as a neighbour of the last match may be the next view's first.
        let is_for_next_view = self.head == Some(0);
        let flow = self.any_frame(place, body, tables, resolver)?;
        if let Some(cursor) = &mut self.cursor
            && !is_for_next_view
            && self.unknown != Unknown::Met
        {
            cursor.pass(&glance);
        }
        Ok(flow)
    }

    #[inline]
    fn any_frame(
        &mut self,
        place: Place,
        body: &[u8],
        tables: &Tables,
        resolver: &mut Resolver<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let tag = Tag(body[0]);
        if tag == Tag::DATA && self.shows_all {
            self.has_matched = true;
            self.print(place, body, resolver)?;
            return Ok(match self.unknown {
                Unknown::Met => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
        }
        match tag {
            Tag::DATA => self.choose(place, body, tables, resolver),
            Tag::NOTE if self.printer.is_for_people() && !self.filter.is_search() => {
                let Ok(Record::Note(note)) = Record::decode(body) else {
                    return Ok(ControlFlow::Continue(()));
                };
                // The records after it say so themselves.
                if note.kind == Some(NoteKind::MARKED) {
                    return Ok(ControlFlow::Continue(()));
                }
                let glance = Glance {
                    run: note.run,
                    time: note.time,
                    ..Glance::default()
                };
                if self.filter.is_in_scope(&glance, place, tables) {
                    if self.tail.is_some() && self.unknown == Unknown::Left {
                        self.unknown = Unknown::Met;
                        return Ok(ControlFlow::Break(()));
                    }
                    self.show(place, body, resolver)?;
                }
                Ok(ControlFlow::Continue(()))
            }
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Shows the tail, if only that was wanted.
    pub fn end_tail(&mut self, resolver: &mut Resolver<'_>) -> Result<(), Failure> {
        let Some(mut tail) = self.tail.take() else {
            return Ok(());
        };
        let mut body = std::mem::take(&mut self.kept);
        while let Some(place) = tail.pop(&mut body).map_err(not_kept)? {
            self.print(place, &body, resolver)?;
        }
        self.kept = body;
        Ok(())
    }

    /// See [`Cursor::hold`].
    pub fn hold_cursor(&mut self, lacks_some: bool) {
        if let Some(cursor) = &mut self.cursor {
            cursor.hold(lacks_some);
        }
    }

    /// Writes what is held back, and all that was printed.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.printer.end_fold(&mut self.output.buffer);
        self.output.flush()
    }

    /// Writes all that was printed, and how far that was.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.flush()?;
        self.cursor.as_mut().map_or(Ok(()), Cursor::save)
    }

    fn choose(
        &mut self,
        place: Place,
        body: &[u8],
        tables: &Tables,
        resolver: &mut Resolver<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let wanted = |viewer: &Viewer| {
            if viewer.head == Some(0) && viewer.owed == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        if wanted(self).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let glance = Glance::of(body).unwrap_or_default();
        if !self.filter.is_in_scope(&glance, place, tables) {
            return Ok(ControlFlow::Continue(()));
        }
        let may_show = self.owed > 0 || self.before > 0 || self.filter.may_match(&glance);
        if self.unknown == Unknown::Left && may_show && !self.is_known(place, body, resolver) {
            self.unknown = Unknown::Met;
            return Ok(ControlFlow::Break(()));
        }
        let is_match = self.head != Some(0) && self.matches(&glance, place, body, resolver);
        if is_match {
            self.has_matched = true;
            if self.waiting.len() > 0 {
                self.show_waiting(resolver)?;
            }
            self.show(place, body, resolver)?;
            self.owed = self.after;
            self.head = self.head.map(|head| head - 1);
        } else if self.owed > 0 {
            self.owed -= 1;
            self.show(place, body, resolver)?;
        } else if self.before > 0 {
            if self.waiting.len() == self.before {
                self.waiting.pop(&mut self.kept).map_err(not_kept)?;
                self.has_skipped = true;
            }
            self.waiting.push(place, body).map_err(not_kept)?;
        } else {
            self.has_skipped = true;
        }
        Ok(wanted(self))
    }

    fn matches(
        &mut self,
        glance: &Glance,
        place: Place,
        body: &[u8],
        resolver: &mut Resolver<'_>,
    ) -> bool {
        if !self.filter.is_search() {
            return true;
        }
        if !self.filter.may_match(glance) {
            return false;
        }
        let Ok(Record::Data(data)) = Record::decode(body) else {
            return false;
        };
        self.filter.may_hold(&data)
            && self
                .filter
                .matches(&resolver.resolve(&data, place), &mut self.message)
    }

    /// Whether all that a record refers to has a logdef.
    fn is_known(&self, place: Place, body: &[u8], resolver: &mut Resolver<'_>) -> bool {
        let Ok(Record::Data(data)) = Record::decode(body) else {
            return false;
        };
        let wants_stack = data.backtrace.is_some() && self.printer.wants_backtraces();
        (!wants_stack || has_all_modules(&resolver.backtrace(&data, place)))
            && resolver.resolve(&data, place).is_complete()
    }

    /// Shows the records before a match.
    fn show_waiting(&mut self, resolver: &mut Resolver<'_>) -> Result<(), Failure> {
        let mut body = Vec::new();
        while let Some(place) = self.waiting.pop(&mut body).map_err(not_kept)? {
            self.show(place, &body, resolver)?;
        }
        Ok(())
    }

    fn show(
        &mut self,
        place: Place,
        body: &[u8],
        resolver: &mut Resolver<'_>,
    ) -> Result<(), Failure> {
        let Some(tail) = &mut self.tail else {
            let has_context = self.before + self.after > 0 && self.printer.is_for_people();
            if has_context && self.has_shown && self.has_skipped {
                self.printer.left_out(&mut self.output.buffer);
            }
            self.has_shown = true;
            self.has_skipped = false;
            return self.print(place, body, resolver);
        };
        tail.push(place, body, &mut self.kept).map_err(not_kept)
    }

    #[inline]
    fn print(
        &mut self,
        place: Place,
        body: &[u8],
        resolver: &mut Resolver<'_>,
    ) -> Result<(), Failure> {
        let out = &mut self.output.buffer;
        match &Record::decode(body) {
            Ok(Record::Data(data)) => {
                let stack = match data.backtrace {
                    Some(_) if self.printer.wants_backtraces() => resolver.backtrace(data, place),
                    _ => Vec::new(),
                };
                let resolved = resolver.resolve(data, place);
                if self.unknown == Unknown::Left
                    && !(resolved.is_complete() && has_all_modules(&stack))
                {
                    self.unknown = Unknown::Met;
                    return Ok(());
                }
                let time = data.time.unwrap_or(0);
                if self.unknown == Unknown::Left {
                    self.latest = self.latest.max(time);
                } else if time < self.latest {
                    self.late += 1;
                }
                self.printer.record(&resolved, &stack, out);
            }
            Ok(Record::Note(note)) => {
                let stack = match note.backtrace {
                    Some(addresses) => resolver.stack(addresses, note.run, note.time, place, true),
                    None => Vec::new(),
                };
                if self.unknown == Unknown::Left && !has_all_modules(&stack) {
                    self.unknown = Unknown::Met;
                    return Ok(());
                }
                self.printer.note(note, &stack, out);
            }
            _ => {}
        }
        self.output.line()
    }
}

/// Why records could not be kept that are to be shown later.
fn not_kept(error: io::Error) -> Failure {
    let name = "a temporary file for records that are shown later";
    Failure::Output(name.into(), error)
}

/// Whether the log names the module of each address.
fn has_all_modules(stack: &[StackEntry]) -> bool {
    stack.iter().all(|entry| {
        let logged = entry.logged.as_ref();
        logged.is_some_and(|logged| logged.fname.is_some() && logged.load_bias.is_some())
    })
}
