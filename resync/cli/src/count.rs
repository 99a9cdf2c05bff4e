//! Counts of records by level, call site, run and thread, and over time: what `stats` and `report`
//! say how much there is of. Only the rates know how they look.

pub mod rates;

use crate::show::escape;
use logdef_resync::{Place, Resolved, Resolver};
use logdef_wire::record::Data;
use logdef_wire::{Level, Magic, Run, Svma, ThreadNumber};
use rates::Rates;
use std::collections::{BTreeMap, HashMap};

/// Call sites and threads that are counted one by one, and bytes of their texts; the others of
/// a log that has more are counted together.
const SITES: usize = 1 << 16;
const THREADS: usize = 1 << 16;
const TEXTS: usize = 32 << 20;

/// Where a record was logged. Equal call sites are the same template.
pub type CallSite = (
    Option<Magic>,
    Option<Svma>,
    Option<Svma>,
    Option<u64>,
    Option<Level>,
);

/// Counts of records.
#[derive(Default)]
pub struct Counts {
    pub records: u64,
    pub levels: BTreeMap<Option<Level>, u64>,
    pub sites: HashMap<CallSite, Site>,
    /// Records of call sites that are not counted one by one.
    pub of_other_sites: u64,
    pub threads: BTreeMap<(Option<Run>, Option<ThreadNumber>), Thread>,
    pub of_other_threads: u64,
    /// Bytes of the texts of sites and threads.
    texts: usize,
    pub rates: Rates,
}

#[derive(Default)]
pub struct Site {
    pub records: u64,
    /// One of them, for its strings.
    pub place: String,
    pub format: String,
    /// Names that the program gave to arguments, in their order.
    pub names: Vec<Vec<u8>>,
    /// Names that are guessed from the format, in the order of their arguments.
    pub guessed: Vec<Vec<u8>>,
    /// Those of `names` whose values the text does not print.
    pub attached: Vec<Vec<u8>>,
}

impl Site {
    /// How long its texts are.
    fn bytes(&self) -> usize {
        let names = self.names.iter().chain(&self.guessed).chain(&self.attached);
        let names: usize = names.map(Vec::len).sum();
        self.place.len() + self.format.len() + names
    }
}

pub struct Thread {
    pub records: u64,
    pub name: String,
}

impl Counts {
    pub fn add(&mut self, data: &Data<'_>, place: Place, resolver: &mut Resolver<'_>) {
        self.records += 1;
        *self.levels.entry(data.level).or_default() += 1;
        if let Some(time) = data.time {
            self.rates.add(time, data.level);
        }
        self.add_to_site(data, place, resolver);
        self.add_to_thread(data, place, resolver);
    }

    fn add_to_site(&mut self, data: &Data<'_>, place: Place, resolver: &mut Resolver<'_>) {
        let key = (data.magic, data.format, data.file, data.line, data.level);
        if let Some(site) = self.sites.get_mut(&key) {
            site.records += 1;
            return;
        }
        if self.sites.len() >= SITES || self.texts >= TEXTS {
            self.of_other_sites += 1;
            return;
        }
        let resolved = resolver.resolve(data, place);
        let mut guessed = resolved.guesses();
        guessed.sort_by_key(|(_, index)| *index);
        let site = Site {
            records: 1,
            place: source(&resolved),
            format: shown(resolved.format.bytes.unwrap_or(b"?")),
            names: resolved.named().map(|(name, _)| name.to_vec()).collect(),
            guessed: guessed.into_iter().map(|(name, _)| name.to_vec()).collect(),
            attached: resolved.attached().map(|(name, _)| name.to_vec()).collect(),
        };
        self.texts += site.bytes();
        self.sites.insert(key, site);
    }

    fn add_to_thread(&mut self, data: &Data<'_>, place: Place, resolver: &mut Resolver<'_>) {
        let key = (data.run, data.sequence.map(|sequence| sequence.number()));
        if let Some(thread) = self.threads.get_mut(&key) {
            thread.records += 1;
            return;
        }
        if self.threads.len() >= THREADS || self.texts >= TEXTS {
            self.of_other_threads += 1;
            return;
        }
        let resolved = resolver.resolve(data, place);
        let name = resolved.thread.and_then(|thread| thread.name.as_deref());
        let name = name.map_or(String::new(), shown);
        self.texts += name.len();
        self.threads.insert(key, Thread { records: 1, name });
    }

    /// Call sites, the busiest first.
    pub fn ranked(&self) -> Vec<(&CallSite, &Site)> {
        let mut ranked: Vec<_> = self.sites.iter().collect();
        ranked.sort_by(|(_, a), (_, b)| {
            (b.records.cmp(&a.records))
                .then_with(|| a.place.cmp(&b.place))
                .then_with(|| a.format.cmp(&b.format))
        });
        ranked
    }

    pub fn runs(&self) -> BTreeMap<Option<Run>, Vec<(Option<ThreadNumber>, &Thread)>> {
        let mut runs = BTreeMap::<_, Vec<_>>::new();
        for ((run, number), thread) in &self.threads {
            runs.entry(*run).or_default().push((*number, thread));
        }
        runs
    }
}

pub fn source(record: &Resolved<'_>) -> String {
    let file = record.file.bytes.map_or("?".into(), shown);
    match record.data.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

pub fn shown(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    escape::push(bytes, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
