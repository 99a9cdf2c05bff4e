//! One pass over all inputs: every byte accounted for, every logdef in its
//! table, every loss counted, and what the merger needs to put records in order.
//! Reads frames and never renders anything.

mod asides;
mod options;
mod places;
mod since;
mod thread;

use crate::read::freeze::freeze;
use crate::read::gap::Gap;
use crate::read::input::{Error, Input};
use crate::read::item::FrameItem;
use crate::read::unmask;
use crate::recover::account::{Account, Hole, Malformed, Room};
use crate::recover::carried::Carried;
use crate::recover::cuts::Cuts;
use crate::recover::floors::Floors;
use crate::recover::lane::{ByThread, Lane, ThreadKey};
use crate::recover::lanes::Lanes;
use crate::recover::losses::Losses;
use crate::recover::marks::Marks;
use crate::recover::memory::Memory;
use crate::recover::notes::Notes;
use crate::recover::pieces::{Piece, Pieces};
use crate::recover::run_of::{run_of, run_of_body};
use crate::recover::sequences::Intervals;
use crate::recover::shapes::Shapes;
use crate::recover::standing::Standing;
use crate::recover::suspect::{Suspects, Vouching};
use crate::recover::tables::{Place, Tables};
use crate::recover::thread_report::ThreadReport;
use crate::recover::walk::{Share, Step, Stretch, Wanted, walk};
use asides::Asides;
use logdef_wire::record::{Note, NoteKind, Peek};
use logdef_wire::{Record, Run, Tag};
use thread::{THREAD, ThreadState};

pub use options::Options;

/// Threads whose sequences are followed; records of more are only counted.
const THREADS: usize = 1 << 18;
/// Bytes for all that is remembered, beside those for tables of logdefs.
const MEMORY: usize = 32 << 20;
/// Intervals of counts over all threads; a thread beyond that has no exact loss.
const INTERVALS: usize = 1 << 19;

/// What a set of inputs holds.
///
/// ```
/// use logdef_resync::{Input, Recovery};
///
/// let input = Input::from_bytes("noise", b"no log at all".to_vec());
/// let recovery = Recovery::of(&[input])?;
/// let account = &recovery.accounts()[0];
/// assert_eq!(account.damage.bytes, 13);
/// assert_eq!(account.frames.count, 0);
/// # Ok::<(), logdef_resync::Error>(())
/// ```
#[derive(Debug)]
pub struct Recovery {
    accounts: Vec<Account>,
    threads: Vec<ThreadReport>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) floors: Floors,
    suspects: Suspects,
    trusts_suspects: bool,
    /// Cores that it was made on, and what follows may use.
    pub(crate) cores: usize,
    /// Counts that stand in the inputs more than once.
    pub(crate) repeated: ByThread<Intervals>,
    /// Records whose time the lanes do not show.
    asides: Asides,
    tables: Tables,
    /// What the inputs say of files that they were made from.
    pub(crate) carried: Option<Carried>,
    /// What notes say of records that are not here.
    notes: Notes,
    pieces: Vec<Piece>,
    shapes: Option<Vec<Place>>,
    cuts: Cuts,
}

impl Recovery {
    /// Reads all inputs once, or once more where frames may be suspect.
    pub fn of(inputs: &[Input]) -> Result<Recovery, Error> {
        Recovery::with(inputs, &Options::default(), |_| {})
    }

    /// Recovers inputs as `options` say, calling `progress` now and then with the bytes
    /// read so far.
    pub fn with(
        inputs: &[Input],
        options: &Options,
        mut progress: impl FnMut(u64),
    ) -> Result<Recovery, Error> {
        freeze(inputs);
        let memory = |held: usize| Memory::new((MEMORY + options.memory).saturating_sub(held));
        let none = Suspects::default();
        let mut first = Pass::over(inputs, options, none, &memory(0), &mut progress)?;
        let marks = std::mem::take(&mut first.marks);
        let suspects = std::mem::take(&mut first.vouching).finish(marks);
        if !suspects.may_hold_suspects() {
            return Ok(first.finish(suspects).after(inputs));
        }
        // The other pass needs the memory of this one.
        drop(first);
        let memory = memory(suspects.memory());
        let mut again = Pass::over(inputs, options, suspects, &memory, &mut progress)?;
        let suspects = std::mem::take(&mut again.suspects);
        Ok(again.finish(suspects).after(inputs))
    }

