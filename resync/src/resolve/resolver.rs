//! A record and all that its numbers stand for: strings from the tables or from
//! the image, thread, process, backtrace. Never fails: what is not known is
//! absent, and each text says where it comes from.

use crate::recover::recovery::Recovery;
use crate::recover::standing::{Standing, Standings};
use crate::recover::tables::{
    BacktraceEntry, ContextKeys, Image, Origin, Place, Provenance, RunInfo, StringId, Tables,
    Thread, latest,
};
use crate::render::CompiledFormat;
use crate::resolve::images::{Images, NoImages};
use crate::resolve::resolved::{Resolved, Text, key_of};
use crate::resolve::stack::{StackEntry, leave_expansion_out, leave_loggers_out};
use logdef_wire::record::Data;
use logdef_wire::{Array, Avma, Description, Magic, Run, Svma, ThreadNumber, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Call sites whose look-ups are at hand: a power of two.
const SITES: usize = 1024;
/// Threads whose names are at hand: a power of two.
const THREADS: usize = 64;
/// Strings read from images, images and load biases that are remembered.
const REMEMBERED: usize = 1 << 16;
/// Bytes that texts take as they are at hand, compiled. When there are more, all are forgotten.
const TEXTS: usize = 24 << 20;
/// A longer text that a record brings along is not remembered.
const LONG: usize = 1 << 20;

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
    images: Box<dyn Images + 't>,
    /// Strings of the tables first, by their index, then those that records and
    /// images gave.
    texts: Vec<Option<Arc<Known>>>,
    found: HashMap<(Magic, Svma, Option<Run>), Option<Arc<Known>>>,
    inline: HashMap<Arc<[u8]>, Arc<Known>>,
    /// Bytes that these take, roughly.
    taken: usize,
    sites: Vec<Option<Site<'t>>>,
    threads: Vec<Option<Names<'t>>>,
    nothing: Arc<Known>,
    /// Images that no preamble describes, as far as they could be found.
    identified: HashMap<Magic, Image>,
    /// Load biases, as far as they are known or could be worked out.
    biases: HashMap<(Run, Magic), Option<u64>>,
    loaded: HashMap<Run, Arc<[(Image, u64)]>>,
}

/// A text, compiled when it is first used as a format.
#[derive(Debug)]
struct Known {
    bytes: Arc<[u8]>,
    description: Arc<[u8]>,
    provenance: Provenance,
    compiled: std::sync::OnceLock<Option<CompiledFormat>>,
}

