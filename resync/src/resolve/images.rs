//! What a log needs from images, as one trait: the string at a link-time
//! address, the functions and lines at a code address. The symbolizer answers
//! through it; without images nothing is known, and that is an answer too.

use crate::recover::tables::{Image, RunInfo};
use logdef_symbolizer::{AddressKind, Digest, Fingerprint, JitCode, Locator, LogCall};
use logdef_wire::{Avma, Magic, Svma};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

pub use logdef_symbolizer::StackFrame as Function;

/// The longest string that is read from an image.
const LONGEST: usize = 1 << 16;
/// Addresses whose functions are remembered.
const REMEMBERED: usize = 1 << 16;
/// Images that are looked for; of more, nothing is known.
const IMAGES: usize = 1 << 12;
/// Complaints that are kept until they are asked for, and of all.
const COMPLAINTS: usize = 1 << 10;

/// Answers questions about images.
pub trait Images: fmt::Debug {
    /// The string at a link-time address of the image that logged, without its
    /// NUL. Only the very image will do.
    fn string_at(&mut self, image: &Image, address: Svma) -> Option<Vec<u8>>;

    /// Grammar and names of the format at that address, as [`logdef_wire::Description`]
    /// reads them; empty if the image has none.
    fn description_at(&mut self, image: &Image, address: Svma) -> Vec<u8> {
        let _ = (image, address);
        Vec::new()
    }

    /// The functions at an address of code in an image, innermost first; all but
    /// the last are inlined. Empty if nothing is known.
    fn functions(&mut self, image: &Image, address: Svma, exact: bool) -> Arc<[Function]>;

    /// The function at an address of code that a process compiled while it ran, by the list that
    /// its compiler left. Empty if there is none.
    fn compiled_functions(&mut self, of: &RunInfo, address: Avma, exact: bool) -> Arc<[Function]> {
        let _ = (of, address, exact);
        Arc::default()
    }

    /// Whether anything can be known of the code of an image.
    fn is_found(&mut self, image: &Image) -> bool {
        let _ = image;
        true
    }

    /// Whether an address of an image is one of code.
    fn is_code(&mut self, image: &Image, address: Svma) -> bool {
        let _ = (image, address);
        false
    }

    /// The full identity of an image of which only the magic is known.
    fn identify(&mut self, magic: Magic) -> Option<Image> {
        let _ = magic;
        None
    }

    /// Runtime address minus link-time address of an image in a process, from some
    /// records that the process logged from it.
    fn load_bias(&mut self, image: &Image, calls: &[LogCall]) -> Option<u64> {
        let _ = (image, calls);
        None
    }

    /// What went wrong with images, a line each, since this was asked last.
    fn complaints(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Images that outlive the resolvers that use them.
impl<I: Images + ?Sized> Images for &mut I {
    fn string_at(&mut self, image: &Image, address: Svma) -> Option<Vec<u8>> {
        (**self).string_at(image, address)
    }

    fn description_at(&mut self, image: &Image, address: Svma) -> Vec<u8> {
        (**self).description_at(image, address)
    }

    fn functions(&mut self, image: &Image, address: Svma, exact: bool) -> Arc<[Function]> {
        (**self).functions(image, address, exact)
    }

    fn compiled_functions(&mut self, of: &RunInfo, address: Avma, exact: bool) -> Arc<[Function]> {
        (**self).compiled_functions(of, address, exact)
    }

    fn is_found(&mut self, image: &Image) -> bool {
        (**self).is_found(image)
    }

    fn is_code(&mut self, image: &Image, address: Svma) -> bool {
        (**self).is_code(image, address)
    }

    fn identify(&mut self, magic: Magic) -> Option<Image> {
        (**self).identify(magic)
    }

    fn load_bias(&mut self, image: &Image, calls: &[LogCall]) -> Option<u64> {
        (**self).load_bias(image, calls)
    }

    fn complaints(&mut self) -> Vec<String> {
        (**self).complaints()
    }
}

/// No images at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoImages;

impl Images for NoImages {
    fn string_at(&mut self, _: &Image, _: Svma) -> Option<Vec<u8>> {
        None
    }

    fn functions(&mut self, _: &Image, _: Svma, _: bool) -> Arc<[Function]> {
        Arc::default()
    }
}

/// Images that a locator finds, each looked for once.
pub struct LocatedImages {
    locator: Locator,
    strings: HashMap<Image, Option<logdef_symbolizer::Image>>,
    symbols: HashMap<Image, Option<logdef_symbolizer::Image>>,
    functions: HashMap<(Image, Svma, bool), Arc<[Function]>>,
    /// By process and when it opened its log.
    compiled: HashMap<(u64, Option<u64>), Option<JitCode>>,
    /// Bytes of these lists.
    compiled_size: usize,
    complaints: Vec<String>,
    said: HashSet<String>,
}

impl fmt::Debug for LocatedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocatedImages")
            .field("locator", &self.locator)
            .finish_non_exhaustive()
    }
}

impl LocatedImages {
    /// Images where `locator` looks.
    pub fn new(locator: Locator) -> LocatedImages {
        LocatedImages {
            locator,
            strings: HashMap::new(),
            symbols: HashMap::new(),
            functions: HashMap::new(),
            compiled: HashMap::new(),
            compiled_size: 0,
            complaints: Vec::new(),
            said: HashSet::new(),
        }
    }

