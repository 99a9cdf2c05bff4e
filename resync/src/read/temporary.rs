//! Bytes that do not fit into memory: a temporary file without a name, written at its end and read
//! anywhere. It takes no more than half of what the disk has free; zeros take none of it. Knows
//! nothing of what the bytes mean.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// A file without a name that is written from its beginning on. Where it would be zeros it has
/// holes.
///
/// ```
/// use logdef_resync::Temporary;
///
/// let mut file = Temporary::new()?;
/// file.append(b"kept")?;
/// let mut bytes = [0; 2];
/// file.read_at(&mut bytes, 2)?;
/// assert_eq!((&bytes, file.len()), (b"pt", 4));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Temporary {
    file: File,
    len: u64,
    /// Bytes that it may yet take on the disk.
    room: u64,
}

impl Temporary {
    /// An empty one, in the folder for temporary files.
    pub fn new() -> io::Result<Temporary> {
        let file = tempfile::tempfile().map_err(|error| in_its_folder(&error))?;
        let disk = rustix::fs::fstatvfs(&file)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        Ok(Temporary::on_a_disk_with(free, file))
    }

    fn on_a_disk_with(free: u64, file: File) -> Temporary {
        Temporary {
            file,
            len: 0,
            room: free / 2,
        }
    }

    /// Appends bytes, all or none.
    ///
    /// # Errors
    ///
    /// What the system says, and that half of what the disk had free is used up.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let len = bytes.len() as u64;
        if bytes.iter().all(|byte| *byte == 0) {
            self.len += len;
            return Ok(());
        }
        if len > self.room {
            let why = io::Error::other("temporary files take half of the free space already");
            return Err(in_its_folder(&why));
        }
        self.file.seek(SeekFrom::Start(self.len))?;
        let written = self.file.write_all(bytes);
        written.map_err(|error| in_its_folder(&error))?;
        self.room -= len;
        self.len += len;
        Ok(())
    }

    /// Appends zeros.
    pub(crate) fn skip(&mut self, len: u64) {
        self.len += len;
    }

    /// Fills a buffer with the bytes from an offset on. All of them must have been appended.
    pub fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        if offset.saturating_add(buffer.len() as u64) > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !buffer.is_empty() {
            match self.file.read_at(buffer, offset) {
                // Zeros at the end were not written.
                Ok(0) => {
                    buffer.fill(0);
                    break;
                }
                Ok(got) => {
                    buffer = &mut buffer[got..];
                    offset += got as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Bytes that were appended.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file, as long as what was appended.
    pub(crate) fn end(self) -> io::Result<(File, u64)> {
        self.file.set_len(self.len)?;
        Ok((self.file, self.len))
    }
}

/// What went wrong, in which folder, and what to do.
fn in_its_folder(error: &io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    let why = format!(
        "{}: {error}: name another folder with TMPDIR",
        folder.display()
    );
    io::Error::new(error.kind(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_disk_with(free: u64) -> Temporary {
        Temporary::on_a_disk_with(free, tempfile::tempfile().unwrap())
    }

    #[test]
    fn half_of_the_disk_stays_free() {
        let mut file = on_a_disk_with(2001);
        file.append(&[7; 600]).unwrap();
        // Zeros take nothing of it.
        file.append(&[0; 5000]).unwrap();
        // All or none.
        let why = file.append(&[8; 401]).unwrap_err().to_string();
        assert!(
            why.contains("temporary files take half of the free space already"),
            "{why}"
        );
        file.append(&[9; 400]).unwrap();
        assert!(file.append(&[1]).is_err());
        assert_eq!(file.len(), 6000);
        let mut bytes = vec![1; 6000];
        file.read_at(&mut bytes, 0).unwrap();
        assert!(bytes == [&[7; 600][..], &[0; 5000], &[9; 400]].concat());
        assert!(on_a_disk_with(1).append(&[1]).is_err());
    }

    #[test]
    fn what_was_not_appended_is_not_read() {
        let mut file = on_a_disk_with(1 << 20);
        file.append(&[1, 0]).unwrap();
        file.append(&[0; 3]).unwrap();
        let mut bytes = [9; 4];
        file.read_at(&mut bytes, 1).unwrap();
        assert_eq!(bytes, [0; 4]);
        assert!(file.read_at(&mut bytes, 2).is_err());
        assert!(file.read_at(&mut bytes, u64::MAX).is_err());
    }
}
