//! A log on file systems that keep no promises, and copied by tools that know nothing of it:
//! btrfs, ext2, ext3, FUSE, a ring of memory, and files with holes under `cp`, `tar`, `rsync` and `du`.

use logdef_resync::{Input, Recovery, family};
use logdef_samples::disk::{Disk, quiet};
use logdef_samples::frames;
use logdef_samples::skip::skip;
use logdef_samples::workshop::{self, Running, Workshop};
use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of a log, without the link to the newest.
fn files(log: &Path) -> Vec<PathBuf> {
    let all = family(log).into_iter();
    all.filter(|file| !file.is_symlink()).collect()
}

/// Data records of a log, in all of its files.
fn records(log: &Path) -> usize {
    let files = files(log);
    let of = |file: &PathBuf| frames::scan(&fs::read(file).unwrap());
    let all = files.iter().flat_map(of);
    all.filter(|frame| frame.is_data()).count()
}

/// How many records the reader finds missing in a log.
fn lost(log: &Path) -> u64 {
    let files = files(log);
    let inputs: Vec<_> = (files.iter())
        .map(|file| Input::open(file).unwrap())
        .collect();
    Recovery::of(&inputs).unwrap().lost()
}

/// Runs a command that succeeds, in a folder, if it is here.
fn run(folder: &Path, words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    match command.args(&words[1..]).current_dir(folder).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {said}");
            true
        }
        Err(error) => {
            skip(format_args!("{}: {error}", words[0]));
            false
        }
    }
}

/// Logs in threads and children, into files of a size, where the folder is. The note that
/// says why the log is as it is.
fn log_in(folder: &Path) -> String {
    let log = folder.join("app.log");
    let mut soaker = Workshop::open().command("rotor");
    soaker.arg(&log).args(["131072", "5000", "2", "1", "5"]);
    soaker.arg("auto");
    assert!(soaker.status().unwrap().success());
    // Fast threads, a slow one, children.
    assert_eq!(records(&log), 2 * 5_000 + 50 + 5 * 20);
    assert_eq!(lost(&log), 0);
    let first = &files(&log)[0];
    let notes = frames::scan(&fs::read(first).unwrap());
    let note = notes.iter().find(|frame| frame.tag == 6);
    note.map_or(String::new(), |note| {
        String::from_utf8_lossy(note.raw(3).unwrap()).into_owned()
    })
}

#[test]
fn a_log_on_btrfs_is_appended_and_says_so() {
    if let Some(disk) = Disk::mount("btrfs", 256) {
        let why = log_in(disk.root());
        assert_eq!(why, "appended: btrfs may not keep what is reserved");
    }
}

/// They have the magic number of ext4, and cannot reserve space: all calls were dropped.
#[test]
fn a_log_on_ext2_and_ext3_is_appended_and_says_so() {
    for kind in ["ext2", "ext3"] {
        if let Some(disk) = Disk::mount(kind, 64) {
            let why = log_in(disk.root());
            assert_eq!(why, "appended: the file system cannot reserve space");
        }
    }
}

/// An ext4 that a process of its own serves.
struct Fuse {
    folder: tempfile::TempDir,
}

impl Fuse {
    fn mount() -> Option<Fuse> {
        let folder = tempfile::tempdir().unwrap();
        let fuse = Fuse { folder };
        fs::create_dir(fuse.root()).unwrap();
        let image = fuse.folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let made = quiet(Command::new("mkfs.ext4").arg("-q").arg(&image));
        let mut serve = Command::new("fuse2fs");
        serve
            .args([&image, &fuse.root()])
            .args(["-o", "rw,fakeroot"]);
        if !made || !quiet(&mut serve) {
            skip("no fuse2fs that works");
            return None;
        }
        Some(fuse)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        quiet(Command::new("umount").arg("--lazy").arg(self.root()));
    }
}

#[test]
fn a_log_on_fuse_is_appended_and_says_so() {
    if let Some(fuse) = Fuse::mount() {
        let why = log_in(&fuse.root());
        assert_eq!(why, "appended: FUSE may not keep what is reserved");
    }
}

/// Bytes that a file takes of the disk.
fn blocks(file: &Path) -> u64 {
    fs::metadata(file).unwrap().blocks() * 512
}