    fn after(mut self, inputs: &[Input]) -> Recovery {
        self.cuts = Cuts::of(inputs);
        self
    }

    /// Fails if a file was cut after all of it had been read, and its records were sought again: no
    /// account has that.
    pub fn check_whole(&self, inputs: &[Input]) -> Result<(), Error> {
        self.cuts.check(inputs)
    }

    /// What became of the bytes of each input.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The inputs in pieces of [`Options::pieces`] bytes, in their order: each frame is in one of them.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// One record of each shape, the earliest, in the order of their times: records of one shape are of the same call, and
    /// have values of the same kinds. `None` if [`Options::shapes`] did not ask for them, if they are more than
    /// 65,536 or than memory holds, or if some frames are suspect.
    pub fn shapes(&self) -> Option<&[Place]> {
        let is_whole = self.accounts.iter().all(|it| it.suspect == 0);
        self.shapes.as_deref().filter(|_| is_whole)
    }

    /// Each thread's sequence, over all inputs.
    pub fn threads(&self) -> &[ThreadReport] {
        &self.threads
    }

    /// How far a frame can be trusted, by its place and its unmasked body.
    #[inline]
    pub fn standing(&self, place: Place, body: &[u8]) -> Standing {
        self.suspects.standing(place, || run_of_body(body))
    }

    /// What a copy of a frame has to say of it: its standing, as far as the copy does not
    /// show it by itself.
    pub(crate) fn mark_of(&self, place: Place, body: &[u8]) -> Standing {
        let run = || run_of_body(body);
        let standing = self.suspects.standing_beside_damage(place, run);
        // What is no record is not shown, so only to leave it out matters.
        if standing == Standing::Recovered && body.first() != Some(&Tag::DATA.0) {
            return Standing::Sound;
        }
        standing
    }

    /// How far each frame can be trusted, and nothing else.
    pub(crate) fn into_suspects(self) -> Suspects {
        self.suspects
    }

    /// Whether frames are given that are suspect: see [`Options::trust_suspects`].
    pub fn trusts_suspects(&self) -> bool {
        self.trusts_suspects
    }

    /// How far a record can be trusted that names a run, or none.
    #[inline]
    pub(crate) fn standing_of_run(&self, place: Place, run: Option<Run>) -> Standing {
        self.suspects.standing(place, || run)
    }

    /// Whether a frame of a standing is left out of merges and copies.
    pub(crate) fn leaves_out(&self, standing: Standing) -> bool {
        standing == Standing::Suspect && !self.trusts_suspects
    }

    /// The strings, threads, images and contexts that the logdefs of all inputs define.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Records that were written and are not in the inputs, as far as sequences show.
    pub fn lost(&self) -> u64 {
        self.threads.iter().map(|thread| thread.lost).sum()
    }

    /// What was lost of all inputs together.
    pub fn losses(&self) -> Losses {
        Losses::of(&self.accounts, &self.threads, self.carried, &self.notes)
    }

    /// Whether nothing is missing, dropped or damaged: see [`Losses::is_clean`].
    pub fn is_clean(&self) -> bool {
        self.losses().is_clean()
    }
}

struct Pass {
    accounts: Vec<Account>,
    threads: Vec<ThreadState>,
    index: ByThread<usize>,
    current: usize,
    intervals: usize,
    lanes: Lanes,
    asides: Asides,
    vouching: Vouching,
    marks: Marks,
    suspects: Suspects,
    trusts_suspects: bool,
    cores: usize,
    tables: Tables,
    carried: Option<Carried>,
    notes: Notes,
    pieces: Pieces,
    shapes: Option<Shapes>,
    memory: Memory,
    input: u32,
    scratch: Vec<u8>,
    /// Of the data record before: its thread and its time.
    previous: Option<(usize, u64)>,
}

