//! Writing logs: `recover` copies what survived into a clean file, `merge` joins
//! files into one. Frames are copied byte for byte; what is added is frames too: lost
//! logdefs, notes of what the copy has not, and marks of what could not be trusted whole.

pub(crate) mod marker;
mod redacted;
mod redaction;

use crate::merge::background::BackgroundMerge;
use crate::merge::repeats::{Repeats, Sighting};
use crate::merge::{Event, Merge, MergeOptions, MergedFrame};
use crate::read::framing;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::unmask;
use crate::recover::account::Account;
use crate::recover::carried::Carried;
use crate::recover::losses;
use crate::recover::recovery::Recovery;
use crate::recover::standing::Standing;
use crate::recover::tables::{Place, StringLookup};
use crate::resolve::images::Images;
use logdef_wire::record::{Glance, Note, NoteKind, Preamble, StringLogdef};
use logdef_wire::{Description, Magic, Record, Run, Svma, Tag};
use marker::Output;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

pub use redacted::{RedactedImages, redacted};
pub use redaction::Redaction;

/// Keys of logdefs that are remembered as written; more are written again.
const REMEMBERED: usize = 1 << 20;

/// How much was written, and left out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Rewritten {
    /// Frames, those of logdefs included.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// String logdefs among them that were rebuilt from images.
    pub rebuilt: u64,
    /// Frames of the inputs that were left out: duplicates and suspects.
    pub left_out: u64,
}

/// Copies the surviving frames of all inputs, one input after the other, and
/// adds string logdefs that were lost where `images` has them. If anything else
/// than padding was left out or anything was added, a note at the end says so:
/// a second recovery changes nothing.
///
/// ```
/// use logdef_resync::{Input, NoImages, Recovery, rewrite};
///
/// let frame = [0xc1, 0xce, 0xac, 0x61, 0x91, 0xdf, 0xc1, 0xa2, 0x00, 0x80];
/// let inputs = [Input::from_bytes("damaged", [&frame[..], b"?!", &frame].concat())];
/// let recovery = Recovery::of(&inputs)?;
/// let mut clean = Vec::new();
/// let written = rewrite::recover(&inputs, &recovery, &mut NoImages, &mut clean)?;
/// assert_eq!(written.frames, 3); // two preambles and the note
/// assert!(clean.starts_with(&frame.repeat(2)));
///
/// let inputs = [Input::from_bytes("clean", clean.clone())];
/// let recovery = Recovery::of(&inputs)?;
/// let mut again = Vec::new();
/// rewrite::recover(&inputs, &recovery, &mut NoImages, &mut again)?;
/// assert_eq!(again, clean);
/// # Ok::<(), logdef_resync::Error>(())
/// ```
pub fn recover(
    inputs: &[Input],
    recovery: &Recovery,
    images: &mut dyn Images,
    out: &mut impl Write,
) -> Result<Rewritten, Error> {
    let mut output = Output::new(out);
    let mut rebuilder = Rebuilder {
        recovery,
        images,
        done: HashSet::new(),
    };
    let mut repeats = Repeats::default();
    let mut scratch = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let mut items = Items::new(input);
        while let Some(item) = items.next()? {
            let Item::Frame(frame) = item else {
                continue;
            };
            let body = unmask::unmasked(frame.body, &mut scratch).unwrap_or(frame.body);
            let place = Place {
                input: index as u32,
                offset: frame.offset,
            };
            if recovery.leaves_out(recovery.standing(place, body)) {
                output.written.left_out += 1;
                continue;
            }
            if let Some(glance) = Glance::of(body) {
                let identity = glance.run.zip(glance.sequence);
                let sighting = identity.map(|it| repeats.see(recovery, it, frame.bytes));
                if sighting == Some(Sighting::Same) {
                    output.written.left_out += 1;
                    continue;
                }
                rebuilder.before(&glance, &mut output)?;
            }
            output.copy(frame.bytes, body, recovery.mark_of(place, body))?;
        }
    }
    recovery.check_whole(inputs)?;
    carry_losses(recovery, &mut output)?;
    Ok(output.finish()?.1)
}