/// `/dev/pmsg0` keeps the last bytes that were written to it, in memory that a restart of the machine
/// leaves as it is. Here a pipe leads to the ring.
#[test]
fn a_ring_of_memory_holds_the_last_records_with_their_names() {
    const RING: usize = 32 << 10;
    let folder = tempfile::tempdir().unwrap();
    let workshop = Workshop::open();
    let server = workshop.compile_server(folder.path());
    let device = folder.path().join("pmsg0");
    workshop::run(Command::new("mkfifo").arg(&device));
    // The server does not wait for long until the pipe has a reader.
    let mut reader = fs::File::options();
    let reader = reader.read(true).custom_flags(libc::O_NONBLOCK);
    let reader = reader.open(&device).unwrap();
    let server = Command::new(server).arg(&device).arg("0").spawn();
    let server = Running(server.unwrap());
    let mut written = Vec::new();
    let pipe = fs::File::open(&device).unwrap();
    drop(reader);
    // The definitions are at its start, and the ring does not hold them.
    pipe.take(512 << 10).read_to_end(&mut written).unwrap();
    drop(server);

    let (all, ring) = (folder.path().join("all"), folder.path().join("ring"));
    fs::write(&all, &written).unwrap();
    fs::write(&ring, &written[written.len() - RING..]).unwrap();
    let view = |log: &Path| {
        let mut view = workshop.command("logdef");
        view.args(["view", "--backtrace", "none"]);
        let output = workshop::run(view.arg("--image-dir").arg(folder.path()).arg(log));
        String::from_utf8(output.stdout).unwrap()
    };
    let frames = frames::scan(&fs::read(&ring).unwrap());
    let whole = frames.iter().filter(|frame| frame.is_data()).count();
    // Names of threads are among what the ring has no more.
    let nameless = |line: &str| {
        let (when, rest) = line.split_once(" [").unwrap();
        let (_, what) = rest.split_once("] ").unwrap();
        format!("{when} {}", what.replace("[recovered] ", ""))
    };
    let all: HashSet<_> = view(&all).lines().map(nameless).collect();
    let held: Vec<_> = view(&ring).lines().map(nameless).collect();
    assert!(whole > 100, "{whole}");
    assert_eq!(held.len(), whole);
    for line in held {
        assert!(all.contains(&line), "{line}");
    }
}

#[test]
fn copies_of_a_log_with_holes_hold_what_it_holds() {
    let Some(disk) = Disk::mount("ext4", 128) else {
        return;
    };
    let folder = disk.root();
    // What threads did not fill is zeros.
    let log = disk.path("app.log");
    let mut rotor = Workshop::open().command("rotor");
    rotor.arg(&log).args(["8000000", "60000", "2", "1", "5"]);
    rotor.arg("mapped");
    assert!(rotor.status().unwrap().success());
    let file = files(&log)[0].clone();
    let name = file.file_name().unwrap().to_str().unwrap();
    // As where the oldest parts were given up: a hole of a megabyte.
    assert!(run(
        folder,
        &["fallocate", "-p", "-o", "1048576", "-l", "1048576", name]
    ));
    let original = fs::read(&file).unwrap();
    let taken = blocks(&file);
    assert!(taken < original.len() as u64);
    let copies: [(&str, &[&str], bool); 5] = [
        ("plain", &["cp", "--sparse=never", name, "plain"], false),
        ("sparse", &["cp", "--sparse=always", name, "sparse"], true),
        ("by itself", &["cp", name, "by itself"], true),
        (
            "tar/",
            &[
                "sh",
                "-c",
                "mkdir tar && tar -cSf - \"$0\" | tar -xf - -C tar",
                name,
            ],
            true,
        ),
        ("rsync", &["rsync", "-S", name, "rsync"], true),
    ];
    for (copy, words, is_sparse) in copies {
        if !run(folder, words) {
            continue;
        }
        let copy = match copy {
            "tar/" => folder.join("tar").join(name),
            copy => folder.join(copy),
        };
        assert!(fs::read(&copy).unwrap() == original, "{words:?}");
        assert_eq!(blocks(&copy) <= taken, is_sparse, "{words:?}");
    }
    let said = Command::new("du").arg("-B1").arg(&file).output().unwrap();
    let du: u64 = String::from_utf8_lossy(&said.stdout)
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(du, taken);
}
