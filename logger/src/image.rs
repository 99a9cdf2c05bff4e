//! The images of the process: the program and its shared libraries, whether
//! they log or only have their code in backtraces. Found without lock or
//! allocation, so that it may happen in a signal handler. Knows nothing of
//! threads and sinks.

pub(crate) mod code;
mod digest;
pub(crate) mod digest_cache;
mod maps;

use crate::published::Published;
use crate::sys;
use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use digest::Fingerprint;
use logdef_unwind::{Module, modules};
use logdef_wire::{Magic, Svma};
use sha1::{Digest, Sha1};

/// The description of an image, in memory that is never freed.
pub(crate) struct Image {
    start: usize,
    end: usize,
    load_bias: usize,
    is_main_program: bool,
    /// Of the name by which the loader knows it.
    name_hash: u64,
    path: [u8; libc::PATH_MAX as usize],
    path_len: u16,
    build_id: [u8; 64],
    build_id_len: u8,
    /// Where the build ID is mapped, if that is in the first page.
    build_id_at: usize,
    identity: Published<Identity>,
    /// Since when the image is known to be mapped; 0 if another one took its
    /// place.
    since: AtomicU64,
    /// When another one was found in its place.
    gone: AtomicU64,
    has_exports: AtomicBool,
}

// SAFETY: integers, bytes, a flag that is off, and a null pointer to what is not yet
// published.
unsafe impl sys::Zeroed for Image {}

/// What names the table of an image's logdefs. Decided once.
pub(crate) struct Identity {
    pub magic: Magic,
    /// Where the file found is the one that is mapped.
    pub fingerprint: Option<Fingerprint>,
}

impl Image {
    /// First address.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Bytes from the first address to the last.
    pub fn size(&self) -> usize {
        self.end - self.start
    }

    /// Full path of the image file.
    pub fn path(&self) -> &[u8] {
        &self.path[..self.path_len as usize]
    }

    /// GNU build ID.
    pub fn build_id(&self) -> Option<&[u8]> {
        (self.build_id_len > 0).then(|| &self.build_id[..self.build_id_len as usize])
    }

    /// Runtime address minus link-time address.
    pub fn load_bias(&self) -> usize {
        self.load_bias
    }

    /// Whether it is the program and not a library.
    pub fn is_main_program(&self) -> bool {
        self.is_main_program
    }

    /// From its first address to its last.
    pub fn range(&self) -> core::ops::Range<usize> {
        self.start..self.end
    }

    /// Whether `address` lies between the image's ends.
    pub fn contains(&self, address: usize) -> bool {
        self.range().contains(&address)
    }

    /// The link-time address of a string in read-only memory of the image; `None` for any
    /// other string.
    pub fn address_of(&self, string: &CStr) -> Option<Svma> {
        let at = string.as_ptr().addr();
        let module = modules::find(at)?;
        let read_only = module.is_read_only(at, string.count_bytes() + 1);
        (read_only && self.is(&module)).then(|| Svma(at.wrapping_sub(self.load_bias) as u64))
    }

    /// The image's magic, if anybody has asked for its identity.
    pub fn known_magic(&self) -> Option<Magic> {
        self.identity.get().map(|identity| identity.magic)
    }

