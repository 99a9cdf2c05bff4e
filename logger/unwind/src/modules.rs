//! Loaded modules: which one holds an address, what its segments permit, its
//! name and build ID. Reads mapped memory only, never a file.

use core::ffi::{CStr, c_char};
use core::slice;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::loader::{self, Object, ProgramHeader};
use crate::{cache, note, snapshot};

/// The loaded module that holds `address`.
///
/// With glibc 2.35 or newer the loader answers, and knows every library at once; elsewhere
/// the answer comes from the last [`refresh`].
///
/// Signal safety: async-signal-safe; no lock, no allocation.
#[inline]
pub fn find(address: usize) -> Option<Module> {
    let object = if asks_loader() {
        loader::find_object(address)
    } else {
        snapshot::find(address)
    }?;
    Some(Module { object })
}

/// From now on uses the list that [`refresh`] takes, and not the loader, as with an older
/// C library. For tests.
#[doc(hidden)]
pub fn use_list() {
    USES_LIST.store(true, Ordering::Relaxed);
    snapshot::refresh();
    cache::start_epoch();
}

static USES_LIST: AtomicBool = AtomicBool::new(false);

#[inline]
fn asks_loader() -> bool {
    loader::has_find_object() && !USES_LIST.load(Ordering::Relaxed)
}

/// If modules were loaded or unloaded since the last call: forgets what was cached about code
/// addresses, and takes a new list where the C library has no lock-free lookup. Returns
/// whether any were.
///
/// Signal safety: not async-signal-safe: it takes the loader's lock. Never call it in a forked
/// child of a program with threads either.
pub fn refresh() -> bool {
    // Static programs may count from 0 and stay there.
    static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
    let generation = generation();
    let is_new = SEEN.swap(generation, Ordering::Relaxed) != generation;
    if is_new {
        if !asks_loader() {
            snapshot::refresh();
        }
        cache::start_epoch();
    }
    is_new
}

/// A number that changes whenever a module is loaded or unloaded.
///
/// Signal safety: not async-signal-safe: it takes the loader's lock.
pub fn generation() -> u64 {
    let mut generation = 0;
    loader::for_each_object(|_, now| {
        generation = now;
        false
    });
    generation
}

/// Indexes the exported symbols of all modules, for
/// [`Module::exported_symbol`].
///
/// Signal safety: not async-signal-safe: it holds the loader's lock while it works, so that
/// no module is unloaded meanwhile. For start-up or a background thread.
pub fn index_exports() {
    loader::for_each_object(|object, _| {
        Module { object: *object }.index_exports();
        true
    });
}

/// A loaded module: the program, a shared library, the vDSO.
///
/// Valid until the module is unloaded.
#[derive(Clone, Copy)]
pub struct Module {
    object: Object,
}

// SAFETY: the pointers lead to memory that the loader shares with all threads
// and that is not written while the module is loaded.
unsafe impl Send for Module {}
// SAFETY: the memory that the pointers lead to is shared by all threads, and `Module` has no
// interior mutability.
unsafe impl Sync for Module {}

impl Module {
    /// First address of the module.
    pub fn start(&self) -> usize {
        self.object.start
    }

    /// One past the last address of the module.
    pub fn end(&self) -> usize {
        self.object.end
    }

    /// What the loader added to every link-time address: AVMA − SVMA.
    pub fn load_bias(&self) -> usize {
        self.object.load_bias
    }

