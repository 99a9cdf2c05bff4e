//! Which file is mapped at an address, by the kernel's list of mappings: lines
//! `start-end perms offset major:minor inode path`. Read without allocation, so
//! that it may happen in a signal handler.

use crate::sys::{self, Errno};
use core::ffi::c_int;

/// Device and inode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DeviceAndInode {
    major: u32,
    minor: u32,
    inode: u64,
}

/// The identity of an open file.
pub(crate) fn identity(stat: &libc::stat) -> DeviceAndInode {
    DeviceAndInode {
        major: libc::major(stat.st_dev),
        minor: libc::minor(stat.st_dev),
        inode: stat.st_ino,
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct MappedFile {
    pub identity: DeviceAndInode,
    /// Bytes of its path.
    pub path_len: usize,
}

/// The file mapped at `address`; its path goes into `path`, and is cut if that is
/// too short.
pub(crate) fn file_at(address: usize, path: &mut [u8]) -> Result<Option<MappedFile>, Errno> {
    let fd = sys::open(c"/proc/self/maps", libc::O_RDONLY, 0)?;
    let found = find(fd, address, path);
    sys::close(fd);
    found
}

fn find(fd: c_int, address: usize, path: &mut [u8]) -> Result<Option<MappedFile>, Errno> {
    let mut buffer = [0; 1024];
    let mut line = Line::new(path);
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
            if let Some(file) = line.file_at(address) {
                return Ok(Some(file));
            }
            line = Line::new(line.path);
        }
    }
}

/// One line, read byte by byte.
struct Line<'p> {
    /// start, end, unused, offset, major, minor.
    numbers: [u64; 6],
    inode: u64,
    field: usize,
    path: &'p mut [u8],
    path_len: usize,
}

impl<'p> Line<'p> {
    fn new(path: &'p mut [u8]) -> Self {
        Line {
            numbers: [0; 6],
            inode: 0,
            field: 0,
            path,
            path_len: 0,
        }
    }

    fn file_at(&self, address: usize) -> Option<MappedFile> {
        let [start, end, _, _, major, minor] = self.numbers;
        (start..end)
            .contains(&(address as u64))
            .then_some(MappedFile {
                identity: DeviceAndInode {
                    major: major as u32,
                    minor: minor as u32,
                    inode: self.inode,
                },
                path_len: self.path_len,
            })
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
            // Blanks fill the line up to its path.
            b' ' if self.path_len == 0 => {}
            _ if self.field == 7 => {
                if let Some(place) = self.path.get_mut(self.path_len) {
                    *place = byte;
                    self.path_len += 1;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_file_and_path() {
        let text =
            b"7f01000-7f02000 r-xp 00001000 fe:1b 131074                     /usr/lib/a b.so";
        let mut path = [0; 64];
        let mut line = Line::new(&mut path);
        text.iter().for_each(|byte| line.push(*byte));
        assert_eq!(line.file_at(0x7f0_0fff), None);
        assert_eq!(line.file_at(0x7f0_2000), None);
        let file = line.file_at(0x7f0_1000).unwrap();
        let identity = DeviceAndInode {
            major: 0xfe,
            minor: 0x1b,
            inode: 131_074,
        };
        assert_eq!(file.identity, identity);
        assert_eq!(&path[..file.path_len], b"/usr/lib/a b.so");
    }

    #[test]
    fn the_program_is_where_the_list_says() {
        let mut path = [0; libc::PATH_MAX as usize];
        let file = file_at(file_at as *const () as usize, &mut path)
            .unwrap()
            .unwrap();
        let program = std::env::current_exe().unwrap();
        assert_eq!(
            &path[..file.path_len],
            program.as_os_str().as_encoded_bytes()
        );
        let fd = sys::open(c"/proc/self/exe", libc::O_RDONLY, 0).unwrap();
        assert_eq!(file.identity, identity(&sys::stat(fd).unwrap()));
        sys::close(fd);
        let cut = file_at(file_at as *const () as usize, &mut path[..3])
            .unwrap()
            .unwrap();
        assert_eq!(cut.path_len, 3);
        assert_eq!(file_at(1, &mut []).unwrap(), None);
    }
}