/// Adds a note of what the inputs lost, so that a copy of a damaged log is no clean log.
/// A copy of a copy has it already.
fn carry_losses<W: Write>(recovery: &Recovery, output: &mut Output<W>) -> Result<(), Error> {
    let accounts = recovery.accounts();
    let carried = carried(recovery, accounts, output.written.rebuilt);
    if !carried.is_news() {
        return Ok(());
    }
    let text = carried.to_string();
    let times = accounts.iter().filter_map(|account| account.times.0);
    let note = Note {
        kind: Some(NoteKind::RECOVERY),
        time: times.map(|(_, last)| last).max(),
        text: Some(text.as_bytes()),
        ..Note::default()
    };
    output.record(|encoder| note.encode(encoder))
}

/// What the inputs lost, in the words of a note, if it is more than their records show: what a
/// copy of them has to say. What others say already of the same files, in such words, is left out.
/// See [`Input::with_losses`].
pub fn made_from(recovery: &Recovery, said: &[String]) -> Option<String> {
    let mut carried = carried(recovery, recovery.accounts(), 0);
    let said = said
        .iter()
        .filter_map(|text| Carried::parse(text.as_bytes()));
    said.for_each(|said| carried.leave_out(&said));
    carried.is_news().then(|| carried.to_string())
}

/// The same of one of the inputs.
pub fn made_from_file(recovery: &Recovery, account: &Account) -> Option<String> {
    let carried = carried(recovery, std::slice::from_ref(account), 0);
    carried.is_news().then(|| carried.to_string())
}

fn carried(recovery: &Recovery, accounts: &[Account], rebuilt: u64) -> Carried {
    let mut carried = losses::carried(accounts, rebuilt);
    if recovery.trusts_suspects() {
        // They are copied, and marked.
        carried.rejected = 0;
    }
    carried
}

/// Joins inputs into one, ordered by time without breaking any thread's order.
/// Records that several inputs hold are written once, and so are logdefs. If anything
/// else than padding was left out, a note at the end says so.
pub fn merge(
    inputs: &[Input],
    recovery: &Recovery,
    out: &mut impl Write,
) -> Result<Rewritten, Error> {
    let mut output = Output::new(out);
    let left_out = each_merged(inputs, recovery, |frame, mark| {
        output.copy(frame.bytes, frame.body, mark)
    })?;
    output.written.left_out = left_out;
    carry_losses(recovery, &mut output)?;
    Ok(output.finish()?.1)
}

/// Gives each frame of the inputs joined into one, in its order, and how far it can be trusted
/// where a copy does not show that by itself. Returns how many frames are left out.
pub fn each_merged(
    inputs: &[Input],
    recovery: &Recovery,
    mut visit: impl FnMut(&MergedFrame<'_>, Standing) -> Result<(), Error>,
) -> Result<u64, Error> {
    let options = MergeOptions {
        all_frames: true,
        gaps: false,
        ..MergeOptions::default()
    };
    let mut merge = Merge::new(inputs, recovery, options);
    let mut logdefs = Logdefs::default();
    let mut left_out = 0;
    let mut give = |event: Event<'_>| match event {
        Event::Frame(frame) if frame.tag() == Tag::DATA || logdefs.is_news(frame.body) => {
            visit(&frame, recovery.mark_of(frame.place, frame.body))
        }
        Event::Frame(_) => {
            left_out += 1;
            Ok(())
        }
        Event::Gap(..) => Ok(()),
    };
    let duplicates = if recovery.cores < 2 {
        // On one core, batches would be copies for nothing.
        while let Some(event) = merge.next()? {
            give(event)?;
        }
        merge.duplicates()
    } else {
        BackgroundMerge::run(merge, recovery.cores, |merged| {
            while let Some(batch) = merged.next()? {
                batch.events().try_for_each(&mut give)?;
            }
            Ok::<_, Error>(merged.duplicates())
        })?
    };
    recovery.check_whole(inputs)?;
    Ok(left_out + duplicates)
}

/// Writes frames around records, masked where they must be, and the notes that say how far they
/// can be trusted.
#[derive(Debug)]
pub struct Frames<W> {
    output: Output<W>,
    buffer: Vec<u8>,
}

impl<W: Write> Frames<W> {
    /// Writes nothing yet: the first frame begins the log.
    pub fn new(out: W) -> Self {
        Frames {
            output: Output::new(out),
            buffer: Vec::new(),
        }
    }

