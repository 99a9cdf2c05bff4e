//! Which of the frames that are followed may be quotations. Only who has read all of the
//! files can say that, so where bytes are neither frames nor padding, or a copy carries marks,
//! the files are recovered as they are now. That is done again no oftener than following
//! itself costs; between, a file continues as it ended, and with new damage its records are
//! marked. Knows no order of records.

use super::News;
use super::file::Followed;
use crate::read::input::Input;
use crate::read::item::{Item, Items};
use crate::read::unmask;
use crate::recover::account::Account;
use crate::recover::recovery::{Options, Recovery};
use crate::recover::run_of::run_of_body;
use crate::recover::standing::Standing;
use crate::recover::suspect::Suspects;
use crate::recover::tables::Place;
use logdef_wire::record::{Glance, NoteKind};
use logdef_wire::{Record, Run, Tag, frame};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Bytes that are read to judge, in any case and for each byte that is followed.
const READ: u64 = 256 << 20;
const READ_PER_BYTE: u64 = 2;
/// Bytes of withheld frames that are kept, since a later judgement may give them.
const WITHHELD: usize = 4 << 20;
/// Runs that preambles name; with more, none counts as unknown.
const RUNS: usize = 1 << 18;
/// Places that are remembered as marked; beyond, they may be reported again.
const MARKED: usize = 1 << 18;
/// Bytes of memory for tables of logdefs, which no judgement needs.
const TABLES: usize = 1 << 20;

/// A frame that was read.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) place: Place,
    pub(super) bytes: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// Whether it came where something else stood before.
    pub(super) is_late: bool,
}

impl Arrived {
    pub(super) fn tag(&self) -> Option<Tag> {
        self.body.first().copied().map(Tag)
    }
}

/// Where the last frame of a file ends: what is after it, damage and a beginning of a frame
/// for instance, may become one.
fn end_of_frames(account: &Account) -> u64 {
    let mut end = account.bytes;
    for report in account.gaps.iter().rev() {
        if report.gap.end() != end {
            break;
        }
        end = report.gap.offset;
    }
    end
}

/// Judges frames before they are given.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) trusts_suspects: bool,
    /// Files of which some frames may be quotations, and whether something came there that
    /// the last verdict has not seen.
    in_doubt: HashMap<u32, Doubts>,
    verdict: Verdict,
    /// Runs that preambles name.
    introduced: HashSet<Run>,
    /// Whether records came before the first preamble.
    has_strangers: bool,
    withheld: Vec<Arrived>,
    withheld_bytes: usize,
    /// The runs of these, and perhaps others.
    withheld_runs: HashSet<Run>,
    /// What was marked or withheld, or reported since.
    marked: HashSet<Place>,
    read: u64,
    judged: u64,
}

/// Why a file is in doubt.
#[derive(Clone, Copy, Debug, Default)]
struct Doubts {
    is_new: bool,
    /// Where the last damage is.
    last: u64,
}

/// What a recovery found.
#[derive(Debug, Default)]
struct Verdict {
    suspects: Suspects,
    files: HashMap<u32, Judged>,
}

/// A file that was read to judge.
#[derive(Clone, Copy, Debug)]
struct Judged {
    /// Its index among those that were.
    input: u32,
    len: u64,
    /// The standing of its last frame.
    last: Standing,
}

impl Verdict {
    fn covers(&self, place: Place) -> Option<&Judged> {
        let judged = self.files.get(&place.input);
        judged.filter(|judged| place.offset < judged.len)
    }

    fn standing(&self, frame: &Arrived) -> Option<Standing> {
        let place = Place {
            input: self.covers(frame.place)?.input,
            ..frame.place
        };
        let run = || run_of_body(&frame.body);
        Some(self.suspects.standing(place, run))
    }
}

impl Judge {
    /// Something stands in a file that is neither frame nor padding.
    pub(super) fn doubt(&mut self, place: Place, is_late: bool) {
        let is_new = is_late || self.verdict.covers(place).is_none();
        let doubts = self.in_doubt.entry(place.input).or_default();
        doubts.is_new |= is_new;
        doubts.last = doubts.last.max(place.offset);
    }

    /// A file begins again.
    pub(super) fn forget(&mut self, file: u32) {
        self.in_doubt.remove(&file);
        self.verdict.files.remove(&file);
        self.marked.retain(|place| place.input != file);
        self.withheld.retain(|frame| frame.place.input != file);
    }