    /// What names the image's table. The first to ask has the file's digest
    /// taken, unless that is in a signal handler: it can take as long as the file
    /// takes to read. Then, and where there is no file, the build ID must do.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.get().or_else(|| {
            let new = sys::allocate_for(Identity::of(self)).ok()?;
            Some(self.identity.publish_first(new))
        })
    }

    /// Since when the image is known to be where it is; `None` if it was not
    /// yet seen in a backtrace, or another was seen in its place.
    pub fn since(&self) -> Option<u64> {
        let since = self.since.load(Ordering::Acquire);
        (since > 0).then_some(since)
    }

    /// When another image was seen in its place.
    pub fn gone(&self) -> Option<u64> {
        let gone = self.gone.load(Ordering::Acquire);
        (gone > 0 && self.since().is_none()).then_some(gone)
    }

    /// It is where it is since `now`.
    pub fn arrive(&self, now: u64) {
        self.since.store(now.max(1), Ordering::Release);
    }

    /// Another is in its place since `now`.
    pub fn depart(&self, now: u64) {
        self.gone.store(now.max(1), Ordering::Release);
        self.since.store(0, Ordering::Release);
    }

    /// Whether two images cannot be mapped at the same time.
    pub fn overlaps(&self, other: &Image) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether an index of the exported symbols was tried to build.
    pub fn has_exports(&self) -> &AtomicBool {
        &self.has_exports
    }

    /// Whether `module` is this image, and not another that was mapped in its
    /// place after it was unloaded.
    fn is(&self, module: &Module) -> bool {
        self.start == module.start()
            && self.end == module.end()
            && self.load_bias == module.load_bias()
            && self.has_build_id_of(module)
            && (self.is_main_program || self.name_hash == hash(module.name().to_bytes()))
    }

    fn has_build_id_of(&self, module: &Module) -> bool {
        // Looking for the notes takes long. Where they were, they are, or
        // something else is: in either case in the page of the module's own
        // header.
        if self.build_id_at != 0 {
            let at = ptr::with_exposed_provenance(self.build_id_at);
            // SAFETY: within the first page of a loaded module, where `describe`
            // found the ID; that page is readable, since the loader's own tables
            // are read there to describe a module.
            let bytes = unsafe { core::slice::from_raw_parts(at, self.build_id_len as usize) };
            return self.build_id() == Some(bytes);
        }
        self.build_id() == module.build_id().map(|id| &id[..id.len().min(64)])
    }

    /// Writes down what `module` is into zeroed memory.
    fn describe(&mut self, module: &Module) {
        self.start = module.start();
        self.end = module.end();
        self.load_bias = module.load_bias();
        self.is_main_program = module.is_main_program();
        if let Some(id) = module.build_id() {
            let len = id.len().min(self.build_id.len());
            self.build_id[..len].copy_from_slice(&id[..len]);
            self.build_id_len = len as u8;
            let at = id.as_ptr().expose_provenance();
            if self.start <= at && at + len <= self.start + PAGE {
                self.build_id_at = at;
            }
        }
        let name = module.name().to_bytes();
        self.name_hash = hash(name);
        let len = if self.is_main_program {
            sys::read_link(c"/proc/self/exe", &mut self.path).map_or(0, <[u8]>::len)
        } else if name.contains(&b'/') && !name.starts_with(b"/") {
            // Relative to a directory that was the current one some time. The
            // kernel knows better.
            let file = maps::file_at(self.start, &mut self.path).ok().flatten();
            file.map_or(0, |file| file.path_len)
        } else {
            0
        };
        self.path_len = len as u16;
        if len == 0 {
            let len = name.len().min(self.path.len());
            self.path[..len].copy_from_slice(&name[..len]);
            self.path_len = len as u16;
        }
    }

    /// The module as it is mapped now, if it still is.
    fn module(&self) -> Option<Module> {
        modules::find(self.start).filter(|module| self.is(module))
    }
}

impl Identity {
    fn of(image: &Image) -> Identity {
        let module = if crate::handler::is_running() {
            None
        } else {
            image.module()
        };
        let fingerprint =
            module.and_then(|module| digest::of(&module, image.build_id()).ok().flatten());
        let magic = match (fingerprint, image.build_id()) {
            (Some(Fingerprint { size, digest }), _) => Magic::of_digest(size, &digest),
            (None, Some(id)) => Magic::of_digest(0, &Sha1::digest(id)),
            (None, None) => Some(Magic(sys::random())),
        };
        Identity {
            magic: magic.unwrap_or_default(),
            fingerprint,
        }
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ *byte as u64).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The smallest page there is.
const PAGE: usize = 4096;

/// The images of a process, and the numbers of their call sites and of the files
/// these are in.
pub(crate) struct Images {
    images: [Published<Image>; Images::MAX],
    files: [AtomicU64; Images::MAX_FILES],
    /// Sites that were given a number.
    numbered_sites: AtomicU32,
}

impl Images {
    /// Images beyond these go unnamed.
    pub const MAX: usize = 255;
    /// File names beyond these are written again each time.
    pub const MAX_FILES: usize = 4096;

    pub const fn new() -> Images {
        Images {
            images: [const { Published::new() }; Images::MAX],
            files: [const { AtomicU64::new(0) }; Images::MAX_FILES],
            numbered_sites: AtomicU32::new(0),
        }
    }

    /// The image at an index that [`Images::of`] gave.
    pub fn get(&self, index: u8) -> Option<&Image> {
        self.images.get(index as usize)?.get()
    }

    /// The images found so far, and their indexes.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &Image)> {
        let images = (0..Images::MAX as u8).map(|index| (index, self.get(index)));
        images.map_while(|(index, image)| Some((index, image?)))
    }

    /// The image that holds `address`, and its index.
    pub fn of(&self, address: usize) -> Option<(u8, &Image)> {
        self.of_module(&modules::find(address)?)
    }

