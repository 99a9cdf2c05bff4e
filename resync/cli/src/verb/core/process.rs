//! A process that runs, and the logs that it has mapped: opened through the process itself, so that a
//! log that was removed or that lies in another mount namespace is found too.

use crate::failure::Failure;
use crate::log;
use crate::verb::core::logs::{Found, OpenLog, Whereabouts};
use logdef_resync::begins_as_log;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The number of a process, if the word is one and no file of that name is there.
pub fn number(word: &Path) -> Option<u32> {
    let number = word.to_str()?.parse().ok()?;
    (!word.exists()).then_some(number)
}

/// A process that runs.
pub struct Process {
    pub pid: u32,
    pub name: Vec<u8>,
    pub found: Found,
}

/// A file that is mapped: device, inode, and the name that it had.
type Mapped = (u64, u64, String);

impl Process {
    pub fn of(pid: u32) -> Result<Process, Failure> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let failed = |error: io::Error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "no such process, and no such file".into(),
                io::ErrorKind::PermissionDenied => {
                    "only its user and root may read its memory".to_owned()
                }
                _ => error.to_string(),
            };
            Failure::Unreadable(format!("{pid}: {why}"))
        };
        let name = fs::read(folder.join("comm")).map_err(failed)?;
        let maps = fs::read(folder.join("maps")).map_err(failed)?;
        let maps = String::from_utf8_lossy(&maps);
        let mut found = Found::default();
        for mapped in maps.lines().filter_map(shared).collect::<BTreeSet<_>>() {
            add(&mut found, &folder, &mapped);
        }
        Ok(Process {
            pid,
            name: name.trim_ascii_end().to_vec(),
            found: found.finish(),
        })
    }
}

fn add(found: &mut Found, folder: &Path, mapped: &Mapped) {
    let (_, _, name) = mapped;
    let mut log = OpenLog {
        path: name.clone().into_bytes(),
        whereabouts: Whereabouts::Disk,
        in_core: None,
    };
    let itself = Path::new(name);
    if is(itself, mapped) {
        if begins_as_log(itself) {
            found.logs.push(log);
            found.on_disk(itself);
        }
        return;
    }
    let entries = fs::read_dir(folder.join("fd")).into_iter().flatten();
    let mut open = entries.flatten().map(|entry| entry.path());
    let open = open.find(|path| is(path, mapped) && begins_as_log(path));
    if let Some(input) = open.and_then(|path| log::open(&path).ok()) {
        log.whereabouts = Whereabouts::Process;
        found.logs.push(log);
        found.inputs.push(input);
    }
}

/// Whether a path leads to the file that is mapped.
fn is(path: &Path, (device, inode, _): &Mapped) -> bool {
    fs::metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == (*device, *inode))
}

/// The file that a line of `/proc/PID/maps` says is mapped to be shared and written.
fn shared(line: &str) -> Option<Mapped> {
    let mut fields = line.splitn(6, ' ');
    let (_range, permissions) = (fields.next()?, fields.next()?);
    let (_offset, device, inode) = (fields.next()?, fields.next()?, fields.next()?);
    let path = fields.next()?.trim_start();
    let (major, minor) = device.split_once(':')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    let device = rustix::fs::makedev(number(major)?, number(minor)?);
    let is_shared = permissions.starts_with("rw") && permissions.ends_with('s');
    (is_shared && path.starts_with('/'))
        .then(|| Some((device, inode.parse().ok()?, path.to_owned())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_shared_and_written_are_listed() {
        let line = "7fee029cb000-7fee029db000 rw-s 00000000 fe:00 10100800                   /tmp/a b.log (deleted)";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(
            shared(line),
            Some((device, 10_100_800, "/tmp/a b.log (deleted)".into()))
        );
        for line in [
            "7f00-7f01 r--s 00000000 fe:00 7 /tmp/a.log",
            "7f00-7f01 rw-p 00000000 fe:00 7 /tmp/a.log",
            "7f00-7f01 rw-s 00000000 00:00 0 ",
            "7f00",
        ] {
            assert_eq!(shared(line), None, "{line}");
        }
    }
}