    /// Which of the frames that came are given, and how far each can be trusted. What was
    /// given before and should not have been is news.
    pub(super) fn judge(
        &mut self,
        arrived: Vec<Arrived>,
        files: &[Option<Followed>],
        news: &mut Vec<News>,
    ) -> Vec<(Arrived, Standing)> {
        self.learn(&arrived, files);
        let mut given = Vec::new();
        if self.must_read(&arrived) && self.read_files(&arrived, files, news) {
            self.withheld_bytes = 0;
            self.withheld_runs.clear();
            for frame in std::mem::take(&mut self.withheld) {
                self.pass(frame, &mut given);
            }
        }
        let mut withheld = BTreeMap::<u32, u64>::new();
        for frame in arrived {
            let (file, tag) = (frame.place.input, frame.tag());
            if !self.pass(frame, &mut given) && tag == Some(Tag::DATA) {
                *withheld.entry(file).or_default() += 1;
            }
        }
        let withheld = withheld.into_iter();
        news.extend(withheld.map(|(file, records)| News::Withheld { file, records }));
        given
    }

    /// Takes in which runs preambles name, and what copies mark.
    fn learn(&mut self, arrived: &[Arrived], files: &[Option<Followed>]) {
        let was_unnamed = self.introduced.is_empty();
        for frame in arrived {
            self.read += frame.bytes.len() as u64;
            if !matches!(frame.tag(), Some(Tag::PREAMBLE | Tag::NOTE)) {
                continue;
            }
            match Record::decode(&frame.body) {
                Ok(Record::Preamble(preamble)) if self.introduced.len() < RUNS => {
                    self.introduced.extend(preamble.run);
                }
                Ok(Record::Note(note)) if note.kind == Some(NoteKind::MARKED) => {
                    self.doubt(frame.place, frame.is_late);
                }
                _ => {}
            }
        }
        if was_unnamed && self.has_strangers && !self.introduced.is_empty() {
            // Those of before have to be marked.
            for file in files.iter().flatten() {
                self.in_doubt.entry(file.number).or_default().is_new = true;
            }
        }
        self.has_strangers |= self.introduced.is_empty() && !arrived.is_empty();
    }

    /// Whether the last verdict does not do for what came.
    fn must_read(&self, arrived: &[Arrived]) -> bool {
        let is_unseen = |frame: &Arrived| {
            self.in_doubt.contains_key(&frame.place.input)
                && (frame.is_late || self.verdict.covers(frame.place).is_none())
        };
        let is_new_suspect = |frame: &Arrived| {
            frame.is_late && self.verdict.standing(frame) == Some(Standing::Suspect)
        };
        let is_vouched_for_now = |frame: &Arrived| {
            run_of_body(&frame.body).is_some_and(|run| self.withheld_runs.contains(&run))
        };
        self.in_doubt.values().any(|doubts| doubts.is_new)
            || arrived.iter().any(|it| is_unseen(it) || is_new_suspect(it))
            || !self.withheld_runs.is_empty() && arrived.iter().any(is_vouched_for_now)
    }

    /// Recovers the files as they are now, unless that would cost too much; whether it did.
    fn read_files(
        &mut self,
        arrived: &[Arrived],
        files: &[Option<Followed>],
        news: &mut Vec<News>,
    ) -> bool {
        let named = files.iter().flatten().filter(|file| file.is_named);
        // To open all files takes time too: what was read of them is there at least.
        let known = named.clone().map(Followed::passed).sum();
        if !self.can_afford(known) {
            return false;
        }
        let open = |file: &Followed| Some((file.number, file.reopened()?));
        let (numbers, inputs): (Vec<u32>, Vec<Input>) = named.filter_map(open).unzip();
        let total: u64 = inputs.iter().map(Input::len).sum();
        if !self.can_afford(total) {
            return false;
        }
        self.judged = self.judged.saturating_add(total.saturating_mul(3));
        let options = Options {
            memory: TABLES,
            ..Options::default()
        };
        let Ok(recovery) = Recovery::with(&inputs, &options, |_| {}) else {
            return false;
        };
        let judged = numbers.iter().zip(recovery.accounts()).enumerate();
        let judged = judged.map(|(input, (number, account))| {
            let judged = Judged {
                input: input as u32,
                len: end_of_frames(account),
                last: Standing::Sound,
            };
            (*number, judged)
        });
        let judged = judged.collect();
        self.verdict = Verdict {
            suspects: recovery.into_suspects(),
            files: judged,
        };
        let new: HashSet<Place> = arrived.iter().map(|frame| frame.place).collect();
        for (number, input) in numbers.iter().zip(&inputs) {
            if let Some(file) = &files[*number as usize]
                && self.in_doubt.contains_key(number)
            {
                self.correct(file, input, &new, news);
            }
        }
        true
    }

