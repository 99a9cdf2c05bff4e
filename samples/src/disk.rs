//! Disks of their own for tests that fill, limit or break one. Mounting one takes
//! rights that not every machine gives.

use crate::skip::skip;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A disk of some megabytes, mounted in a folder of its own.
#[derive(Debug)]
pub struct Disk {
    _folder: tempfile::TempDir,
    mounted: PathBuf,
}

impl Disk {
    /// `None`, and a line that says why, if none can be mounted here.
    pub fn mount(kind: &str, mib: u64) -> Option<Disk> {
        Disk::make(kind, mib, &[], "loop")
    }

    /// As [`Disk::mount`], with words for `mkfs` and options for `mount`.
    pub fn make(kind: &str, mib: u64, words: &[&str], options: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = folder.path().join("disk");
        fs::create_dir(&mounted).unwrap();
        let mut mount = Command::new("mount");
        if kind == "tmpfs" {
            mount.args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]);
        } else {
            let image = folder.path().join("image");
            let file = fs::File::create(&image).unwrap();
            file.set_len(mib << 20).unwrap();
            let mut make = Command::new(format!("mkfs.{kind}"));
            if !quiet(make.arg("-q").args(words).arg(&image)) {
                skip(format_args!("{kind}: no mkfs.{kind} that works"));
                return None;
            }
            mount.args(["-o", options]).arg(&image);
        }
        if !quiet(mount.arg(&mounted)) {
            match options {
                "loop" => skip(format_args!("{kind}: it cannot be mounted here")),
                // A matter of the kernel's, which nothing that can be installed changes.
                _ => println!("left out: {kind}: the kernel does not mount it with {options}"),
            }
            return None;
        }
        Some(Disk {
            _folder: folder,
            mounted,
        })
    }

    /// The folder where it is mounted.
    pub fn root(&self) -> &Path {
        &self.mounted
    }

    /// A file in that folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.mounted.join(name)
    }

    /// Has ext4 find an error, upon which it takes no more writes, even if
    /// files are open (`mount -o remount,ro` is refused then). Whether it did.
    pub fn turn_read_only(&self) -> bool {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mounted = self.mounted.to_str().unwrap();
        let mut lines = mounts.lines().map(|line| line.split(' '));
        let device = lines.find_map(|mut words| {
            let device = words.next()?.strip_prefix("/dev/")?;
            (words.next()? == mounted).then_some(device)
        });
        let trigger = format!("/sys/fs/ext4/{}/trigger_fs_error", device.unwrap());
        fs::write(trigger, "a test").is_ok()
            && fs::File::create(self.path("another"))
                .is_err_and(|error| error.kind() == ErrorKind::ReadOnlyFilesystem)
    }

    /// Fills it with one file, whose path it returns.
    pub fn fill(&self) -> PathBuf {
        let path = self.path("ballast");
        let mut ballast = fs::File::create(&path).unwrap();
        for size in [1 << 20, 64 << 10, 4 << 10, 1] {
            while ballast.write_all(&vec![1; size]).is_ok() {}
        }
        let _ = ballast.sync_all();
        while ballast.write_all(&[1; 4096]).is_ok() {}
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        quiet(Command::new("umount").arg("--lazy").arg(&self.mounted));
    }
}

/// Runs a command without showing what it prints. Whether it succeeded.
pub fn quiet(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
