//! Size and SHA-1 of the file that an image was mapped from, if the file found
//! is that one. Knows files, not what they are logged for.

use crate::digest_cache::{self, Key};
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
    if !module.is_main_program() && mapped_inode(module.start())? != Some(identity(&stat)) {
        return Ok(None);
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