    /// Whether files of this number of bytes may be read to judge.
    fn can_afford(&self, bytes: u64) -> bool {
        let cost = self.judged.saturating_add(bytes.saturating_mul(3));
        cost <= READ.saturating_add(READ_PER_BYTE.saturating_mul(self.read))
    }

    /// Says which of the records that were given are in doubt now, and whether what follows
    /// is.
    fn correct(
        &mut self,
        file: &Followed,
        input: &Input,
        new: &HashSet<Place>,
        news: &mut Vec<News>,
    ) {
        let number = file.number;
        let mut doubted = BTreeMap::<Standing, (u64, u64, u64)>::new();
        let mut last = Standing::Sound;
        let mut items = Items::new(input);
        let mut scratch = Vec::new();
        while let Ok(Some(item)) = items.next() {
            let Item::Frame(frame) = item else { continue };
            let place = Place {
                input: number,
                offset: frame.offset,
            };
            let body = unmask::unmasked(frame.body, &mut scratch).unwrap_or(frame.body);
            let Some(judged) = self.verdict.covers(place) else {
                break;
            };
            let input = judged.input;
            let place_there = Place { input, ..place };
            let run = || run_of_body(body);
            last = self.verdict.suspects.standing(place_there, run);
            let is_given = file.has_passed(frame.offset) && !new.contains(&place);
            let is_record = body.first() == Some(&Tag::DATA.0);
            if last != Standing::Sound && is_record && is_given && self.remember(place) {
                let from = (frame.offset, 0, 0);
                let (_, end, records) = doubted.entry(last).or_insert(from);
                (*end, *records) = (frame.end(), *records + 1);
            }
        }
        news.extend(
            doubted
                .into_iter()
                .map(|(standing, (from, to, records))| News::Doubted {
                    file: number,
                    standing,
                    from,
                    to,
                    records,
                }),
        );
        if let Some(judged) = self.verdict.files.get_mut(&number) {
            judged.last = last;
        }
        let is_settled = last == Standing::Sound && !self.verdict.suspects.believes_the_only_run();
        if let Some(doubts) = self.in_doubt.get_mut(&number) {
            doubts.is_new = false;
            // The frame that the damage broke may have reached that far.
            if is_settled && items.offset() > doubts.last.saturating_add(frame::MAX_FRAME) {
                self.in_doubt.remove(&number);
            }
        }
    }

    /// Takes note of a place that is marked; whether it was not yet.
    fn remember(&mut self, place: Place) -> bool {
        if self.marked.len() < MARKED {
            self.marked.insert(place)
        } else {
            !self.marked.contains(&place)
        }
    }

    /// Gives a frame or withholds it; whether it is given.
    fn pass(&mut self, frame: Arrived, given: &mut Vec<(Arrived, Standing)>) -> bool {
        let standing = self.standing(&frame);
        if standing != Standing::Sound {
            self.remember(frame.place);
        }
        let is_given = standing != Standing::Suspect || self.trusts_suspects;
        if is_given {
            given.push((frame, standing));
        } else if self.withheld_bytes + frame.bytes.len() <= WITHHELD {
            self.withheld_bytes += frame.bytes.len();
            self.withheld_runs.extend(run_of_body(&frame.body));
            self.withheld.push(frame);
        }
        is_given
    }

    fn standing(&self, frame: &Arrived) -> Standing {
        let file = frame.place.input;
        let standing = match (self.verdict.standing(frame), self.in_doubt.get(&file)) {
            (Some(standing), _) => standing,
            (None, None) => Standing::Sound,
            (None, Some(doubts)) if doubts.is_new => Standing::Recovered,
            (None, Some(_)) => {
                let judged = self.verdict.files.get(&file);
                let last = judged.map_or(Standing::Recovered, |judged| judged.last);
                last.min(Standing::Recovered)
            }
        };
        if self.is_stranger(frame) {
            standing.max(Standing::Recovered)
        } else {
            standing
        }
    }

    /// Whether a record names no run that a preamble names, where preambles name some.
    fn is_stranger(&self, frame: &Arrived) -> bool {
        let knows_runs = (1..RUNS).contains(&self.introduced.len());
        let run = || Glance::of(&frame.body).and_then(|glance| glance.run);
        knows_runs
            && frame.tag() == Some(Tag::DATA)
            && !run().is_some_and(|run| self.introduced.contains(&run))
    }
}
