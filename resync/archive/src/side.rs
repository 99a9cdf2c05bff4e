//! The tables beside that of the records: sites, threads, modules, images, losses, files, and the
//! frames that are no records. Knows what stands in each, and not how records are kept.

use crate::folder::Identity;
use crate::site::{Site, Type};
use crate::table::{Cell, Of, SideTable, Sink};
use crate::tables::Table;
use logdef_resync::{
    Account, Damage, GapKind, GapReport, MergedFrame, Recovery, Resolved, Standing, Torn, rewrite,
};
use logdef_wire::record::{Module, Preamble, ThreadLogdef};
use logdef_wire::{Record, Run, Sequence};
use parquet::errors::Result;
use std::collections::BTreeMap;

/// Threads of one part; records of more are kept whole.
const THREADS: usize = 1 << 20;
/// Stretches of counts of all threads of one part that are noted.
const STRETCHES: usize = 1 << 22;

/// What a call site is called, as far as the log and the images say it.
#[derive(Default)]
pub(crate) struct SiteNames {
    format: Option<Vec<u8>>,
    file: Option<Vec<u8>>,
    function: Option<Vec<u8>>,
    module: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    image: Option<Vec<u8>>,
    names: Vec<Option<String>>,
    guessed: Vec<Option<String>>,
}

impl SiteNames {
    /// The names in a record that was looked up.
    pub(crate) fn of(resolved: &Resolved<'_>, site: &Site) -> SiteNames {
        let text = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let args = site.values.args.unwrap_or(0) as usize;
        let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let given = resolved.argument_names().take(args);
        let given = given.map(|given| given.map(name));
        let guessed = resolved.argument_guesses().take(args);
        let keys = site.values.keys.iter().flatten();
        SiteNames {
            format: text(resolved.format.bytes),
            file: text(resolved.source_file()),
            function: text(resolved.function()),
            module: text(resolved.module()),
            target: text(resolved.target()),
            image: resolved.image.map(|image| image.path.clone()),
            names: given.chain(keys.map(|key| Some(name(key)))).collect(),
            guessed: guessed.map(|guess| guess.map(name)).collect(),
        }
    }
}

/// Adds a site to the table of sites.
pub(crate) fn push_site(
    table: &mut SideTable,
    site: &Site,
    names: &SiteNames,
    out: &mut dyn Sink,
) -> Result<()> {
    let call = &site.call;
    let values = &site.values;
    let slots: Vec<_> = match &site.slots {
        Some(slots) => slots
            .iter()
            .map(|slot| slot.map(|(slot, number)| crate::schema::slot_name(slot, number)))
            .collect(),
        None => vec![None; values.types.len()],
    };
    let types: Vec<_> = values
        .types
        .iter()
        .map(|it: &Type| Some(it.name().to_owned()))
        .collect();
    let texts = call.texts.as_deref();
    let text = |index: usize| texts.and_then(|texts| texts[index].as_deref());
    let keys = values.keys.as_ref().map(|keys| keys.len() as u64);
    table.push(
        &[
            Cell::Uint(Some(site.id)),
            Cell::Text(names.format.as_deref()),
            Cell::Text(names.file.as_deref()),
            Cell::Uint(call.line),
            Cell::Uint(call.level.map(u64::from)),
            Cell::Uint(call.kind),
            Cell::Text(names.function.as_deref()),
            Cell::Text(names.module.as_deref()),
            Cell::Text(names.target.as_deref()),
            Cell::Text(names.image.as_deref()),
            Cell::Texts(&names.names),
            Cell::Texts(&names.guessed),
            Cell::Texts(&types),
            Cell::Texts(&slots),
            Cell::Uint(values.args.map(u64::from)),
            Cell::Uint(keys),
            Cell::Uint(call.magic),
            Cell::Uint(call.file),
            Cell::Uint(call.format),
            Cell::Uint(call.run),
            Cell::Bytes(text(0)),
            Cell::Bytes(text(1)),
        ],
        out,
    )
}