    /// Whether `address` lies between the module's ends.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        self.object.start <= address && address < self.object.end
    }

    /// The path by which the loader knows the module; with glibc it is empty
    /// for the main program.
    pub fn name(&self) -> &CStr {
        if self.object.name.is_null() {
            return c"";
        }
        // SAFETY: the loader keeps a NUL-terminated name while the module is
        // loaded.
        unsafe { CStr::from_ptr(self.object.name) }
    }

    /// Whether this is the program itself, and not a library.
    pub fn is_main_program(&self) -> bool {
        self.contains(auxiliary(libc::AT_PHDR))
    }

    /// The GNU build ID, from the notes in the mapped image.
    pub fn build_id(&self) -> Option<&'static [u8]> {
        self.program_headers()
            .iter()
            .filter(|header| header.p_type == libc::PT_NOTE)
            .find_map(|header| {
                let notes = self.bytes_from(self.avma(header.p_vaddr))?;
                note::build_id(notes.get(..header.p_filesz as usize)?, header.p_align)
            })
    }

    /// Whether the `len` bytes at `address` lie in one read-only segment.
    ///
    /// Data that is read-only only after relocation (`PT_GNU_RELRO`) does not
    /// count: its bytes in the file differ from those in memory.
    #[inline]
    pub fn is_read_only(&self, address: usize, len: usize) -> bool {
        self.segment_containing(address).is_some_and(|segment| {
            segment.readable && !segment.writable && segment.holds(address, len)
        })
    }

    /// The segment that holds `address`.
    #[inline]
    pub fn segment_containing(&self, address: usize) -> Option<Segment> {
        self.segments().find(|segment| segment.holds(address, 1))
    }

    /// The module's loaded segments, in the order of its program headers.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        self.program_headers()
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
            .map(|header| {
                let start = self.avma(header.p_vaddr);
                Segment {
                    start,
                    end: start.saturating_add(header.p_memsz as usize),
                    readable: header.p_flags & libc::PF_R != 0,
                    writable: header.p_flags & libc::PF_W != 0,
                    executable: header.p_flags & libc::PF_X != 0,
                }
            })
    }

    /// Where the module's `.eh_frame_hdr` is mapped.
    pub(crate) fn eh_frame_hdr(&self) -> Option<usize> {
        (self.object.eh_frame_hdr != 0).then_some(self.object.eh_frame_hdr)
    }

    /// All bytes from `address` to the end of its segment, if that may be read.
    /// Sections do not say how long they are once they are mapped.
    pub(crate) fn bytes_from(&self, address: usize) -> Option<&'static [u8]> {
        let segment = self.segment_containing(address)?;
        if !segment.readable {
            return None;
        }
        let start = core::ptr::with_exposed_provenance(address);
        // SAFETY: the bytes lie in a readable segment of a loaded module. What
        // is read this way are tables, which are never written.
        Some(unsafe { slice::from_raw_parts(start, segment.end - address) })
    }

    /// Address and length of the dynamic section.
    pub(crate) fn dynamic_range(&self) -> Option<(usize, usize)> {
        let headers = self.program_headers();
        let header = headers
            .iter()
            .find(|header| header.p_type == libc::PT_DYNAMIC)?;
        Some((self.avma(header.p_vaddr), header.p_memsz as usize))
    }

    fn avma(&self, svma: u64) -> usize {
        self.object.load_bias.wrapping_add(svma as usize)
    }

    fn program_headers(&self) -> &'static [ProgramHeader] {
        if let Some(headers) = self.object.program_headers {
            return headers;
        }
        mapped_program_headers(self.object.start, self.object.end).unwrap_or_default()
    }
}

/// One loaded segment of a module, as the file asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of its first byte.
    pub start: usize,
    /// One past the last address.
    pub end: usize,
    /// Whether it may be read.
    pub readable: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether it may be executed.
    pub executable: bool,
}

impl Segment {
    /// Whether the `len` bytes at `address` lie within the segment.
    #[inline]
    pub fn holds(&self, address: usize, len: usize) -> bool {
        self.start <= address && address < self.end && len <= self.end - address
    }
}

/// The program headers of the image mapped at `start`, when its ELF header is
/// mapped in front of it, as every common linker arranges.
fn mapped_program_headers(start: usize, end: usize) -> Option<&'static [ProgramHeader]> {
    if end - start < size_of::<libc::Elf64_Ehdr>()
        || !start.is_multiple_of(align_of::<libc::Elf64_Ehdr>())
    {
        return None;
    }
    // SAFETY: the loader mapped this range; its first page is readable in any
    // image whose first segment begins with the ELF header, and the first
    // segments of all others are readable constants or code.
    let header = unsafe { &*core::ptr::with_exposed_provenance::<libc::Elf64_Ehdr>(start) };
    let size = (header.e_phnum as usize).checked_mul(size_of::<ProgramHeader>())?;
    let first = start.checked_add(header.e_phoff as usize)?;
    let fits = header.e_ident[..4] == *b"\x7FELF"
        && header.e_ident[libc::EI_CLASS] == libc::ELFCLASS64
        && header.e_phentsize as usize == size_of::<ProgramHeader>()
        && first.is_multiple_of(align_of::<ProgramHeader>())
        && first.checked_add(size)? <= end;
    if !fits {
        return None;
    }
    // SAFETY: checked above to be aligned and within the mapping.
    Some(unsafe {
        slice::from_raw_parts(
            core::ptr::with_exposed_provenance(first),
            header.e_phnum.into(),
        )
    })
}

