//! The images that log: the program and its shared libraries, each with the
//! fingerprint that names its logdef table. Found when the first call site of
//! an image is resolved, without lock or allocation, so that it may happen in
//! a signal handler. Knows nothing of threads and sinks.

use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use logdef_unwind::{Module, modules};
use logdef_wire::{Magic, Svma};
use sha1::{Digest, Sha1};

/// What is known of an image, in memory that is never given back.
pub(crate) struct Image {
    start: usize,
    end: usize,
    load_bias: usize,
    pub magic: Magic,
    /// Size and SHA-1 of the image file, where the file found is the one that
    /// is mapped.
    pub fingerprint: Option<(u64, [u8; 20])>,
    path: [u8; libc::PATH_MAX as usize],
    path_len: u16,
    build_id: [u8; 64],
    build_id_len: u8,
}

impl Image {
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

    /// The link-time address of a string of the image that nobody can write
    /// to; `None` for any other.
    pub fn address_of(&self, string: &CStr) -> Option<Svma> {
        let at = string.as_ptr().addr();
        let module = modules::find(at)?;
        let read_only = module.is_read_only(at, string.count_bytes() + 1);
        (read_only && self.is(&module)).then(|| Svma(at.wrapping_sub(self.load_bias) as u64))
    }

    /// Whether `module` is this image, and not another that was mapped in its
    /// place after it was unloaded.
    fn is(&self, module: &Module) -> bool {
        self.start == module.start()
            && self.end == module.end()
            && self.load_bias == module.load_bias()
            && self.build_id() == module.build_id().map(|id| &id[..id.len().min(64)])
            && (self.build_id_len > 0 || module.is_main_program() || {
                let name = module.name().to_bytes();
                self.path() == &name[..name.len().min(self.path.len())]
            })
    }

    /// Writes down what `module` is into zeroed memory.
    fn describe(&mut self, module: &Module) {
        self.start = module.start();
        self.end = module.end();
        self.load_bias = module.load_bias();
        if let Some(id) = module.build_id() {
            let len = id.len().min(self.build_id.len());
            self.build_id[..len].copy_from_slice(&id[..len]);
            self.build_id_len = len as u8;
        }
        if module.is_main_program() {
            if let Ok(path) = sys::read_link(c"/proc/self/exe", &mut self.path) {
                self.path_len = path.len() as u16;
            }
        } else {
            let name = module.name().to_bytes();
            let len = name.len().min(self.path.len());
            self.path[..len].copy_from_slice(&name[..len]);
            self.path_len = len as u16;
        }
        self.fingerprint = fingerprint(module).ok().flatten();
        self.magic = match (self.fingerprint, self.build_id()) {
            (Some((size, digest)), _) => Magic::of_digest(size, &digest).unwrap_or_default(),
            (None, Some(id)) => Magic::of_digest(0, &Sha1::digest(id)).unwrap_or_default(),
            (None, None) => Magic(sys::random()),
        };
    }
}

/// Size and SHA-1 of a module's file, if the file found is the one mapped.
fn fingerprint(module: &Module) -> Result<Option<(u64, [u8; 20])>, Errno> {
    let fd = if module.is_main_program() {
        // The link leads to the running file even when its name does not.
        sys::open(c"/proc/self/exe", libc::O_RDONLY, 0)?
    } else {
        sys::open(module.name(), libc::O_RDONLY | libc::O_NONBLOCK, 0)?
    };
    let fingerprint = fingerprint_of(fd, module);
    sys::close(fd);
    fingerprint
}

