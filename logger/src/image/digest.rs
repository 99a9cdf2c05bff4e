//! Size and SHA-1 of the file that an image was mapped from, if the file found
//! is that one. Knows files, not what they are logged for.

use crate::image::digest_cache::{self, Key};
use crate::image::maps;
use crate::sys::{self, Errno};
use core::ffi::c_int;
use core::num::NonZeroUsize;
use logdef_unwind::Module;
use sha1::{Digest, Sha1};

/// What proves that a file is the one whose image was mapped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Fingerprint {
    pub size: u64,
    /// SHA-1.
    pub digest: [u8; 20],
}

/// The fingerprint of a module's file, if the file found is the one that is
/// mapped: as it was remembered, else by reading all of the file. Not for
/// handlers, since that takes its time.
pub(crate) fn of(module: &Module, build_id: Option<&[u8]>) -> Result<Option<Fingerprint>, Errno> {
    let fd = if module.is_main_program() {
        // The link leads to the running file even when its name does not.
        sys::open(c"/proc/self/exe", libc::O_RDONLY, 0)?
    } else {
        sys::open(module.name(), libc::O_RDONLY | libc::O_NONBLOCK, 0)?
    };
    let fingerprint = of_file(fd, module, build_id);
    sys::close(fd);
    fingerprint
}

fn of_file(
    fd: c_int,
    module: &Module,
    build_id: Option<&[u8]>,
) -> Result<Option<Fingerprint>, Errno> {
    let stat = sys::stat(fd)?;
    if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Ok(None);
    }
    if !module.is_main_program() {
        let mapped = maps::file_at(module.start(), &mut [])?;
        if mapped.map(|file| file.identity) != Some(maps::identity(&stat)) {
            return Ok(None);
        }
    }
    let key = Key::of(&stat, build_id);
    if let Some(digest) = digest_cache::look_up(&key) {
        let size = stat.st_size as u64;
        return Ok(Some(Fingerprint { size, digest }));
    }
    let fingerprint = read(fd)?;
    let now = sys::stat(fd)?;
    if Key::of(&now, build_id) == key && fingerprint.size == now.st_size as u64 {
        digest_cache::remember(&key, &now, &fingerprint.digest);
    }
    Ok(Some(fingerprint))
}

fn read(fd: c_int) -> Result<Fingerprint, Errno> {
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
    let digest = sha1.finalize().into();
    Ok(Fingerprint { size, digest })
}
