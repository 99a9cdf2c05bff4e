//! A record and all that its numbers stand for: strings from the tables or from
//! the image, thread, process, backtrace. Never fails: what is not known is
//! absent, and each text says where it comes from.

use crate::merge::MergedFrame;
use crate::recover::recovery::Recovery;
use crate::recover::standing::{Standing, Standings};
use crate::recover::tables::{
    ContextKeys, Image, Origin, Place, Provenance, RunInfo, Tables, Thread, latest,
};
use crate::resolve::images::{Images, NoImages};
use crate::resolve::loaded_images::LoadedImages;
use crate::resolve::resolved::{Resolved, key_of};
use crate::resolve::stack::{StackEntry, leave_expansion_out, leave_loggers_out};
use crate::resolve::texts::{Known, Texts};
use logdef_wire::record::Data;
use logdef_wire::{Array, Avma, Magic, Run, Svma, ThreadNumber, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// Call sites whose look-ups are at hand: a power of two.
const SITES: usize = 1024;
/// Threads whose names are at hand: a power of two.
const THREADS: usize = 64;
/// Records that conflict with others of which that is remembered.
const CONFLICTS: usize = 1 << 20;

/// Resolves records against tables and images.
///
/// ```
/// use logdef_resync::{NoImages, Place, Provenance, Resolver, Tables};
/// use logdef_wire::{Magic, Record, Svma, record::{Data, Glance, StringLogdef}};
///
/// let mut tables = Tables::new(1 << 20);
/// let place = Place { input: 0, offset: 0 };
/// let logdef = StringLogdef {
///     magic: Some(Magic(7)),
///     address: Some(Svma(0x2000)),
///     string: Some(b"started"),
///     ..StringLogdef::default()
/// };
/// tables.add(&Record::StringLogdef(logdef), place);
///
/// let mut resolver = Resolver::new(&tables, NoImages);
/// let front = Glance {
///     magic: Some(Magic(7)),
///     format: Some(Svma(0x2000)),
///     ..Glance::default()
/// };
/// let data = Data { front, ..Data::default() };
/// let resolved = resolver.resolve(&data, place);
/// let mut message = Vec::new();
/// resolved.message(&mut message);
/// assert_eq!(message, b"started");
/// assert_eq!(resolved.format.provenance, Provenance::Logged);
/// assert_eq!(resolved.file.bytes, None);
/// ```
#[derive(Debug)]
pub struct Resolver<'t> {
    tables: &'t Tables,
    /// What knows how far records can be trusted.
    judge: Judge<'t>,
    /// Records of which others with other bytes came before.
    conflicting: HashSet<Place>,
    images: LoadedImages<'t>,
    texts: Texts,
    sites: Vec<Option<Site<'t>>>,
    threads: Vec<Option<Names<'t>>>,
    nothing: Arc<Known>,
}

/// What knows how far records can be trusted.
#[derive(Clone, Copy, Debug)]
enum Judge<'t> {
    Nobody,
    Recovery(&'t Recovery),
    Standings(&'t Standings),
}

/// All that the thread of a record was.
#[derive(Clone, Copy, Debug)]
struct Names<'t> {
    key: (Run, ThreadNumber),
    names: &'t [(Place, Thread)],
}

/// The strings of a call site in a run, its image and its run.
#[derive(Clone, Debug)]
struct Site<'t> {
    key: (Option<Magic>, Option<Svma>, Option<Svma>, Option<Run>),
    format: Option<Arc<Known>>,
    file: Option<Arc<Known>>,
    origin: Option<&'t Origin>,
    image: Option<&'t Image>,
    run: Option<&'t RunInfo>,
}

impl<'t> Resolver<'t> {
    /// A resolver that knows the tables and the images.
    pub fn new(tables: &'t Tables, images: impl Images + 't) -> Self {
        Resolver {
            tables,
            judge: Judge::Nobody,
            conflicting: HashSet::new(),
            images: LoadedImages::new(tables, images),
            texts: Texts::of(tables),
            sites: vec![None; SITES],
            threads: vec![None; THREADS],
            nothing: Known::new(Arc::default(), Arc::default(), Provenance::Missing),
        }
    }

    /// A resolver for when no image is at hand.
    pub fn without_images(tables: &'t Tables) -> Self {
        Resolver::new(tables, NoImages)
    }

    /// Says of each record how far it can be trusted, where all inputs were read before.
    pub fn judged_by(self, recovery: &'t Recovery) -> Self {
        Resolver {
            judge: Judge::Recovery(recovery),
            ..self
        }
    }

    /// Says of each record how far it can be trusted and whether it is late, where records come one by
    /// one.
    pub fn marked_by(self, standings: &'t Standings) -> Self {
        Resolver {
            judge: Judge::Standings(standings),
            ..self
        }
    }

    /// Takes note of a frame that a merge gave: what is resolved says whether it is a
    /// [conflict](MergedFrame::conflict).
    #[inline]
    pub fn see(&mut self, frame: &MergedFrame<'_>) {
        if frame.conflict {
            self.add_conflict(frame.place);
        }
    }