fn fingerprint_of(fd: c_int, module: &Module) -> Result<Option<(u64, [u8; 20])>, Errno> {
    let stat = sys::stat(fd)?;
    if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Ok(None);
    }
    if !module.is_main_program() && mapped_inode(module.start())? != Some(identity(&stat)) {
        return Ok(None);
    }
    let len = const { NonZeroUsize::new(256 << 10).unwrap() };
    let mut buffer = sys::Temporary::new(len)?;
    let mut sha1 = Sha1::new();
    let mut size = 0;
    loop {
        match sys::read(fd, buffer.bytes()) {
            Ok(0) => break,
            Ok(len) => {
                sha1.update(&buffer.bytes()[..len]);
                size += len as u64;
            }
            Err(Errno(libc::EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some((size, sha1.finalize().into())))
}

/// Device and inode.
type Identity = (u32, u32, u64);

fn identity(stat: &libc::stat) -> Identity {
    (
        libc::major(stat.st_dev),
        libc::minor(stat.st_dev),
        stat.st_ino,
    )
}

/// Device and inode of the file mapped at `address`, by the kernel's list of
/// mappings; lines `start-end perms offset major:minor inode path`.
fn mapped_inode(address: usize) -> Result<Option<Identity>, Errno> {
    let fd = sys::open(c"/proc/self/maps", libc::O_RDONLY, 0)?;
    let found = find_mapping(fd, address);
    sys::close(fd);
    found
}

fn find_mapping(fd: c_int, address: usize) -> Result<Option<Identity>, Errno> {
    let mut buffer = [0; 1024];
    let mut line = MapsLine::default();
    loop {
        let len = match sys::read(fd, &mut buffer) {
            Ok(0) => return Ok(None),
            Ok(len) => len,
            Err(Errno(libc::EINTR)) => continue,
            Err(error) => return Err(error),
        };
        for byte in &buffer[..len] {
            if *byte != b'\n' {
                line.push(*byte);
                continue;
            }
            if (line.number(0)..line.number(1)).contains(&(address as u64)) {
                let device = (line.number(4) as u32, line.number(5) as u32);
                return Ok(Some((device.0, device.1, line.inode)));
            }
            line = MapsLine::default();
        }
    }
}

/// One line of the list of mappings, read byte by byte without a buffer: the
/// numbers at its front, in order start, end, (perms), offset, major, minor,
/// inode.
#[derive(Default)]
struct MapsLine {
    /// start, end, unused, offset, major, minor.
    numbers: [u64; 6],
    inode: u64,
    field: usize,
}

impl MapsLine {
    fn number(&self, at: usize) -> u64 {
        self.numbers[at]
    }

    fn push(&mut self, byte: u8) {
        match byte {
            b'-' if self.field == 0 => self.field = 1,
            b':' if self.field == 4 => self.field = 5,
            b' ' if self.field < 7 => self.field += 1,
            // The inode is decimal, all else hexadecimal; 2 is the permissions.
            b'0'..=b'9' if self.field == 6 => {
                self.inode = self.inode * 10 + (byte - b'0') as u64;
            }
            _ if self.field < 6 && self.field != 2 => {
                if let Some(digit) = (byte as char).to_digit(16) {
                    let number = &mut self.numbers[self.field];
                    *number = *number << 4 | digit as u64;
                }
            }
            _ => {}
        }
    }
}

/// The images of a process, and the file names of their call sites.
pub(crate) struct Images {
    images: [AtomicPtr<Image>; Images::MAX],
    files: [AtomicU64; Images::MAX_FILES],
}

impl Images {
    /// Images beyond these go unnamed.
    pub const MAX: usize = 255;
    /// File names beyond these are written again each time.
    pub const MAX_FILES: usize = 4096;

    pub const fn new() -> Images {
        Images {
            images: [const { AtomicPtr::new(core::ptr::null_mut()) }; Images::MAX],
            files: [const { AtomicU64::new(0) }; Images::MAX_FILES],
        }
    }

    /// The image at an index that [`Images::of`] gave.
    pub fn get(&self, index: u8) -> Option<&Image> {
        let image = self.images.get(index as usize)?.load(Ordering::Acquire);
        // SAFETY: null, or published below and never given back.
        unsafe { image.as_ref() }
    }

    /// The image that holds `address`, and its index.
    pub fn of(&self, address: usize) -> Option<(u8, &Image)> {
        let module = modules::find(address)?;
        let mut described = None;
        for (index, slot) in self.images.iter().enumerate() {
            let mut found = slot.load(Ordering::Acquire);
            if found.is_null() {
                let new = match described {
                    Some(new) => new,
                    None => *described.insert(describe(&module)?),
                };
                // Another thread may have come first, with another image; then
                // it is looked at, and the search goes on with the next slot.
                match slot.compare_exchange(
                    core::ptr::null_mut(),
                    new,
                    Ordering::AcqRel,
                    Ordering::Acquire,
                ) {
                    Ok(_) => found = new,
                    Err(other) => found = other,
                }
            }
            // SAFETY: published above, here or by another thread, and never
            // given back.
            let image = unsafe { &*found };
            if image.is(&module) {
                return Some((index as u8, image));
            }
        }
        None
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

fn describe(module: &Module) -> Option<*mut Image> {
    let len = const { NonZeroUsize::new(size_of::<Image>()).unwrap() };
    let at = sys::allocate(len).ok()?.cast::<Image>();
    // SAFETY: fresh memory of the right size, page aligned and zeroed, which is
    // a valid `Image`; nobody else knows of it yet.
    unsafe { &mut *at.as_ptr() }.describe(module);
    Some(at.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    static HERE: u8 = 0;

    #[test]
    fn the_program_is_found_with_its_digest() {
        let images = Images::new();
        let here = &raw const HERE;
        let (index, image) = images.of(here.addr()).unwrap();
        let exe = std::env::current_exe().unwrap();
        assert_eq!(image.path(), exe.as_os_str().as_encoded_bytes());
        let bytes = std::fs::read(&exe).unwrap();
        let digest: [u8; 20] = Sha1::digest(&bytes).into();
        assert_eq!(image.fingerprint, Some((bytes.len() as u64, digest)));
        assert_eq!(
            Magic::of_digest(bytes.len() as u64, &digest),
            Some(image.magic)
        );
        assert_eq!(images.of(here.addr()).unwrap().0, index);
        assert_eq!(images.get(index).unwrap().magic, image.magic);
        assert!(images.get(index + 1).is_none());
    }

    #[test]
    fn a_shared_library_is_another_image_with_its_own_file() {
        let images = Images::new();
        let libc = libc::getpid as *const () as usize;
        let (_, image) = images.of(libc).unwrap();
        let path = std::str::from_utf8(image.path()).unwrap();
        assert!(path.contains("libc"), "{path}");
        let size = std::fs::metadata(path).unwrap().len();
        assert_eq!(image.fingerprint.unwrap().0, size);
        assert_ne!(images.of((&raw const HERE).addr()).unwrap().0, 0);
    }

    #[test]
    fn strings_of_the_image_have_link_time_addresses_and_others_none() {
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