impl Pass {
    fn over(
        inputs: &[Input],
        options: &Options,
        suspects: Suspects,
        memory: &Memory,
        progress: &mut impl FnMut(u64),
    ) -> Result<Pass, Error> {
        // What frames vouch for is found out once.
        let vouches = if suspects.is_empty() {
            memory
        } else {
            &Memory::default()
        };
        let mut pass = Pass {
            accounts: Vec::new(),
            threads: Vec::new(),
            index: ByThread::default(),
            current: 0,
            intervals: 0,
            lanes: Lanes::new(memory),
            asides: Asides::default(),
            vouching: Vouching::new(vouches),
            marks: Marks::new(vouches),
            suspects,
            trusts_suspects: options.trust_suspects,
            cores: options.walkers(),
            tables: Tables::sharing(options.memory, memory),
            carried: None,
            notes: Notes::new(memory),
            pieces: Pieces::new(options.piece()),
            shapes: options.shapes.then(|| Shapes::new(0, memory)),
            memory: memory.clone(),
            input: 0,
            scratch: Vec::new(),
            previous: None,
        };
        let mut done = 0;
        for (index, input) in inputs.iter().enumerate() {
            pass.input = index as u32;
            pass.previous = None;
            pass.lanes.begin_input(pass.input);
            let room = pass
                .accounts
                .last()
                .map_or_else(|| Room::new(memory), Account::room);
            let mut account = Account::new(input.name(), room);
            account.broken_off = input.broken_off().map(str::to_owned);
            pass.accounts.push(account);
            if let Some((losses, shows_all)) = input.losses() {
                let carried = pass.carry_text(losses.as_bytes(), shows_all);
                pass.account().made_from = carried;
            }
            let mut visit = |step: Step<'_>| match step {
                Step::Stretch(stretch) => {
                    pass.stretch(&stretch);
                }
                Step::Share(share) => pass.pieces.add(pass.input, &share),
                Step::Frame(frame) => {
                    pass.pieces.add(pass.input, &Share::of_frame(&frame));
                    pass.frame(frame);
                }
                Step::Gap(gap, claim) => pass.gap(gap, claim),
                Step::Shapes(shapes) => pass.add_shapes(shapes),
            };
            let mut reached = |offset| progress(done + offset);
            let wanted = Wanted {
                piece: options.piece(),
                shapes: options.shapes.then(|| (index as u32, memory.clone())),
            };
            let walkers = options.walkers();
            let (end, work) = walk(input, walkers, &wanted, &mut visit, &mut reached)?;
            pass.account().bytes = end;
            pass.account().work = work;
            pass.lanes.end_input(end);
            pass.vouching.end_of_input();
            done += end;
        }
        Ok(pass)
    }

    fn account(&mut self) -> &mut Account {
        self.accounts.last_mut().expect("begun with each input")
    }

    fn add_shapes(&mut self, shapes: &Shapes) {
        if let Some(own) = &mut self.shapes {
            own.add_all(shapes);
        }
    }

    fn gap(&mut self, gap: Gap, claim: u64) {
        self.vouching.gap(&gap, claim);
        let previous = self.previous;
        self.account().add_gap(gap, previous);
    }

    #[inline]
    fn frame(&mut self, frame: FrameItem<'_>) {
        let place = Place {
            input: self.input,
            offset: frame.offset,
        };
        let len = frame.bytes.len() as u64;
        // The scratch is lent out while the record borrows it.
        let mut scratch = std::mem::take(&mut self.scratch);
        match unmask::decode(frame.body, &mut scratch) {
            Ok(Record::Data(data)) => {
                if let Some(shapes) = &mut self.shapes {
                    shapes.add(&data, place);
                }
                let peek = Peek::from(&data);
                let is_taken = self.stretch(&Stretch::of(&frame, &peek));
                if let Some(backtrace) = peek.backtrace.filter(|_| is_taken) {
                    self.tables.add_callers(&peek.glance, backtrace);
                }
            }
            Ok(record) => {
                self.account().frames.add(len);
                let is_preamble = record.tag() == Tag::PREAMBLE;
                if is_preamble {
                    self.marks.end_at_preamble(self.input, frame.offset);
                }
                if !self.is_left_out(place, frame.end(), run_of(&record), is_preamble) {
                    self.account().records[record.tag().0 as usize] += 1;
                    self.other(&record, place);
                    self.mark(&record, frame.end());
                }
            }
            Err(error) => {
                let account = self.account();
                account.frames.add(len);
                account.add_malformed(Malformed {
                    offset: frame.offset,
                    error,
                });
                self.lanes.other(frame.offset);
            }
        }
        self.scratch = scratch;
    }

    #[inline]
    fn is_left_out(&mut self, place: Place, end: u64, run: Option<Run>, is_preamble: bool) -> bool {
        // What a copy marks vouches for nothing.
        let is_marked = self.marks.at(place.input, place.offset) != Standing::Sound;
        let vouches = run.filter(|_| !is_marked);
        self.vouching
            .frames(vouches, place.offset, end, is_preamble);
        if self.suspects.is_empty() {
            return false;
        }
        let standing = self.suspects.standing(place, || run);
        if standing == Standing::Suspect {
            self.account().suspect += 1;
            if !self.trusts_suspects {
                self.lanes.other(place.offset);
                return true;
            }
        }
        false
    }

    fn other(&mut self, record: &Record<'_>, place: Place) {
        if let Record::Preamble(preamble) = record
            && let Some(run) = preamble.run
        {
            self.vouching.introduce(run);
            if let Some(boot) = preamble.boot_id {
                self.vouching.boot(place.offset, run, boot);
            }
        }
        match record {
            Record::Preamble(preamble) if preamble.chunk.is_some_and(|chunk| chunk > 0) => {
                let chunk = preamble.chunk.unwrap_or(0);
                self.lanes.chunk(place.offset, chunk);
                self.vouching.chunk(place.offset, chunk);
            }
            _ => self.lanes.other(place.offset),
        }
        if let Record::Note(note) = record
            && note.kind != Some(NoteKind::MARKED)
        {
            self.asides.add(place);
            self.carry(note);
        }
        self.tables.add(record, place);
    }

    /// Takes in what a note that ends at `end` says of the frames after it.
    fn mark(&mut self, record: &Record<'_>, end: u64) {
        if let Record::Note(note) = record
            && note.kind == Some(NoteKind::MARKED)
        {
            self.marks.add(self.input, end, note);
        }
    }

    /// Takes in what notes say of losses: of files that this one was made from, and of
    /// calls whose records are not here.
    fn carry(&mut self, note: &Note<'_>) {
        self.notes.add(note);
        if let Some(text) = note.text.filter(|_| note.kind == Some(NoteKind::RECOVERY)) {
            self.carry_text(text, false);
        }
    }

    fn carry_text(&mut self, text: &[u8], shows_all: bool) -> Option<Carried> {
        let mut carried = Carried::parse(text)?;
        carried.may_hide_records &= !shows_all;
        self.carried.get_or_insert_default().add(&carried);
        Some(carried)
    }

    /// Takes data records in, unless they are suspect.
    fn stretch(&mut self, stretch: &Stretch) -> bool {
        let account = self.account();
        account.frames.count += stretch.records;
        account.frames.bytes += stretch.bytes;
        let offset = stretch.offset;
        self.pieces.add(self.input, &stretch.share());
        let place = Place {
            input: self.input,
            offset,
        };
        // No gap is in it, so either all of it is suspect or nothing.
        let suspect = self.account().suspect;
        let is_left_out = self.is_left_out(place, offset + stretch.bytes, stretch.run, false);
        if self.account().suspect > suspect {
            self.account().suspect += stretch.records - 1;
        }
        if is_left_out {
            return false;
        }
        self.account().records[Tag::DATA.0 as usize] += stretch.records;
        let (Some(run), Some(sequence)) = (stretch.run, stretch.sequence) else {
            self.vouching.misfit(offset);
            if stretch.run.is_none() {
                self.vouching.nameless();
            }
            self.lanes.nameless(offset);
            self.asides.add(place);
            self.account().without_identity += stretch.records;
            return true;
        };
        let key = (run, sequence.number());
        let counts = (sequence.count(), sequence.count() + stretch.records - 1);
        self.lanes.data(offset, key, counts, stretch.times);
        let Some(thread) = self.thread(key) else {
            self.account().untracked += stretch.records - 1;
            return true;
        };
        let previous = self.threads[thread]
            .last
            .filter(|last| last.input == self.input);
        let damages = self.account().damages_so_far();
        let fits = match previous {
            Some(last) => last.is_continued_by(stretch, counts.0, damages),
            None => damages == 0 && stretch.dropped >= counts.0,
        };
        if !fits {
            self.vouching.misfit(offset);
        }
        self.previous = Some((thread, stretch.times.1));
        let input = self.input;
        let account = self.accounts.last_mut().expect("begun with each input");
        if let Some((first, last)) = stretch.span.0 {
            account.times.add(first);
            account.times.add(last);
        }
        account.close_gaps(thread, stretch.times.0);
        let is_full = self.intervals >= INTERVALS || self.memory.is_used_up();
        let state = &mut self.threads[thread];
        let (intervals, held) = (state.intervals(), state.memory());
        let is_new = state.see(account, counts, stretch, is_full);
        state.continue_at(account, (thread, input), counts, stretch, is_new);
        self.intervals = self.intervals + state.intervals() - intervals;
        let more = state.memory().saturating_sub(held);
        if more > 0 {
            self.memory.charge(more);
        }
        true
    }

    #[inline]
    fn thread(&mut self, key: ThreadKey) -> Option<usize> {
        if self
            .threads
            .get(self.current)
            .is_some_and(|thread| thread.key == key)
        {
            return Some(self.current);
        }
        self.find_thread(key)
    }

    fn find_thread(&mut self, key: ThreadKey) -> Option<usize> {
        if let Some(&known) = self.index.get(&key) {
            self.current = known;
            return Some(known);
        }
        if self.threads.len() >= THREADS || !self.memory.take(THREAD) {
            self.account().untracked += 1;
            return None;
        }
        self.current = self.threads.len();
        self.index.insert(key, self.current);
        self.threads.push(ThreadState::new(key));
        Some(self.current)
    }

    fn finish(self, suspects: Suspects) -> Recovery {
        let mut threads = self.threads;
        let mut accounts = self.accounts;
        let notes = self.notes;
        for account in &mut accounts {
            let is_pruned = |hole: &Hole, time| {
                let thread = threads[hole.thread].key;
                notes.is_pruned(thread, hole.to, time)
            };
            for hole in account.take_pruned(is_pruned) {
                threads[hole.thread].prune(hole.from, hole.to);
            }
        }
        for thread in &mut threads {
            thread.prune(0, notes.pruned_below(thread.key));
        }
        let reports: Vec<_> = threads.iter_mut().map(ThreadState::report).collect();
        // Where a hole was jumped over twice, its records are lost only once.
        threads.iter_mut().for_each(ThreadState::account_for_all);
        places::settle(&mut accounts, &mut threads, &reports);
        let repeated = threads
            .into_iter()
            .filter_map(|thread| Some((thread.key, thread.into_repeated()?)))
            .collect();
        for account in &mut accounts {
            account.name_threads(&reports);
        }
        let (lanes, floors) = self.lanes.finish();
        Recovery {
            accounts,
            threads: reports,
            lanes,
            floors,
            suspects,
            trusts_suspects: self.trusts_suspects,
            cores: self.cores,
            repeated,
            asides: self.asides,
            tables: self.tables,
            carried: self.carried,
            notes,
            pieces: self.pieces.finish(),
            shapes: self.shapes.and_then(Shapes::finish),
            cuts: Cuts::default(),
        }
    }
}