/// One entry of the vector that the kernel gives to every program. Reads
/// memory only, so a handler may ask.
fn auxiliary(kind: libc::c_ulong) -> usize {
    // SAFETY: has no preconditions.
    unsafe { libc::getauxval(kind) as usize }
}

const _: () = assert!(size_of::<c_char>() == 1 && size_of::<usize>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    static CONSTANT: [u64; 4] = [1, 2, 3, 4];
    static mut VARIABLE: [u64; 4] = [1, 2, 3, 4];

    #[test]
    fn the_program_is_found_by_its_code_and_its_data() {
        for address in [
            find as fn(usize) -> Option<Module> as usize,
            CONSTANT.as_ptr() as usize,
        ] {
            let module = find(address).expect("own module");
            assert!(module.contains(address));
            assert!(module.is_main_program());
            assert_eq!(module.name(), c"");
        }
    }

    #[test]
    fn the_c_library_is_not_the_program_and_has_a_name() {
        let module = find(libc::getpid as *const () as usize).expect("libc");
        assert!(!module.is_main_program());
        assert!(
            module
                .name()
                .to_bytes()
                .windows(4)
                .any(|four| four == b"libc")
        );
        assert!(module.segments().any(|segment| segment.executable));
    }

    #[test]
    fn constants_are_read_only_and_variables_are_not() {
        let constant = CONSTANT.as_ptr() as usize;
        let variable = &raw const VARIABLE as usize;
        let module = find(constant).unwrap();
        assert!(module.is_read_only(constant, 32));
        assert!(!module.is_read_only(variable, 1));
        let segment = module.segment_containing(constant).unwrap();
        assert!(module.is_read_only(constant, segment.end - constant));
        assert!(!module.is_read_only(constant, segment.end - constant + 1));
        assert!(!module.is_read_only(constant, usize::MAX));
    }

    #[test]
    fn addresses_outside_every_module_are_not_found() {
        let on_stack = 0u8;
        let on_heap = Box::new(0u8);
        assert!(find(0).is_none());
        assert!(find(usize::MAX).is_none());
        assert!(find(&raw const on_stack as usize).is_none());
        assert!(find(&raw const *on_heap as usize).is_none());
    }

    #[test]
    fn the_loader_and_its_list_agree_on_every_module() {
        if !loader::has_find_object() {
            return;
        }
        let mut seen = 0;
        loader::for_each_object(|object, _| {
            let listed = Module { object: *object };
            let Some(code) = listed.segments().find(|segment| segment.executable) else {
                return true;
            };
            let found = find(code.start).expect("a listed module");
            assert_eq!(found.load_bias(), listed.load_bias());
            assert_eq!(found.build_id(), listed.build_id());
            assert_eq!(found.object.eh_frame_hdr, listed.object.eh_frame_hdr);
            assert_eq!(
                found.segments().collect::<Vec<_>>(),
                listed.segments().collect::<Vec<_>>()
            );
            seen += 1;
            true
        });
        assert!(seen >= 3);
    }

    #[test]
    fn the_list_for_older_c_libraries_gives_the_same_modules() {
        snapshot::refresh();
        let mut seen = 0;
        loader::for_each_object(|object, _| {
            let listed = Module { object: *object };
            for segment in listed.segments() {
                let found = snapshot::find(segment.start + (segment.end - segment.start) / 2);
                let found = Module {
                    object: found.expect("a listed module"),
                };
                assert_eq!(found.start(), listed.start());
                assert_eq!(found.end(), listed.end());
                assert_eq!(found.name(), listed.name());
                assert_eq!(found.build_id(), listed.build_id());
                assert_eq!(found.is_main_program(), listed.is_main_program());
                seen += 1;
            }
            true
        });
        // Two or more each of the program, the C library, its loader and libgcc.
        assert!(seen >= 8);
    }

    #[test]
    fn loading_and_unloading_change_the_generation() {
        let before = generation();
        // SAFETY: a library of the C library's own, without constructors of
        // consequence.
        let handle = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null());
        let between = generation();
        assert_ne!(before, between);
        // SAFETY: the handle just obtained; nothing of the library is in use.
        unsafe { libc::dlclose(handle) };
        assert_ne!(between, generation());
    }
}
