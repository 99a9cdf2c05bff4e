//! A merge that runs ahead of its reader: on another core if there is one. What it
//! gives comes in batches, short ones first, so that the first record need not wait for
//! the thousandth.

use crate::merge::{Event, Merge, MergedFrame};
use crate::read::input::Error;
use crate::recover::account::Account;
use crate::recover::standing::Standing;
use crate::recover::tables::Place;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Events of one batch, and bytes, at most or nearly so.
const EVENTS: usize = 512;
const BYTES: usize = 128 << 10;
/// Batches that are ready and not looked at yet.
const READY: usize = 4;

/// Events that follow each other.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Batch<'i> {
    accounts: &'i [Account],
    entries: Vec<Entry>,
    /// The frames, each with its unmasked body after it if it was masked.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    lane: u32,
    standing: Standing,
    conflict: bool,
    /// The frame and the body in the batch's bytes; of a gap, nothing.
    frame: (u32, u32),
    body: (u32, u32),
}

impl<'i> Batch<'i> {
    /// The events in order.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> {
        self.entries.iter().filter_map(|entry| {
            let slice = |(start, end): (u32, u32)| &self.bytes[start as usize..end as usize];
            if entry.body.0 == entry.body.1 {
                let input = entry.place.input;
                let gap = self
                    .accounts
                    .get(input as usize)?
                    .gap_at(entry.place.offset)?;
                return Some(Event::Gap(input, gap));
            }
            Some(Event::Frame(MergedFrame {
                place: entry.place,
                bytes: slice(entry.frame),
                body: slice(entry.body),
                standing: entry.standing,
                lane: entry.lane,
                conflict: entry.conflict,
            }))
        })
    }

    /// Takes in up to `events` more; `false` if the merge is at its end.
    fn fill(&mut self, merge: &mut Merge<'i>, events: usize) -> Result<bool, Error> {
        self.accounts = merge.accounts();
        self.entries.clear();
        self.bytes.clear();
        while self.entries.len() < events && self.bytes.len() < BYTES {
            let entry = match merge.next()? {
                None => return Ok(false),
                Some(Event::Gap(input, report)) => Entry {
                    place: Place {
                        input,
                        offset: report.gap.offset,
                    },
                    standing: Standing::Sound,
                    lane: 0,
                    conflict: false,
                    frame: (0, 0),
                    body: (0, 0),
                },
                Some(Event::Frame(frame)) => {
                    let start = self.bytes.len() as u32;
                    self.bytes.extend_from_slice(frame.bytes);
                    let end = self.bytes.len() as u32;
                    if !frame.bytes.ends_with(frame.body) {
                        self.bytes.extend_from_slice(frame.body);
                    }
                    let body_end = self.bytes.len() as u32;
                    Entry {
                        place: frame.place,
                        standing: frame.standing,
                        lane: frame.lane,
                        conflict: frame.conflict,
                        frame: (start, end),
                        body: (body_end - frame.body.len() as u32, body_end),
                    }
                }
            };
            self.entries.push(entry);
        }
        Ok(true)
    }
}

/// Gives what a merge gives.
#[derive(Debug)]
pub struct BackgroundMerge<'i> {
    source: Source<'i>,
    batch: Batch<'i>,
    events: usize,
    end: End,
}

#[derive(Debug)]
enum Source<'i> {
    /// The merge itself.
    Here(Box<Merge<'i>>),
    /// Where batches arrive, and where those that are done with go back to.
    There(Receiver<Arrival<'i>>, SyncSender<Batch<'i>>),
    Ended,
}

/// What a merge says at its end.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    contradicts_survey: bool,
    duplicates: u64,
}

impl End {
    fn of(merge: &Merge<'_>) -> End {
        End {
            contradicts_survey: merge.contradicts_survey(),
            duplicates: merge.duplicates(),
        }
    }
}

/// A batch; with the last one, what the merge says at its end.
type Arrival<'i> = Result<(Batch<'i>, Option<End>), Error>;

impl<'i> BackgroundMerge<'i> {
    /// Lets a merge run while `with` looks at what it gives: on a core of its own, if
    /// `cores` are more than one.
    ///
    /// ```
    /// use logdef_resync::{BackgroundMerge, Input, Merge, MergeOptions, Recovery};
    ///
    /// let inputs = [Input::from_bytes("empty", Vec::new())];
    /// let recovery = Recovery::of(&inputs)?;
    /// let merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    /// let events = BackgroundMerge::run(merge, 2, |ahead| {
    ///     let mut events = 0;
    ///     while let Some(batch) = ahead.next()? {
    ///         events += batch.events().count();
    ///     }
    ///     Ok::<_, logdef_resync::Error>(events)
    /// })?;
    /// assert_eq!(events, 0);
    /// # Ok::<(), logdef_resync::Error>(())
    /// ```
    pub fn run<T>(
        merge: Merge<'i>,
        cores: usize,
        with: impl FnOnce(&mut BackgroundMerge<'i>) -> T,
    ) -> T {
        if cores < 2 {
            return with(&mut BackgroundMerge::of(Source::Here(Box::new(merge))));
        }
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(READY);
            let (back, spare) = sync_channel(READY + 2);
            scope.spawn(move || send(merge, &sender, &spare));
            // When it is dropped the channel has no receiver, and the sender ends.
            with(&mut BackgroundMerge::of(Source::There(receiver, back)))
        })
    }

    fn of(source: Source<'i>) -> Self {
        BackgroundMerge {
            source,
            batch: Batch::default(),
            events: 1,
            end: End::default(),
        }
    }

    /// The next events, `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&Batch<'i>>, Error> {
        let ended = match &mut self.source {
            Source::Ended => return Ok(None),
            Source::Here(merge) => {
                let goes_on = self.batch.fill(merge, self.events)?;
                self.events = (2 * self.events).min(EVENTS);
                (!goes_on).then(|| End::of(merge))
            }
            Source::There(receiver, back) => {
                // Where it is not wanted back it is dropped.
                let _ = back.try_send(std::mem::take(&mut self.batch));
                match receiver.recv() {
                    Ok(arrival) => {
                        let (batch, ended) = arrival?;
                        self.batch = batch;
                        ended
                    }
                    Err(_) => return Ok(None),
                }
            }
        };
        if let Some(end) = ended {
            self.end = end;
            self.source = Source::Ended;
        }
        Ok(Some(&self.batch))
    }

    /// Whether the merge ended because it [contradicts its
    /// survey](Merge::contradicts_survey).
    pub fn contradicts_survey(&self) -> bool {
        self.end.contradicts_survey
    }

    /// Records that the merge left out because they were given before, once it has ended: see
    /// [`Merge::duplicates`].
    pub(crate) fn duplicates(&self) -> u64 {
        self.end.duplicates
    }
}

fn send<'i>(mut merge: Merge<'i>, sender: &SyncSender<Arrival<'i>>, spare: &Receiver<Batch<'i>>) {
    let mut events = 1;
    loop {
        let mut batch = spare.try_recv().unwrap_or_default();
        let arrival = batch.fill(&mut merge, events);
        let ended = matches!(arrival, Ok(false) | Err(_));
        let arrival = arrival.map(|goes_on| (batch, (!goes_on).then(|| End::of(&merge))));
        if sender.send(arrival).is_err() || ended {
            return;
        }
        events = (2 * events).min(EVENTS);
    }
}