/// Columns of the table of sites.
pub(crate) const SITES: &[(&str, Of)] = &[
    ("site", Of::Uint),
    ("format", Of::Text),
    ("file", Of::Text),
    ("line", Of::Uint),
    ("level", Of::Uint),
    ("kind", Of::Uint),
    ("function", Of::Text),
    ("module", Of::Text),
    ("target", Of::Text),
    ("image", Of::Text),
    ("names", Of::Texts),
    ("guessed", Of::Texts),
    ("types", Of::Texts),
    ("slots", Of::Texts),
    ("args", Of::Uint),
    ("keys", Of::Uint),
    ("magic", Of::Uint),
    ("file_address", Of::Uint),
    ("format_address", Of::Uint),
    ("run", Of::Uint),
    ("format_text", Of::Bytes),
    ("file_text", Of::Bytes),
];

/// What is known of a thread.
#[derive(Default)]
pub(crate) struct Thread {
    /// `pthread_self()` of its records; the outer `None` before the first of them.
    pthread: Option<Option<u64>>,
    tid: Option<u64>,
    name: Option<Vec<u8>>,
    records: u64,
    times: Option<(u64, u64)>,
    /// Counts that are here: the first and the last of each stretch.
    stretches: Vec<(u64, u64)>,
}

/// The threads of a part.
#[derive(Default)]
pub(crate) struct Threads {
    all: BTreeMap<(u64, u64), Thread>,
    stretches: usize,
}

impl Threads {
    fn of(&mut self, run: Run, number: u64) -> Option<&mut Thread> {
        let key = (run.0, number);
        if self.all.len() >= THREADS && !self.all.contains_key(&key) {
            return None;
        }
        Some(self.all.entry(key).or_default())
    }

    /// Takes a record in. `false` if its `pthread_self()` is not that of its thread.
    #[inline]
    pub(crate) fn add(
        &mut self,
        run: Run,
        sequence: Sequence,
        time: u64,
        pthread: Option<u64>,
    ) -> bool {
        let has_room = self.stretches < STRETCHES;
        let Some(thread) = self.of(run, sequence.number().0) else {
            return false;
        };
        thread.records += 1;
        let (first, last) = thread.times.unwrap_or((time, time));
        thread.times = Some((first.min(time), last.max(time)));
        let count = sequence.count();
        let is_same = *thread.pthread.get_or_insert(pthread) == pthread;
        match thread.stretches.last_mut() {
            Some((_, last)) if *last + 1 == count => *last = count,
            Some((first, last)) if (*first..=*last).contains(&count) => {}
            _ if has_room => {
                thread.stretches.push((count, count));
                self.stretches += 1;
            }
            _ => {}
        }
        is_same
    }

    fn name(&mut self, logdef: &ThreadLogdef<'_>) {
        let (Some(run), Some(number)) = (logdef.run, logdef.number) else {
            return;
        };
        if let Some(thread) = self.of(run, number.0) {
            thread.tid = logdef.tid.or(thread.tid);
            if let Some(name) = logdef.name {
                thread.name = Some(name.to_vec());
            }
        }
    }

    pub(crate) fn write(&self, out: &mut dyn Sink) -> Result<()> {
        let mut table = SideTable::new(Table::Threads);
        for ((run, number), thread) in &self.all {
            let stretch = |(first, last): &(u64, u64)| Some(format!("{first}-{last}"));
            let stretches: Vec<_> = thread.stretches.iter().map(stretch).collect();
            table.push(
                &[
                    Cell::Uint(Some(*run)),
                    Cell::Uint(Some(*number)),
                    Cell::Uint(thread.pthread.flatten()),
                    Cell::Uint(thread.tid),
                    Cell::Text(thread.name.as_deref()),
                    Cell::Uint(Some(thread.records)),
                    Cell::Time(thread.times.map(|(first, _)| first)),
                    Cell::Time(thread.times.map(|(_, last)| last)),
                    Cell::Texts(&stretches),
                ],
                out,
            )?;
        }
        table.give(out)
    }
}

