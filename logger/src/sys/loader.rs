//! Images as the dynamic linker and the kernel know them. Part of the room for unsafe.

use super::file::{close, open, read};
use core::ffi::CStr;
use core::ptr::{self, NonNull};

/// An address in the program itself, whatever image the logger is in: that of
/// its program headers.
pub(crate) fn main_program_address() -> usize {
    // SAFETY: takes a number, and reads what the kernel left for the process.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize }
}

/// The start of the process's mapping of this name.
pub(crate) fn find_mapping(name: &[u8]) -> Option<*const u8> {
    let fd = open(c"/proc/self/maps", libc::O_RDONLY, 0).ok()?;
    // A line is an address and some words, and a name of at most a path.
    let mut buffer = [0; 8192];
    let (mut len, mut found) = (0, None);
    while found.is_none() {
        match read(fd, &mut buffer[len..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => len += read,
        }
        let mut from = 0;
        while let Some(end) = buffer[from..len].iter().position(|byte| *byte == b'\n') {
            let line = &buffer[from..from + end];
            if line.ends_with(name) {
                let digits = line.split(|byte| *byte == b'-').next().unwrap_or_default();
                let start = core::str::from_utf8(digits).ok();
                found = start.and_then(|start| usize::from_str_radix(start, 16).ok());
            }
            from += end + 1;
        }
        buffer.copy_within(from..len, 0);
        len -= from;
        if len == buffer.len() {
            // No line is that long.
            break;
        }
    }
    close(fd);
    found.map(ptr::with_exposed_provenance)
}

/// What a program or a library exports to all under a name.
pub(crate) fn global_symbol(name: &CStr) -> Option<NonNull<libc::c_void>> {
    // SAFETY: the name ends in a NUL.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Keeps the library that holds an address in memory even if it is closed. Does
/// nothing for the program itself.
pub(crate) fn keep_loaded(address: *const ()) {
    // SAFETY: all zeros is a valid `Dl_info`, which the call fills; the name it
    // finds is a C string for as long as the image is loaded, which it is while its
    // own code runs.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let known = libc::dladdr(address.cast(), &mut info) != 0 && !info.dli_fname.is_null();
        // The program headers stand in the first page of the program.
        let behind = main_program_address().wrapping_sub(info.dli_fbase.addr());
        if known && behind >= 4096 {
            let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
            libc::dlopen(info.dli_fname, flags);
        }
    }
}
