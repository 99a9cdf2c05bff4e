//! The dynamic loader's two ways to say what is mapped where: `_dl_find_object`
//! (lock-free, safe in handlers, glibc 2.35 or newer) and `dl_iterate_phdr`
//! (everywhere, under the loader's lock). Knows nothing of ELF contents.

use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use core::{ptr, slice};

/// One program header, as the loader mapped it.
pub(crate) type ProgramHeader = libc::Elf64_Phdr;

/// What the loader knows of one loaded object, before anybody looks inside.
#[derive(Clone, Copy)]
pub(crate) struct Object {
    /// First address of the object's mapping, rounded to a page or not.
    pub(crate) start: usize,
    /// One past the last address.
    pub(crate) end: usize,
    /// What was added to every link-time address.
    pub(crate) load_bias: usize,
    /// The path as the loader knows it, NUL-terminated; may be null.
    pub(crate) name: *const c_char,
    /// Program headers, when the loader gave them.
    pub(crate) program_headers: Option<&'static [ProgramHeader]>,
    /// Address of `.eh_frame_hdr`, 0 when there is none.
    pub(crate) eh_frame_hdr: usize,
}

/// `struct link_map` of `<link.h>`, its public part.
#[repr(C)]
struct LinkMap {
    l_addr: usize,
    l_name: *const c_char,
}

/// `struct dl_find_object` of glibc's `<dlfcn.h>`, as it is on every 64-bit
/// target without `dlfo_eh_dbase`.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    map_start: usize,
    map_end: usize,
    link_map: *const LinkMap,
    eh_frame: usize,
    reserved: [u64; 7],
}

type FindObjectFn = unsafe extern "C" fn(*const c_void, *mut DlFindObject) -> c_int;

/// The address of `_dl_find_object`, or `None` where the C library has none.
///
/// A weak reference through the global offset table: the loader filled it in
/// before the first instruction ran, so there is nothing to initialize and a
/// handler can come at any time.
#[inline]
fn find_object_fn() -> Option<FindObjectFn> {
    let address: usize;
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    // SAFETY: reads one word of the global offset table and nothing else; the
    // directive makes the reference weak, so a missing symbol reads as 0.
    unsafe {
        core::arch::asm!(
            ".weak _dl_find_object",
            "mov {}, qword ptr [rip + _dl_find_object@GOTPCREL]",
            out(reg) address,
            options(nostack, preserves_flags, pure, readonly),
        );
    }
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "aarch64"))]
    // SAFETY: reads one word of the global offset table; the reference is weak, so a missing
    // symbol reads as 0.
    unsafe {
        core::arch::asm!(
            ".weak _dl_find_object",
            "adrp {0}, :got:_dl_find_object",
            "ldr {0}, [{0}, :got_lo12:_dl_find_object]",
            out(reg) address,
            options(nostack, preserves_flags, pure, readonly),
        );
    }
    #[cfg(not(all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    {
        address = 0;
    }
    // SAFETY: a nonzero address is that of glibc's function, whose signature
    // is public; 0 becomes `None` by the layout guarantee of `Option<fn>`.
    unsafe { core::mem::transmute::<usize, Option<FindObjectFn>>(address) }
}

/// Whether this C library answers [`find_object`].
pub(crate) fn has_find_object() -> bool {
    find_object_fn().is_some()
}

/// The object that holds `address`. Async-signal-safe, no lock.
#[inline]
pub(crate) fn find_object(address: usize) -> Option<Object> {
    let find = find_object_fn()?;
    let mut found = MaybeUninit::<DlFindObject>::uninit();
    // SAFETY: `find` writes the structure whose layout it documents, and only
    // compares the address.
    let status = unsafe { find(address as *const c_void, found.as_mut_ptr()) };
    if status != 0 {
        return None;
    }
    // SAFETY: status 0 says that all documented fields were written; the
    // reserved words are never read.
    let (start, end, link_map, eh_frame_hdr) = unsafe {
        let found = found.as_ptr();
        (
            (*found).map_start,
            (*found).map_end,
            (*found).link_map,
            (*found).eh_frame,
        )
    };
    // SAFETY: the loader keeps the link map for as long as the object is loaded.
    let (load_bias, name) = unsafe { ((*link_map).l_addr, (*link_map).l_name) };
    let object = Object {
        start,
        end,
        load_bias,
        name,
        program_headers: None,
        eh_frame_hdr,
    };
    Some(if object.is_main_program() {
        object.in_one_piece()
    } else {
        object
    })
}

impl Object {
    /// Whether the loader knows it by no name, as glibc does the program itself.
    fn is_main_program(&self) -> bool {
        // SAFETY: the loader keeps a NUL-terminated name, or none.
        self.name.is_null() || unsafe { *self.name } == 0
    }

