//! Runs and the images that log in them.

use crate::recover::tables::{Image, RunInfo, Tables, map_entry, owned};
use logdef_symbolizer::LogCall;
use logdef_wire::record::{Glance, Preamble};
use logdef_wire::{Array, Avma, Magic, Run, Value};

/// Images of one run, and callers of one image, that are remembered: more would
/// say no more.
const IMAGES: usize = 256;
const CALLERS: usize = 64;
/// Images of one run that are listed.
const LISTED: usize = 4096;
/// Addresses of a backtrace among which the one in the code that logged is.
const INNERMOST: usize = 3;

impl Tables {
    /// The image of a magic.
    pub fn image(&self, magic: Magic) -> Option<&Image> {
        self.images.get(&magic)
    }

    /// The same, or what follows from the magic alone if no preamble is left.
    pub fn image_or_magic(&self, magic: Magic) -> Image {
        let known = self.image(magic).cloned();
        known.unwrap_or_else(|| Image::of_magic(magic))
    }

    /// Runtime address minus link-time address of an image in a run.
    pub fn load_bias(&self, run: Run, magic: Magic) -> Option<u64> {
        self.biases.get(&(run, magic)).copied()
    }

    /// The images that are known to have logged in a run.
    pub fn images_of(&self, run: Run) -> Vec<Magic> {
        let mut images = self.run(run).map_or(Vec::new(), |run| run.images.clone());
        for (magic, _) in self.callers.get(&run).into_iter().flatten() {
            if !images.contains(magic) {
                images.push(*magic);
            }
        }
        images
    }

    /// Some records of an image in a run whose load bias is in no preamble,
    /// and where they were logged from.
    pub fn callers(&self, run: Run, magic: Magic) -> &[LogCall] {
        let mut images = self.callers.get(&run).into_iter().flatten();
        let found = images.find(|(other, _)| *other == magic);
        found.map_or(&[], |(_, calls)| calls)
    }

    /// What its preambles say about a run.
    pub fn run(&self, run: Run) -> Option<&RunInfo> {
        self.runs.get(&run)
    }

    /// All runs that have a preamble, in the order they were opened.
    pub fn runs(&self) -> Vec<(Run, &RunInfo)> {
        let mut runs: Vec<_> = self.runs.iter().map(|(run, info)| (*run, info)).collect();
        runs.sort_by_key(|(run, info)| (info.realtime, *run));
        runs
    }

    /// A record of an image has a backtrace, of an image whose load bias may be needed
    /// if no preamble has it.
    #[cold]
    pub(crate) fn add_callers(&mut self, data: &Glance, backtrace: Array<'_>) {
        let (Some(run), Some(magic)) = (data.run, data.magic) else {
            return;
        };
        let (Some(format), Some(file), Some(line)) = (data.format, data.file, data.line) else {
            return;
        };
        if self.biases.contains_key(&(run, magic)) {
            return;
        }
        // The innermost may be the logger's own.
        for returns_to in backtrace.iter().take(INNERMOST).filter_map(Value::as_uint) {
            let call = LogCall {
                format,
                file,
                line,
                returns_to: Avma(returns_to),
            };
            let images = self.callers.get(&run);
            let known = images.and_then(|images| images.iter().find(|(other, _)| *other == magic));
            let is_enough = match known {
                Some((_, calls)) => calls.len() >= CALLERS || calls.contains(&call),
                None => images.is_some_and(|images| images.len() >= IMAGES),
            };
            let cost = 2 * size_of::<LogCall>() + map_entry::<Run>(3);
            if is_enough || !self.try_reserve(cost) {
                continue;
            }
            let images = self.callers.entry(run).or_default();
            match images.iter_mut().find(|(other, _)| *other == magic) {
                Some((_, calls)) => calls.push(call),
                None => images.push((magic, vec![call])),
            }
        }
    }

    pub(super) fn knows_preamble(&self, preamble: &Preamble<'_>) -> bool {
        let Some(run) = preamble.run.and_then(|run| self.runs.get(&run)) else {
            return false;
        };
        preamble.magic.is_none_or(|magic| {
            let bias = preamble.run.zip(preamble.load_bias);
            run.images.contains(&magic)
                && self.images.contains_key(&magic)
                && bias.is_none_or(|(run, _)| self.biases.contains_key(&(run, magic)))
        })
    }

    pub(super) fn add_preamble(&mut self, preamble: &Preamble<'_>) {
        if let Some(magic) = preamble.magic {
            if !self.images.contains_key(&magic) {
                let texts = [preamble.path, preamble.digest, preamble.build_id];
                let bytes: usize = texts.into_iter().flatten().map(<[u8]>::len).sum();
                let cost = 2 * size_of::<Image>() + map_entry::<Magic>(3) + bytes;
                if !self.try_reserve(cost) {
                    return;
                }
                self.images.insert(magic, Image::of_preamble(preamble));
            }
            if let (Some(run), Some(bias)) = (preamble.run, preamble.load_bias)
                && !self.biases.contains_key(&(run, magic))
                && self.try_reserve(map_entry::<(Run, Magic)>(0))
            {
                self.biases.insert((run, magic), bias);
            }
        }
        let Some(run) = preamble.run else {
            return;
        };
        if self.runs.contains_key(&run) || self.try_reserve(cost_of_run(preamble)) {
            self.runs.entry(run).or_default().add(preamble);
        }
    }
}

/// What a run takes that is known from a preamble, roughly.
fn cost_of_run(preamble: &Preamble<'_>) -> usize {
    let texts = [
        preamble.machine,
        preamble.host,
        preamble.boot_id,
        preamble.file_system,
    ];
    let bytes: usize = texts.into_iter().flatten().map(<[u8]>::len).sum();
    2 * size_of::<RunInfo>() + map_entry::<Run>(5) + bytes
}

impl RunInfo {
    /// Takes in what a preamble says that none before did.
    fn add(&mut self, preamble: &Preamble<'_>) {
        self.pid = self.pid.or(preamble.pid);
        self.realtime = self.realtime.or(preamble.realtime);
        self.monotonic = self.monotonic.or(preamble.monotonic);
        let texts = [
            (&mut self.machine, preamble.machine),
            (&mut self.host, preamble.host),
            (&mut self.boot_id, preamble.boot_id),
            (&mut self.file_system, preamble.file_system),
        ];
        for (field, text) in texts {
            if field.is_none() {
                *field = owned(text);
            }
        }
        if let Some(magic) = preamble.magic
            && !self.images.contains(&magic)
            && self.images.len() < LISTED
        {
            self.images.push(magic);
        }
    }
}

impl Image {
    fn of_preamble(preamble: &Preamble<'_>) -> Image {
        Image {
            magic: preamble.magic,
            path: preamble.path.unwrap_or_default().to_vec(),
            size: preamble.size,
            digest: owned(preamble.digest),
            build_id: owned(preamble.build_id),
        }
    }
}