/// Columns of the table of threads.
pub(crate) const THREADS_COLUMNS: &[(&str, Of)] = &[
    ("run", Of::Uint),
    ("thread", Of::Uint),
    ("pthread", Of::Uint),
    ("tid", Of::Uint),
    ("name", Of::Text),
    ("records", Of::Uint),
    ("first_time", Of::Time),
    ("last_time", Of::Time),
    ("stretches", Of::Texts),
];

/// The frames that are no data records, and what the tables of images, modules and threads
/// show of them.
pub(crate) struct Frames {
    frames: SideTable,
    images: SideTable,
    modules: SideTable,
}

/// Columns of the table of other frames.
pub(crate) const FRAMES: &[(&str, Of)] = &[
    ("before", Of::Int),
    ("tag", Of::Uint),
    ("mark", Of::Text),
    ("body", Of::Bytes),
];

/// Columns of the table of images.
pub(crate) const IMAGES: &[(&str, Of)] = &[
    ("run", Of::Uint),
    ("magic", Of::Uint),
    ("path", Of::Text),
    ("size", Of::Uint),
    ("digest", Of::Bytes),
    ("build_id", Of::Bytes),
    ("load_bias", Of::Uint),
    ("pid", Of::Uint),
    ("host", Of::Text),
    ("boot_id", Of::Text),
    ("machine", Of::Text),
    ("file_system", Of::Text),
    ("realtime", Of::Time),
    ("monotonic", Of::Uint),
    ("family", Of::Uint),
    ("parent", Of::Uint),
];

/// Columns of the table of modules.
pub(crate) const MODULES: &[(&str, Of)] = &[
    ("run", Of::Uint),
    ("start", Of::Uint),
    ("size", Of::Uint),
    ("load_bias", Of::Uint),
    ("path", Of::Text),
    ("build_id", Of::Bytes),
    ("magic", Of::Uint),
    ("time", Of::Time),
    ("unloaded", Of::Bool),
];

impl Frames {
    pub(crate) fn new() -> Frames {
        Frames {
            frames: SideTable::new(Table::Frames),
            images: SideTable::new(Table::Images),
            modules: SideTable::new(Table::Modules),
        }
    }

