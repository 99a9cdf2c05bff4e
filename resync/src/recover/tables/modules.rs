//! Which module held an address of a run at a time.

use crate::recover::tables::{Image, ModuleEntry, Tables, map_entry, owned};
use logdef_wire::record::Module;
use logdef_wire::{Avma, Run};

/// Modules remembered for one run: more is a hostile file, and would make look-ups slow.
const MODULES: usize = 1 << 14;

impl Tables {
    /// The module that held an address of a run at a time: the one that was
    /// noticed last before it; or first after, since the clocks of threads differ
    /// a little. Whatever is mapped over a module ends it.
    pub fn module(&self, run: Run, address: Avma, time: Option<u64>) -> Option<&ModuleEntry> {
        let time = time.unwrap_or(u64::MAX);
        let modules = self.modules.get(&run)?;
        let holding = || modules.values().filter(|module| module.holds(address));
        let before = holding().filter(|module| module.time <= time);
        let Some(module) = before.max_by_key(|module| (module.time, !module.unloaded)) else {
            let after = holding().filter(|module| !module.unloaded);
            return after.min_by_key(|module| module.time);
        };
        let replaced = modules
            .values()
            .any(|other| (module.time + 1..=time).contains(&other.time) && other.overlaps(module));
        (!module.unloaded && !replaced).then_some(module)
    }

    /// Whether any module of a run is known to have been at an address, at any time.
    pub fn has_module(&self, run: Run, address: Avma) -> bool {
        let modules = self.modules.get(&run);
        modules.is_some_and(|modules| modules.values().any(|module| module.holds(address)))
    }

    pub(super) fn knows_module(&self, module: &Module<'_>) -> bool {
        let (Some(run), Some(start)) = (module.run, module.start) else {
            return true;
        };
        let time = module.time.unwrap_or(0);
        let key = (start, time, module.unloaded.unwrap_or(false));
        let known = self.modules.get(&run);
        known.is_some_and(|known| known.contains_key(&key))
    }

    pub(super) fn add_module(&mut self, module: &Module<'_>) {
        let (Some(run), Some(start)) = (module.run, module.start) else {
            return;
        };
        let entry = ModuleEntry {
            start,
            size: module.size.unwrap_or(0),
            load_bias: module.load_bias,
            image: Image {
                magic: module.magic,
                path: module.path.unwrap_or_default().to_vec(),
                size: None,
                digest: None,
                build_id: owned(module.build_id),
            },
            time: module.time.unwrap_or(0),
            unloaded: module.unloaded.unwrap_or(false),
        };
        let key = (start, entry.time, entry.unloaded);
        let known = self.modules.get(&run);
        if known.is_some_and(|known| known.contains_key(&key)) {
            return;
        }
        // The first of a run makes room for eleven.
        let room = if known.is_none() { 12 } else { 2 };
        let entries = room * size_of::<ModuleEntry>() + map_entry::<Run>(3);
        let cost = entries + entry.image.path.len();
        let full = known.is_some_and(|known| known.len() >= MODULES);
        if full {
            self.refused += 1;
        } else if self.try_reserve(cost) {
            self.modules.entry(run).or_default().insert(key, entry);
        }
    }
}

impl ModuleEntry {
    fn holds(&self, address: Avma) -> bool {
        address.0.wrapping_sub(self.start.0) < self.size
    }

    fn overlaps(&self, other: &ModuleEntry) -> bool {
        self.holds(other.start) || other.holds(self.start)
    }
}