    /// Writes the frame of a record's body. A note that marks other frames is left out.
    #[inline]
    pub fn write(&mut self, body: &[u8], mark: Standing) -> Result<(), Error> {
        let len = framing::encode(&mut self.buffer, |encoder| encoder.bytes(body))?;
        self.output.copy(&self.buffer[..len], body, mark)
    }

    /// Writes what is buffered, and returns what it wrote to.
    pub fn finish(self) -> Result<W, Error> {
        Ok(self.output.finish()?.0)
    }

    /// What it writes to.
    pub fn get_mut(&mut self) -> &mut W {
        self.output.get_mut()
    }
}

/// Finds the strings that no logdef gives in the images.
struct Rebuilder<'r> {
    recovery: &'r Recovery,
    images: &'r mut dyn Images,
    done: HashSet<(Magic, Svma)>,
}

impl Rebuilder<'_> {
    /// Writes the logdefs that the record of a glance lacks.
    fn before<W: Write>(&mut self, glance: &Glance, output: &mut Output<W>) -> Result<(), Error> {
        let Some(magic) = glance.magic else {
            return Ok(());
        };
        let tables = self.recovery.tables();
        for address in [glance.file, glance.format].into_iter().flatten() {
            if tables.string(magic, address, glance.run) != StringLookup::Missing
                || self.done.len() >= REMEMBERED
                || !self.done.insert((magic, address))
            {
                continue;
            }
            let image = tables.image_or_magic(magic);
            let Some(string) = self.images.string_at(&image, address) else {
                continue;
            };
            let description = self.images.description_at(&image, address);
            let is_template = Description::of(&description).grammar().is_template();
            let logdef = StringLogdef {
                magic: Some(magic),
                address: Some(address),
                string: (!is_template).then_some(&string[..]),
                run: glance.run,
                description: (!description.is_empty()).then_some(&description[..]),
                template: is_template.then_some(&string[..]),
            };
            output.record(|encoder| logdef.encode(encoder))?;
            output.written.rebuilt += 1;
        }
        Ok(())
    }
}

/// Which logdefs stand in the output, so that each is written once, and again
/// only where it changed.
#[derive(Default)]
struct Logdefs {
    written: HashMap<Key, u64>,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum Key {
    Preamble(Option<Run>, Option<Magic>),
    String(Option<Magic>, u64),
    Backtrace(Option<Run>, u64),
    Thread(Option<Run>, u64),
    Module(Option<Run>, u64),
    Text(Option<Run>, u64),
    Context(Option<Run>, u64),
    /// A record that stands for a moment: by its bytes.
    Moment(Run, u64),
}

impl Logdefs {
    /// Whether a record that is no data says something that was not said.
    fn is_news(&mut self, body: &[u8]) -> bool {
        let Ok(record) = Record::decode(body) else {
            return true;
        };
        let mut hash = hash(body);
        let key = match &record {
            Record::Preamble(record) => {
                hash = preamble_hash(record);
                Key::Preamble(record.run, record.magic)
            }
            Record::StringLogdef(record) => {
                Key::String(record.magic, record.address.map_or(0, |address| address.0))
            }
            Record::BacktraceLogdef(record) => {
                Key::Backtrace(record.run, record.address.map_or(0, |address| address.0))
            }
            Record::ThreadLogdef(record) => {
                Key::Thread(record.run, record.number.map_or(0, |number| number.0))
            }
            Record::Module(record) => {
                Key::Module(record.run, record.start.map_or(0, |start| start.0))
            }
            Record::TextLogdef(record) => {
                Key::Text(record.run, record.number.map_or(0, |number| number.0))
            }
            Record::ContextLogdef(record) => Key::Context(record.run, record.id.unwrap_or(0)),
            Record::Note(Note {
                run: Some(run),
                time: Some(_),
                ..
            }) => Key::Moment(*run, hash),
            Record::Durable(record) if record.run.is_some() && record.time.is_some() => {
                Key::Moment(record.run.unwrap_or_default(), hash)
            }
            _ => return true,
        };
        if self.written.len() >= REMEMBERED {
            self.written.clear();
        }
        self.written.insert(key, hash) != Some(hash)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The hash of a preamble without the chunk it opened, which a copy is not in.
fn preamble_hash(preamble: &Preamble<'_>) -> u64 {
    let common = Preamble {
        chunk: None,
        ..*preamble
    };
    hash(format!("{common:?}").as_bytes())
}