    /// The very image, found once.
    fn same(&mut self, image: &Image) -> Option<&logdef_symbolizer::Image> {
        if !self.strings.contains_key(image) && self.strings.len() < IMAGES {
            let found = match image.magic {
                // No preamble describes it: only its magic is known.
                Some(magic) if *image == Image::of_magic(magic) => self.locator.by_magic(magic),
                _ => match self.locator.image(&image.path, &fingerprint(image)) {
                    Ok(found) => Some(found),
                    Err(error) => {
                        self.complain(&error);
                        None
                    }
                },
            };
            self.strings.insert(image.clone(), found);
            self.complain_of_many(self.strings.len());
        }
        self.strings.get(image)?.as_ref()
    }

    /// The image or its twin with the same addresses, to name its code.
    fn named(&mut self, image: &Image) -> Option<&logdef_symbolizer::Image> {
        if !self.symbols.contains_key(image) && self.symbols.len() < IMAGES {
            let found = self.locator.for_symbols(&image.path, &fingerprint(image));
            if let Err(error) = &found {
                self.complain(error);
            }
            self.symbols.insert(image.clone(), found.ok());
            self.complain_of_many(self.symbols.len());
        }
        self.symbols.get(image)?.as_ref()
    }

    fn complain(&mut self, error: &logdef_symbolizer::Error) {
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(error.to_string());
        }
    }

    fn complain_of_many(&mut self, images: usize) {
        if images == IMAGES {
            let line = format!("{IMAGES} images were looked for; nothing is read of any other");
            self.complaints.push(line);
        }
    }
}

impl Images for LocatedImages {
    fn string_at(&mut self, image: &Image, address: Svma) -> Option<Vec<u8>> {
        let found = self.same(image)?;
        // What a call site logs is known for sure; wrappers may log other constants.
        let string = found.call_sites().literal_at(address);
        let string = string.or_else(|| found.string_at(address, LONGEST));
        string.map(<[u8]>::to_vec)
    }

    fn description_at(&mut self, image: &Image, address: Svma) -> Vec<u8> {
        let found = self.same(image);
        found.map_or(Vec::new(), |found| {
            found.call_sites().description_at(address).to_vec()
        })
    }

    fn functions(&mut self, image: &Image, address: Svma, exact: bool) -> Arc<[Function]> {
        let key = (image.clone(), address, exact);
        if let Some(known) = self.functions.get(&key) {
            return known.clone();
        }
        let kind = kind(exact);
        let functions: Arc<[Function]> = match self.named(image) {
            Some(found) => found.symbolize(address, kind).frames().into(),
            None => Arc::default(),
        };
        if self.functions.len() >= REMEMBERED {
            self.functions.clear();
        }
        self.functions.insert(key, functions.clone());
        functions
    }

    fn compiled_functions(&mut self, of: &RunInfo, address: Avma, exact: bool) -> Arc<[Function]> {
        /// Bytes of lists that are at hand at once.
        const LISTS: usize = 64 << 20;

        let Some(pid) = of.pid else {
            return Arc::default();
        };
        let key = (pid, of.realtime);
        if !self.compiled.contains_key(&key) {
            if self.compiled_size >= LISTS || self.compiled.len() >= REMEMBERED {
                self.compiled.clear();
                self.compiled_size = 0;
            }
            let list = self.locator.jit_code(pid, of.realtime);
            self.compiled_size += list.as_ref().map_or(0, JitCode::size);
            self.compiled.insert(key, list);
        }
        let list = self.compiled.get(&key).and_then(Option::as_ref);
        let function = list.and_then(|list| list.at(address, kind(exact)));
        function.into_iter().collect()
    }

    fn is_found(&mut self, image: &Image) -> bool {
        self.named(image).is_some()
    }

    fn is_code(&mut self, image: &Image, address: Svma) -> bool {
        let found = self.named(image);
        found.is_some_and(|found| found.is_code(address))
    }

    fn identify(&mut self, magic: Magic) -> Option<Image> {
        let found = self.locator.by_magic(magic)?;
        let fingerprint = found.fingerprint();
        let image = Image {
            magic: Some(magic),
            path: found.path().as_os_str().as_bytes().to_vec(),
            size: fingerprint.size,
            digest: fingerprint.digest.map(|digest| digest.as_bytes().to_vec()),
            build_id: fingerprint.build_id,
        };
        if self.strings.len() < IMAGES {
            self.strings.insert(image.clone(), Some(found));
        }
        Some(image)
    }

    fn load_bias(&mut self, image: &Image, calls: &[LogCall]) -> Option<u64> {
        self.same(image)?.load_bias_of(calls)
    }

    fn complaints(&mut self) -> Vec<String> {
        let of_images = self.symbols.values().flatten();
        let lines = of_images.flat_map(logdef_symbolizer::Image::complaints);
        let lines: BTreeSet<String> = lines.chain(self.complaints.drain(..)).collect();
        // Images repeat what they said before.
        let said = &mut self.said;
        let is_new = |it: &String| said.len() < COMPLAINTS && said.insert(it.clone());
        lines.into_iter().filter(is_new).collect()
    }
}

fn kind(exact: bool) -> AddressKind {
    if exact {
        AddressKind::Exact
    } else {
        AddressKind::ReturnAddress
    }
}

fn fingerprint(image: &Image) -> Fingerprint {
    Fingerprint {
        size: image.size,
        digest: image.digest.as_deref().and_then(Digest::from_slice),
        build_id: image.build_id.clone(),
    }
}