    /// Adds a frame that stands before the record of a number.
    pub(crate) fn add(
        &mut self,
        before: u64,
        frame: &MergedFrame<'_>,
        mark: Standing,
        threads: &mut Threads,
        out: &mut dyn Sink,
    ) -> Result<()> {
        self.frames.push(
            &[
                Cell::Int(Some(before as i64)),
                Cell::Uint(Some(u64::from(frame.tag().0))),
                Cell::Text(mark.word().map(str::as_bytes)),
                Cell::Bytes(Some(frame.body)),
            ],
            out,
        )?;
        match frame.record() {
            Some(Record::Preamble(preamble)) => self.image(&preamble, out),
            Some(Record::Module(module)) => self.module(&module, out),
            Some(Record::ThreadLogdef(logdef)) => {
                threads.name(&logdef);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn image(&mut self, it: &Preamble<'_>, out: &mut dyn Sink) -> Result<()> {
        self.images.push(
            &[
                Cell::Uint(it.run.map(|run| run.0)),
                Cell::Uint(it.magic.map(|magic| magic.0)),
                Cell::Text(it.path),
                Cell::Uint(it.size),
                Cell::Bytes(it.digest),
                Cell::Bytes(it.build_id),
                Cell::Uint(it.load_bias),
                Cell::Uint(it.pid),
                Cell::Text(it.host),
                Cell::Text(it.boot_id),
                Cell::Text(it.machine),
                Cell::Text(it.file_system),
                Cell::Time(it.realtime),
                Cell::Uint(it.monotonic),
                Cell::Uint(it.family.map(|run| run.0)),
                Cell::Uint(it.parent.map(|run| run.0)),
            ],
            out,
        )
    }

    fn module(&mut self, it: &Module<'_>, out: &mut dyn Sink) -> Result<()> {
        self.modules.push(
            &[
                Cell::Uint(it.run.map(|run| run.0)),
                Cell::Uint(it.start.map(|start| start.0)),
                Cell::Uint(it.size),
                Cell::Uint(it.load_bias),
                Cell::Text(it.path),
                Cell::Bytes(it.build_id),
                Cell::Uint(it.magic.map(|magic| magic.0)),
                Cell::Time(it.time),
                Cell::Bool(it.unloaded),
            ],
            out,
        )
    }

    pub(crate) fn give(&mut self, out: &mut dyn Sink) -> Result<()> {
        self.frames.give(out)?;
        self.images.give(out)?;
        self.modules.give(out)
    }
}

/// Columns of the table of losses.
pub(crate) const LOSSES: &[(&str, Of)] = &[
    ("file", Of::Text),
    ("what", Of::Text),
    ("why", Of::Text),
    ("offset", Of::Uint),
    ("bytes", Of::Uint),
    ("records", Of::Uint),
    ("exact", Of::Bool),
    ("run", Of::Uint),
    ("thread", Of::Uint),
    ("first_seq", Of::Uint),
    ("after_time", Of::Time),
    ("before_time", Of::Time),
];

/// One row of the table of losses.
#[derive(Default)]
struct Loss<'l> {
    file: Option<&'l str>,
    what: &'l str,
    why: Option<&'l str>,
    /// The offset, and how many bytes.
    range: Option<(u64, u64)>,
    records: Option<u64>,
    is_inexact: bool,
    thread: Option<(Run, u64)>,
    first: Option<u64>,
    times: (Option<u64>, Option<u64>),
}

fn push_loss(table: &mut SideTable, loss: &Loss<'_>, out: &mut dyn Sink) -> Result<()> {
    table.push(
        &[
            Cell::Text(loss.file.map(str::as_bytes)),
            Cell::Text(Some(loss.what.as_bytes())),
            Cell::Text(loss.why.map(str::as_bytes)),
            Cell::Uint(loss.range.map(|(offset, _)| offset)),
            Cell::Uint(loss.range.map(|(_, bytes)| bytes)),
            Cell::Uint(loss.records),
            Cell::Bool(Some(!loss.is_inexact)),
            Cell::Uint(loss.thread.map(|(run, _)| run.0)),
            Cell::Uint(loss.thread.map(|(_, number)| number)),
            Cell::Uint(loss.first),
            Cell::Time(loss.times.0),
            Cell::Time(loss.times.1),
        ],
        out,
    )
}

/// Writes what is not in the logs: each range of bytes that was damaged or torn, each stretch of
/// records that is missing where no byte is, and what each thread lacks in all.
pub(crate) fn write_losses(recovery: &Recovery, out: &mut dyn Sink) -> Result<()> {
    let mut table = SideTable::new(Table::Losses);
    for account in recovery.accounts() {
        write_account(&mut table, account, out)?;
    }
    for thread in recovery.threads() {
        for (what, records) in [
            ("missing of thread", thread.lost),
            ("dropped", thread.dropped),
            ("pruned", thread.pruned),
        ] {
            if records > 0 {
                let loss = Loss {
                    what,
                    records: Some(records),
                    thread: Some((thread.run, thread.number.0)),
                    times: (Some(thread.first_time), Some(thread.last_time)),
                    ..Loss::default()
                };
                push_loss(&mut table, &loss, out)?;
            }
        }
    }
    // What all of it comes to, in the words of `check`.
    let verdict = recovery.losses().to_string();
    let loss = Loss {
        what: "verdict",
        why: Some(&verdict),
        records: Some(recovery.losses().missing),
        is_inexact: recovery.losses().at_least,
        ..Loss::default()
    };
    push_loss(&mut table, &loss, out)?;
    table.give(out)
}

fn write_account(table: &mut SideTable, account: &Account, out: &mut dyn Sink) -> Result<()> {
    let of_file = || Loss {
        file: Some(&account.name),
        ..Loss::default()
    };
    for gap in &account.gaps {
        if let Some((what, why)) = words(gap) {
            let loss = Loss {
                what,
                why: Some(why),
                range: Some((gap.gap.offset, gap.gap.len)),
                records: Some(gap.lost),
                is_inexact: !gap.exact,
                thread: gap.threads.first().map(|(run, number)| (*run, number.0)),
                times: gap.times,
                ..of_file()
            };
            push_loss(table, &loss, out)?;
        }
    }
    for hole in &account.holes {
        let loss = Loss {
            what: "missing",
            records: Some(hole.lost),
            thread: Some((hole.run, hole.number.0)),
            first: Some(hole.from),
            ..of_file()
        };
        push_loss(table, &loss, out)?;
    }
    let counted = [
        ("gaps not listed", account.gaps_unlisted),
        ("frames without a record", account.malformed),
        ("suspect frames", account.suspect),
    ];
    for (what, records) in counted.into_iter().filter(|(_, records)| *records > 0) {
        let loss = Loss {
            what,
            records: Some(records),
            ..of_file()
        };
        push_loss(table, &loss, out)?;
    }
    if let Some(why) = &account.broken_off {
        let loss = Loss {
            what: "broken off",
            why: Some(why),
            range: Some((account.bytes, 0)),
            is_inexact: true,
            ..of_file()
        };
        push_loss(table, &loss, out)?;
    }
    Ok(())
}

/// What a gap is and why, if it is any loss.
fn words(gap: &GapReport) -> Option<(&'static str, &'static str)> {
    match gap.gap.kind {
        GapKind::Padding => None,
        GapKind::Torn(Torn::Unpublished) => Some(("torn", "unpublished")),
        GapKind::Torn(_) => Some(("torn", "cut")),
        GapKind::Damage(damage) => Some(("damaged", Damage::name(damage))),
        _ => Some(("unknown", "unknown")),
    }
}

/// Columns of the table of files.
pub(crate) const FILES: &[(&str, Of)] = &[
    ("file", Of::Text),
    ("bytes", Of::Uint),
    ("device", Of::Uint),
    ("inode", Of::Uint),
    ("modified", Of::Int),
    ("records", Of::Uint),
    ("first_time", Of::Time),
    ("last_time", Of::Time),
    ("damaged", Of::Uint),
    ("torn", Of::Uint),
    ("missing", Of::Uint),
    ("made_from", Of::Text),
];

/// Writes the table of the files that a part was made from.
pub(crate) fn write_files(
    recovery: &Recovery,
    files: &[Option<Identity>],
    out: &mut dyn Sink,
) -> Result<()> {
    let mut table = SideTable::new(Table::Files);
    for (index, account) in recovery.accounts().iter().enumerate() {
        let file = files.get(index).and_then(Option::as_ref);
        let losses = rewrite::made_from_file(recovery, account);
        table.push(
            &[
                Cell::Text(Some(account.name.as_bytes())),
                Cell::Uint(Some(file.map_or(account.bytes, |file| file.bytes))),
                Cell::Uint(file.map(|file| file.device)),
                Cell::Uint(file.map(|file| file.inode)),
                Cell::Int(file.map(|file| file.modified)),
                Cell::Uint(Some(account.data())),
                Cell::Time(account.times.0.map(|(first, _)| first)),
                Cell::Time(account.times.0.map(|(_, last)| last)),
                Cell::Uint(Some(account.damage.bytes)),
                Cell::Uint(Some(account.torn.bytes)),
                Cell::Uint(Some(account.lost())),
                Cell::Text(losses.as_deref().map(str::as_bytes)),
            ],
            out,
        )?;
    }
    table.give(out)
}
