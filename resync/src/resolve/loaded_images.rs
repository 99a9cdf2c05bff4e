//! Which image holds an address of a run: as far as the log says, and else as far as the
//! images at hand show it.

use crate::recover::tables::{BacktraceEntry, Image, Tables};
use crate::resolve::REMEMBERED;
use crate::resolve::images::Images;
use logdef_wire::{Avma, Magic, Run, Svma};
use std::collections::HashMap;
use std::sync::Arc;

/// The images of all runs, and where they were loaded.
#[derive(Debug)]
pub(super) struct LoadedImages<'t> {
    tables: &'t Tables,
    pub(super) images: Box<dyn Images + 't>,
    /// Images that no preamble describes, as far as they could be found.
    identified: HashMap<Magic, Image>,
    /// Load biases, as far as they are known or could be worked out.
    biases: HashMap<(Run, Magic), Option<u64>>,
    loaded: HashMap<Run, Arc<[(Image, u64)]>>,
}

impl<'t> LoadedImages<'t> {
    pub(super) fn new(tables: &'t Tables, images: impl Images + 't) -> Self {
        LoadedImages {
            tables,
            images: Box::new(images),
            identified: HashMap::new(),
            biases: HashMap::new(),
            loaded: HashMap::new(),
        }
    }

    /// The image that holds an address: by its logdef, else by the modules, else
    /// the one of those that log in which it is code.
    pub(super) fn image_of(
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

    /// The string at an address of an image, and its description.
    pub(super) fn string_at(&mut self, magic: Magic, address: Svma) -> Option<(Vec<u8>, Vec<u8>)> {
        let image = self.image(magic);
        let string = self.images.string_at(&image, address)?;
        Some((string, self.images.description_at(&image, address)))
    }
}