/// What knows how far records can be trusted.
#[derive(Clone, Copy, Debug)]
enum Judge<'t> {
    Nobody,
    Recovery(&'t Recovery),
    Standings(&'t Standings),
}

impl Known {
    fn new(bytes: Arc<[u8]>, description: Arc<[u8]>, provenance: Provenance) -> Arc<Known> {
        Arc::new(Known {
            bytes,
            description,
            provenance,
            compiled: std::sync::OnceLock::new(),
        })
    }

    /// Bytes that it takes, roughly, once it is compiled.
    fn memory(&self) -> usize {
        let is_directive = |byte: &&u8| matches!(byte, b'%' | b'{');
        let directives = self.bytes.iter().filter(is_directive).count();
        512 + 2 * self.bytes.len() + CompiledFormat::DIRECTIVE * directives
    }

    /// None for a template in a grammar that is not known here.
    fn compiled(&self) -> Option<&CompiledFormat> {
        let compile = || CompiledFormat::described(&self.bytes, self.description());
        self.compiled.get_or_init(compile).as_ref()
    }

    fn description(&self) -> Description<'_> {
        Description::of_format(&self.description, &self.bytes)
    }
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
            images: Box::new(images),
            texts: vec![None; tables.string_count()],
            found: HashMap::new(),
            inline: HashMap::new(),
            taken: 0,
            sites: vec![None; SITES],
            threads: vec![None; THREADS],
            nothing: Known::new(Arc::default(), Arc::default(), Provenance::Missing),
            identified: HashMap::new(),
            biases: HashMap::new(),
            loaded: HashMap::new(),
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
        self.images.complaints()
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
        entry.image = self.image_of(run, address, time, entry.logged.as_ref());
        if let Some((image, svma)) = &entry.image {
            entry.functions = self.images.functions(image, *svma, exact);
        } else if let Some(of) = self.tables.run(run) {
            entry.functions = self.images.compiled_functions(of, address, exact);
        }
        entry
    }

    /// The image that holds an address: by its logdef, else by the modules, else
    /// the one of those that log in which it is code.
    fn image_of(
        &mut self,
        run: Run,
        address: Avma,
        time: Option<u64>,
        logged: Option<&BacktraceEntry>,
    ) -> Option<(Image, Svma)> {
        if let Some(logged) = logged
            && let (Some(path), Some(bias)) = (&logged.fname, logged.load_bias)
        {
            let image = Image {
                path: path.clone(),
                build_id: logged.build_id.clone(),
                ..Image::default()
            };
            let image = self.known_image(run, image);
            return Some((image, Svma(address.0.wrapping_sub(bias))));
        }
        if let Some(module) = self.tables.module(run, address, time)
            && let Some(bias) = module.load_bias
        {
            let image = self.known_image(run, module.image.clone());
            return Some((image, Svma(address.0.wrapping_sub(bias))));
        }
        // The module that was mapped there before no longer is.
        if self.tables.has_module(run, address) {
            return None;
        }
        let loaded = self.loaded(run);
        let mut claims = loaded.iter().filter_map(|(image, bias)| {
            let svma = Svma(address.0.wrapping_sub(*bias));
            let is_code = self.images.is_code(image, svma);
            is_code.then(|| (image.clone(), svma))
        });
        let claim = claims.next()?;
        // One of them was unloaded, and nothing shows which was loaded at the time.
        claims.next().is_none().then_some(claim)
    }

    /// The images of a run that are at hand, with their load biases. A log may name thousands that
    /// are not, so they are looked for once.
    fn loaded(&mut self, run: Run) -> Arc<[(Image, u64)]> {
        if let Some(known) = self.loaded.get(&run) {
            return known.clone();
        }
        let mut loaded = Vec::new();
        for magic in self.tables.images_of(run) {
            let Some(bias) = self.load_bias(run, magic) else {
                continue;
            };
            let image = self.image(magic);
            if self.images.is_found(&image) {
                loaded.push((image, bias));
            }
        }
        if self.loaded.len() >= REMEMBERED {
            self.loaded.clear();
        }
        let loaded: Arc<[_]> = loaded.into();
        self.loaded.insert(run, loaded.clone());
        loaded
    }

    /// The image of a magic: as a preamble describes it, else what is at hand.
    fn image(&mut self, magic: Magic) -> Image {
        if let Some(known) = self.tables.image(magic) {
            return known.clone();
        }
        if self.identified.len() >= REMEMBERED {
            self.identified.clear();
        }
        let images = &mut self.images;
        let found = self.identified.entry(magic).or_insert_with(|| {
            let found = images.identify(magic);
            found.unwrap_or_else(|| Image::of_magic(magic))
        });
        found.clone()
    }

    /// The load bias of an image that logged: from a preamble of the run, else from
    /// where its records were logged.
    fn load_bias(&mut self, run: Run, magic: Magic) -> Option<u64> {
        if let Some(bias) = self.tables.load_bias(run, magic) {
            return Some(bias);
        }
        if let Some(known) = self.biases.get(&(run, magic)) {
            return *known;
        }
        let image = self.image(magic);
        let calls = self.tables.callers(run, magic);
        let bias = self.images.load_bias(&image, calls);
        if self.biases.len() >= REMEMBERED {
            self.biases.clear();
        }
        self.biases.insert((run, magic), bias);
        bias
    }

    /// The same image as a preamble of the run describes it, which knows size and
    /// digest too.
    fn known_image(&self, run: Run, image: Image) -> Image {
        let magics = self.tables.run(run).map_or(&[][..], |run| &run.images);
        let mut known = magics.iter().filter_map(|magic| self.tables.image(*magic));
        let same = |known: &&Image| match (&known.build_id, &image.build_id) {
            (Some(known), Some(wanted)) => known == wanted,
            _ => known.path == image.path,
        };
        known.find(same).cloned().unwrap_or(image)
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
            return Some(self.given_text(given));
        }
        let address = address?;
        match self.tables.string_of(&data.front, address) {
            Some(id) => Some(self.logged(id)),
            None => self.rebuilt(data.magic?, address),
        }
    }

    fn logged(&mut self, id: StringId) -> Arc<Known> {
        if let Some(known) = &self.texts[Tables::index(id)] {
            return known.clone();
        }
        let (bytes, description) = self.tables.shared_text(id);
        let known = Known::new(bytes, description, Provenance::Logged);
        self.make_room_for(&known);
        self.texts[Tables::index(id)] = Some(known.clone());
        known
    }

    /// Forgets all texts if another would be too much.
    fn make_room_for(&mut self, known: &Known) {
        let memory = known.memory();
        if self.taken + memory > TEXTS {
            self.texts.fill(None);
            self.inline.clear();
            self.found.clear();
            self.taken = 0;
        }
        self.taken += memory;
    }

    fn given_text(&mut self, given: &[u8]) -> Arc<Known> {
        if let Some(known) = self.inline.get(given) {
            return known.clone();
        }
        let bytes: Arc<[u8]> = given.into();
        let known = Known::new(bytes.clone(), Arc::default(), Provenance::Logged);
        if given.len() <= LONG {
            self.make_room_for(&known);
            self.inline.insert(bytes, known.clone());
        }
        known
    }

    /// The string in the image itself, which no logdef gave.
    fn rebuilt(&mut self, magic: Magic, address: Svma) -> Option<Arc<Known>> {
        let key = (magic, address, None);
        if let Some(found) = self.found.get(&key) {
            return found.clone();
        }
        if self.found.len() >= REMEMBERED {
            self.found.clear();
        }
        let image = self.image(magic);
        let string = self.images.string_at(&image, address);
        let known = string.map(|string| {
            let description = self.images.description_at(&image, address);
            Known::new(string.into(), description.into(), Provenance::Rebuilt)
        });
        if let Some(known) = &known {
            self.make_room_for(known);
        }
        self.found.insert(key, known.clone());
        known
    }
}

/// What the log says of the call site of a record, if that stands in no image.
fn origin<'t>(tables: &'t Tables, data: &Data<'_>) -> Option<&'t Origin> {
    let format = data.format.filter(|at| at.text_number().is_some())?;
    let (_, origin) = tables.numbered(data.run?, format)?;
    Some(origin)
}

impl Known {
    fn text(&self) -> Text<'_> {
        Text {
            bytes: (self.provenance != Provenance::Missing).then_some(&*self.bytes),
            provenance: self.provenance,
        }
    }
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
    fn texts_that_records_bring_along_are_forgotten_when_they_are_many() {
        let tables = Tables::new(1 << 20);
        let mut resolver = Resolver::without_images(&tables);
        let mut most = 0;
        for number in 0..1000 {
            let text = format!("{number:60000}");
            let data = Data {
                format_text: Some(text.as_bytes()),
                ..Data::default()
            };
            let mut message = Vec::new();
            resolver.resolve(&data, PLACE).message(&mut message);
            assert_eq!(message.len(), 60_000);
            let held: usize = resolver.inline.keys().map(|text| text.len()).sum();
            most = most.max(held);
        }
        assert!(most <= TEXTS, "{most}");
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
