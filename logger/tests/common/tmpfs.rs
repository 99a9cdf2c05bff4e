//! A small file system of the calling thread's own, where the machine allows it.

use crate::common::skip;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Mounts a tmpfs of `mebibytes` MiB for the calling thread. Returns `None` and prints why
/// if that is not allowed here.
#[allow(dead_code, reason = "not every test says just the size")]
pub fn mount(directory: &Path, mebibytes: u32) -> Option<PathBuf> {
    mount_with(directory, &format!("size={mebibytes}m"))
}

/// Mounts a tmpfs with these options, as [`mount`] does.
pub fn mount_with(directory: &Path, options: &str) -> Option<PathBuf> {
    let at = directory.join("small");
    std::fs::create_dir(&at).unwrap();
    let target = CString::new(at.as_os_str().as_bytes()).unwrap();
    let options = CString::new(options).unwrap();
    // SAFETY: C strings that outlive the calls; a mount namespace of its own for
    // this thread, which goes with it.
    let mounted = unsafe {
        let private = libc::MS_REC | libc::MS_PRIVATE;
        let (none, tmpfs) = (std::ptr::null(), c"tmpfs".as_ptr());
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, private, none.cast()) == 0
            && libc::mount(tmpfs, target.as_ptr(), tmpfs, 0, options.as_ptr().cast()) == 0
    };
    if !mounted {
        skip::skip(std::io::Error::last_os_error());
    }
    mounted.then_some(at)
}

/// Fills the file system, but for less than a page.
#[allow(dead_code, reason = "not every test fills it")]
pub fn fill(directory: &Path) -> PathBuf {
    use std::io::Write;
    let path = directory.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    path
}