    /// The image that a module is, and its index.
    pub fn of_module(&self, module: &Module) -> Option<(u8, &Image)> {
        let mut described = None;
        for (index, slot) in self.images.iter().enumerate() {
            let image = match slot.get() {
                Some(image) => image,
                None => {
                    let new = match described {
                        Some(new) => new,
                        None => *described.insert(describe(module)?),
                    };
                    // Another thread may have come first, with another image; then
                    // that is looked at, and the search continues with the next slot.
                    slot.publish_first(new)
                }
            };
            if image.is(module) {
                return Some((index as u8, image));
            }
        }
        self.take_over(module)
    }

    /// Gives a module the place of one that is gone and never logged. A program
    /// that loads and unloads libraries for ever would fill the table otherwise.
    #[cold]
    fn take_over(&self, module: &Module) -> Option<(u8, &Image)> {
        let mut old = self.iter();
        let (index, old) =
            old.find(|(_, old)| old.gone().is_some() && old.known_magic().is_none())?;
        let new = describe(module)?;
        let slot = &self.images[index as usize];
        slot.replace_if(old, new).then_some((index, new))
    }

    /// A number for a call site.
    pub fn number_site(&self) -> u32 {
        crate::call::site::FIRST_ID
            .wrapping_add(self.numbered_sites.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for the file name at `address` of an image.
    pub fn file(&self, image: u8, address: Svma) -> Option<u16> {
        let key = (image as u64 + 1) << 56 | address.0 & ((1 << 56) - 1);
        let start = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        for step in 0..64 {
            let index = (start + step) as usize % Images::MAX_FILES;
            let found =
                self.files[index].compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed);
            match found {
                Ok(_) => return Some(index as u16),
                Err(other) if other == key => return Some(index as u16),
                Err(_) => {}
            }
        }
        None
    }
}

fn describe(module: &Module) -> Option<&'static Image> {
    let image = sys::allocate_zeroed::<Image>().ok()?;
    image.describe(module);
    Some(image)
}

#[cfg(test)]
mod tests {
    use super::*;

    static HERE: u8 = 0;

    #[test]
    fn the_program_is_found_with_its_digest() {
        modules::refresh();
        let images = Images::new();
        let here = &raw const HERE;
        let (index, image) = images.of(here.addr()).unwrap();
        let exe = std::env::current_exe().unwrap();
        assert_eq!(image.path(), exe.as_os_str().as_encoded_bytes());
        let bytes = std::fs::read(&exe).unwrap();
        let digest: [u8; 20] = Sha1::digest(&bytes).into();
        let size = bytes.len() as u64;
        assert_eq!(image.known_magic(), None);
        let identity = image.identity().unwrap();
        assert_eq!(identity.fingerprint, Some(Fingerprint { size, digest }));
        assert_eq!(Magic::of_digest(size, &digest), Some(identity.magic));
        assert_eq!(images.of(here.addr()).unwrap().0, index);
        let again = images.get(index).unwrap();
        assert_eq!(again.known_magic(), Some(identity.magic));
        assert!(images.get(index + 1).is_none());
    }

    #[test]
    #[cfg(not(target_feature = "crt-static"))]
    fn a_shared_library_is_another_image_with_its_own_file() {
        let images = Images::new();
        let libc = libc::getpid as *const () as usize;
        let (_, image) = images.of(libc).unwrap();
        let path = std::str::from_utf8(image.path()).unwrap();
        assert!(path.contains("libc"), "{path}");
        let size = std::fs::metadata(path).unwrap().len();
        let identity = image.identity().unwrap();
        assert_eq!(identity.fingerprint.unwrap().size, size);
        assert_ne!(images.of((&raw const HERE).addr()).unwrap().0, 0);
    }

    #[test]
    fn strings_of_the_image_have_link_time_addresses_and_others_none() {
        modules::refresh();
        let images = Images::new();
        let (_, image) = images.of((&raw const HERE).addr()).unwrap();
        let literal = c"a literal of this program";
        let address = image.address_of(literal).unwrap();
        assert_eq!(
            address.0,
            (literal.as_ptr().addr() - image.load_bias()) as u64
        );
        let built = std::ffi::CString::new("built at run time").unwrap();
        assert_eq!(image.address_of(&built), None);
    }

    #[test]
    fn file_names_keep_their_numbers() {
        let images = Images::new();
        let first = images.file(0, Svma(0x2000)).unwrap();
        assert_eq!(images.file(0, Svma(0x2000)), Some(first));
        assert_ne!(images.file(1, Svma(0x2000)), Some(first));
    }
}