    /// The main program from its first segment to its last.
    ///
    /// Newer glibc answers with one segment only where the kernel left a hole
    /// between two of them: whether there is one hangs on how the linker came to
    /// round the addresses.
    #[inline]
    fn in_one_piece(self) -> Object {
        let (headers, start, end) = MAIN_PROGRAM.at(self.load_bias);
        if !(start..end).contains(&self.start) {
            return self;
        }
        Object {
            start,
            end,
            program_headers: Some(headers),
            ..self
        }
    }
}

/// The auxiliary vector, by which the kernel describes the program. It never changes, and
/// is kept: reading it each time would cost more than all the rest of a look-up. Reads
/// memory only, so a handler may ask.
struct MainProgram {
    headers: AtomicPtr<ProgramHeader>,
    count: AtomicUsize,
    start: AtomicUsize,
    /// Stored last; 0 until then. Threads that ask meanwhile store the same.
    end: AtomicUsize,
}

static MAIN_PROGRAM: MainProgram = MainProgram {
    headers: AtomicPtr::new(ptr::null_mut()),
    count: AtomicUsize::new(0),
    start: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
};

impl MainProgram {
    /// The program headers, the first address and one past the last.
    #[inline]
    fn at(&self, load_bias: usize) -> (&'static [ProgramHeader], usize, usize) {
        let end = match self.end.load(Ordering::Acquire) {
            0 => self.ask(load_bias),
            end => end,
        };
        let headers = self.headers.load(Ordering::Relaxed);
        let headers = if headers.is_null() {
            &[]
        } else {
            // SAFETY: the kernel's own word for where the headers are mapped and how many
            // there are; the main program is never unmapped.
            unsafe { slice::from_raw_parts(headers, self.count.load(Ordering::Relaxed)) }
        };
        (headers, self.start.load(Ordering::Relaxed), end)
    }

    #[cold]
    #[inline(never)]
    fn ask(&self, load_bias: usize) -> usize {
        // SAFETY: has no preconditions.
        let auxiliary = |kind| unsafe { libc::getauxval(kind) as usize };
        let headers: *mut ProgramHeader =
            ptr::with_exposed_provenance_mut(auxiliary(libc::AT_PHDR));
        let count = auxiliary(libc::AT_PHNUM);
        if headers.is_null() {
            return 0;
        }
        // SAFETY: as in `at`.
        let (start, end) = extent(unsafe { slice::from_raw_parts(headers, count) }, load_bias);
        self.headers.store(headers, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Release);
        end
    }
}

/// First address of the first segment and one past the last of the last; an
/// empty range where there is none.
fn extent(headers: &[ProgramHeader], load_bias: usize) -> (usize, usize) {
    let segments = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    segments.fold((usize::MAX, 0), |(first, last), header| {
        let start = load_bias.wrapping_add(header.p_vaddr as usize);
        let end = start.saturating_add(header.p_memsz as usize);
        (first.min(start), last.max(end))
    })
}

/// Calls `visit` with each loaded object until it returns false.
///
/// Takes the loader's lock: not for handlers, nor for a forked child of a
/// program with threads.
pub(crate) fn for_each_object(mut visit: impl FnMut(&Object, u64) -> bool) {
    unsafe extern "C" fn callback<F: FnMut(&Object, u64) -> bool>(
        info: *mut libc::dl_phdr_info,
        size: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes one valid structure, and the pointer that
        // `for_each_object` gave it, which nothing else uses meanwhile.
        let (info, visit) = unsafe { (&*info, &mut *visit.cast::<F>()) };
        let program_headers: &'static [ProgramHeader] =
            if info.dlpi_phdr.is_null() || info.dlpi_phnum == 0 {
                &[]
            } else {
                // SAFETY: the headers stay mapped while the object is loaded.
                unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) }
            };
        let load_bias = info.dlpi_addr as usize;
        let (start, end) = extent(program_headers, load_bias);
        let table = program_headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
        let object = Object {
            start,
            end,
            load_bias,
            name: info.dlpi_name,
            program_headers: Some(program_headers),
            eh_frame_hdr: table.map_or(0, |header| load_bias.wrapping_add(header.p_vaddr as usize)),
        };
        // Counters came with glibc 2.4; older structures are shorter.
        let generation = if size >= size_of::<libc::dl_phdr_info>() - 2 * size_of::<usize>() {
            info.dlpi_adds.wrapping_add(info.dlpi_subs)
        } else {
            0
        };
        c_int::from(!visit(&object, generation))
    }

    fn call<F: FnMut(&Object, u64) -> bool>(visit: &mut F) {
        let data: *mut F = visit;
        // SAFETY: `callback::<F>` gets back exactly the pointer given here,
        // which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(callback::<F>), data.cast()) };
    }
    call(&mut visit);
}