    #[cold]
    fn add_conflict(&mut self, place: Place) {
        if self.conflicting.len() < CONFLICTS {
            self.conflicting.insert(place);
        }
    }

    /// What a record's numbers stand for.
    #[inline]
    pub fn resolve<'a>(&'a mut self, data: &'a Data<'a>, place: Place) -> Resolved<'a> {
        let slot = self.site(data);
        let thread = self.thread(data, place);
        let Some(site) = &self.sites[slot] else {
            unreachable!("the site was put there");
        };
        let (standing, is_late) = match self.judge {
            Judge::Recovery(recovery) => (recovery.standing_of_run(place, data.run), false),
            Judge::Standings(standings) => (standings.of(place), standings.is_late(place)),
            Judge::Nobody => (Standing::Sound, false),
        };
        let format = site.format.as_deref().unwrap_or(&self.nothing);
        let file = site.file.as_deref().unwrap_or(&self.nothing);
        Resolved {
            place,
            data,
            standing,
            is_late,
            is_conflicting: !self.conflicting.is_empty() && self.conflicting.contains(&place),
            format: format.text(),
            file: file.text(),
            origin: site.origin,
            image: site.image,
            run: site.run,
            thread,
            description: format.description(),
            context: match (data.run, data.context) {
                (Some(run), Some(id)) => {
                    let hidden = |key: &[u8]| key_of(data, key).is_some();
                    self.tables.context_keys(run, id, place, hidden)
                }
                _ => ContextKeys::default(),
            },
            compiled: site.format.as_deref().and_then(Known::compiled),
        }
    }

    /// The entries of a record's backtrace, innermost first, beginning with the function
    /// that logged.
    pub fn backtrace(&mut self, data: &Data<'_>, place: Place) -> Vec<StackEntry> {
        let Some(addresses) = data.backtrace else {
            return Vec::new();
        };
        let mut stack = self.stack(addresses, data.run, data.time, place, false);
        leave_loggers_out(&mut stack);
        let call = self.resolve(data, place);
        if let (Some(file), Some(line)) = (call.source_file(), call.source_line()) {
            leave_expansion_out(&mut stack, file, line);
        }
        stack
    }

    /// The entries of some code addresses of a run: return addresses, except for the first
    /// one where `exact` says so.
    pub fn stack(
        &mut self,
        addresses: Array<'_>,
        run: Option<Run>,
        time: Option<u64>,
        place: Place,
        exact: bool,
    ) -> Vec<StackEntry> {
        let is_cut = addresses.iter().last() == Some(Value::Nil);
        let addresses = addresses.iter().filter_map(Value::as_uint).map(Avma);
        let entry =
            |(index, address)| self.stack_entry(run, address, time, place, exact && index == 0);
        let mut stack: Vec<StackEntry> = addresses.enumerate().map(entry).collect();
        if let Some(last) = stack.last_mut() {
            last.is_cut = is_cut;
        }
        stack
    }

    /// What went wrong with images since this was asked last, a line each.
    pub fn complaints(&mut self) -> Vec<String> {
        self.images.images.complaints()
    }

    fn stack_entry(
        &mut self,
        run: Option<Run>,
        address: Avma,
        time: Option<u64>,
        place: Place,
        exact: bool,
    ) -> StackEntry {
        let mut entry = StackEntry {
            address,
            ..StackEntry::default()
        };
        let Some(run) = run else {
            return entry;
        };
        entry.logged = self.tables.backtrace(run, address, place).cloned();
        let loaded = &mut self.images;
        entry.image = loaded.image_of(run, address, time, entry.logged.as_ref());
        if let Some((image, svma)) = &entry.image {
            entry.functions = loaded.images.functions(image, *svma, exact);
        } else if let Some(of) = self.tables.run(run) {
            entry.functions = loaded.images.compiled_functions(of, address, exact);
        }
        entry
    }

    #[inline]
    fn thread(&mut self, data: &Data<'_>, place: Place) -> Option<&'t Thread> {
        let key = (data.run?, data.sequence?.number());
        let slot = &mut self.threads[key.1.0 as usize % THREADS];
        let names = match slot {
            Some(known) if known.key == key => known.names,
            _ => {
                let names = self.tables.names_of(key.0, key.1);
                *slot = Some(Names { key, names });
                names
            }
        };
        latest(names, place)
    }

    /// The call site's place among those at hand.
    #[inline]
    fn site(&mut self, data: &Data<'_>) -> usize {
        let key = (data.magic, data.format, data.file, data.run);
        let spread = data.format.map_or(0, |format| format.0)
            ^ data.magic.map_or(0, |magic| magic.0)
            ^ data.run.map_or(0, |run| run.0.rotate_left(17));
        let slot = (spread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SITES;
        let given = data.format_text.is_some() || data.file_text.is_some();
        let hit = self.sites[slot]
            .as_ref()
            .is_some_and(|site| site.key == key);
        if !hit || given {
            let format = self.text(data, data.format, data.format_text);
            let file = self.text(data, data.file, data.file_text);
            // Texts that the record brings along are its own.
            let key = if given { (None, None, None, None) } else { key };
            let tables = self.tables;
            self.sites[slot] = Some(Site {
                key,
                format,
                file,
                origin: origin(tables, data),
                image: data.magic.and_then(|magic| tables.image(magic)),
                run: data.run.and_then(|run| tables.run(run)),
            });
        }
        slot
    }

    fn text(
        &mut self,
        data: &Data<'_>,
        address: Option<Svma>,
        given: Option<&[u8]>,
    ) -> Option<Arc<Known>> {
        if let Some(given) = given {
            return Some(self.texts.given(given));
        }
        let address = address?;
        if let Some(id) = self.tables.string_of(&data.front, address) {
            return Some(self.texts.logged(self.tables, id));
        }
        // Which no logdef gave, so it is in the image itself, if anywhere.
        let (magic, loaded) = (data.magic?, &mut self.images);
        self.texts
            .rebuilt((magic, address), || loaded.string_at(magic, address))
    }
}

/// What the log says of the call site of a record, if that stands in no image.
fn origin<'t>(tables: &'t Tables, data: &Data<'_>) -> Option<&'t Origin> {
    let format = data.format.filter(|at| at.text_number().is_some())?;
    let (_, origin) = tables.numbered(data.run?, format)?;
    Some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::images::Function;
    use logdef_wire::Record;
    use logdef_wire::record::{Module, Preamble};

    /// Each image has code from 0x1000 to 0x2000.
    #[derive(Debug)]
    struct Small;

    impl Images for Small {
        fn string_at(&mut self, _: &Image, _: Svma) -> Option<Vec<u8>> {
            None
        }

        fn functions(&mut self, _: &Image, _: Svma, _: bool) -> Arc<[Function]> {
            Arc::default()
        }

        fn is_code(&mut self, _: &Image, address: Svma) -> bool {
            (0x1000..0x2000).contains(&address.0)
        }
    }

    const RUN: Run = Run(1);

    /// Tables with an image for each load bias.
    fn loaded(biases: &[u64]) -> Tables {
        let mut tables = Tables::new(1 << 20);
        for (number, bias) in biases.iter().enumerate() {
            let preamble = Preamble {
                run: Some(RUN),
                magic: Some(Magic(number as u64)),
                load_bias: Some(*bias),
                ..Preamble::default()
            };
            tables.add(&Record::Preamble(preamble), PLACE);
        }
        tables
    }

    const PLACE: Place = Place {
        input: 0,
        offset: 0,
    };

    fn image_at(tables: &Tables, address: u64) -> Option<(Option<Magic>, Svma)> {
        let mut resolver = Resolver::new(tables, Small);
        let entry = resolver.stack_entry(Some(RUN), Avma(address), Some(9), PLACE, false);
        entry.image.map(|(image, svma)| (image.magic, svma))
    }

    #[test]
    fn an_address_without_a_logdef_is_in_the_image_whose_code_it_is() {
        let tables = loaded(&[0x50000, 0x90000]);
        let found = |number, svma| Some((Some(Magic(number)), Svma(svma)));
        assert_eq!(image_at(&tables, 0x51234), found(0, 0x1234));
        assert_eq!(image_at(&tables, 0x91234), found(1, 0x1234));
        assert_eq!(image_at(&tables, 0x52000), None);
    }

    /// No image is at hand; each question about one is counted.
    #[derive(Debug)]
    struct Absent<'c>(&'c std::cell::Cell<u32>);

    impl Images for Absent<'_> {
        fn string_at(&mut self, _: &Image, _: Svma) -> Option<Vec<u8>> {
            None
        }

        fn functions(&mut self, _: &Image, _: Svma, _: bool) -> Arc<[Function]> {
            Arc::default()
        }

        fn is_found(&mut self, _: &Image) -> bool {
            self.0.set(self.0.get() + 1);
            false
        }

        fn is_code(&mut self, _: &Image, _: Svma) -> bool {
            self.0.set(self.0.get() + 1);
            false
        }
    }

    #[test]
    fn images_that_are_not_at_hand_are_asked_for_once_whatever_stacks_come() {
        let biases: Vec<u64> = (0..500).map(|bias| bias << 20).collect();
        let tables = loaded(&biases);
        let asked = std::cell::Cell::new(0);
        let mut resolver = Resolver::new(&tables, Absent(&asked));
        for address in 0..1000 {
            let address = Avma(0x7777 * address);
            resolver.stack_entry(Some(RUN), address, Some(9), PLACE, false);
        }
        assert_eq!(asked.get(), 500);
    }

    #[test]
    fn an_address_that_may_be_in_two_images_or_was_in_one_that_went_is_in_none() {
        let tables = loaded(&[0x50000, 0x50800]);
        assert_eq!(image_at(&tables, 0x51900), None);
        assert!(image_at(&tables, 0x51100).is_some());

        let mut tables = loaded(&[0x50000]);
        let gone = Module {
            run: Some(RUN),
            start: Some(Avma(0x50000)),
            size: Some(0x10000),
            time: Some(5),
            unloaded: Some(true),
            ..Module::default()
        };
        tables.add(&Record::Module(gone), PLACE);
        assert_eq!(image_at(&tables, 0x51234), None);
    }
}
