//! Which of a log's files are removed: those that are not kept, and for the sake of the directory
//! any that no process has open.

use super::link::unless_gone;
use super::number::number_of;
use super::places::Name;
use super::unfinished::{Begun, Ended, Note, Work, is_young};
use super::{Names, UNNUMBERED};
use crate::sink::folder::{self, Found};
use crate::sink::owner::Left;
use crate::sys::{self, Errno};
use core::ffi::{CStr, c_int};
use core::sync::atomic::Ordering;

impl Names {
    /// Whether files may be removed for the sake of the directory.
    pub fn bounds_folder(&self) -> bool {
        self.folder_bytes.load(Ordering::Relaxed) > 0
    }

    /// File `number`, which was made by [`Names::create_numbered`], is the log's as the `turn`th.
    pub fn enter(&self, turn: u64, number: u32, inode: u64) {
        self.put(turn, number, inode);
        self.unfinished.end_making(number);
    }

    fn put(&self, turn: u64, number: u32, inode: u64) {
        let place = self.places.of_turn(turn);
        if !self.places.put(place, number, inode) {
            self.remove_at(place);
        }
    }

    /// Enters file `number`, if its process has not yet: it may have been killed.
    pub fn confirm(&self, turn: u64, number: u32) {
        let place = self.places.of_turn(turn);
        if number != UNNUMBERED
            && self.places.number_at(place) != number
            && let Some(inode) = self.unfinished.inode_of(number)
        {
            self.put(turn, number, inode);
        }
    }

    /// From now on, files are cleared as they are removed.
    pub fn clear_what_is_removed(&self) {
        self.clears.store(true, Ordering::Relaxed);
    }

    /// Whether the log's `turn`th file has this number and this inode.
    pub fn is(&self, turn: u64, number: u32, inode: u64) -> bool {
        let place = self.places.of_turn(turn);
        self.places.holds(place, number, inode)
    }

    /// Removes what is not kept when the newest is the `turn`th.
    pub fn prune(&self, turn: u64) {
        let keep = self.keep.load(Ordering::Relaxed) as u64;
        let newest = self.places.of_turn(turn);
        if let Some(oldest) = (newest + 1).checked_sub(keep).filter(|_| keep > 0) {
            self.remove_below(oldest);
        }
        let bytes = self.folder_bytes.load(Ordering::Relaxed);
        if bytes > 0 {
            let _ = self.with_directory(|directory| {
                folder::keep_within(directory, bytes, |log| self.remove_log(log, newest));
            });
        }
    }

    /// Removes the log's files before the `turn`th.
    pub fn remove_before(&self, turn: u64) {
        self.remove_below(self.places.of_turn(turn));
    }

    /// Removes a log of the directory, and with one of this log's own files those before it.
    /// `false` if it stays.
    fn remove_log(&self, log: &Found<'_>, newest: u64) -> bool {
        let number = number_of(log.name.to_bytes(), self.name()).unwrap_or(UNNUMBERED);
        let own = (number != UNNUMBERED).then(|| self.places.find(number, newest));
        match own.flatten() {
            Some(place) if place < newest => {
                self.remove_below(place + 1);
                true
            }
            Some(_) => false,
            None => log.remove(),
        }
    }

    fn remove_below(&self, oldest: u64) {
        for place in self.places.prune_below(oldest) {
            self.remove_at(place);
        }
        self.places.swept_below(oldest);
        self.places.each_refused(|place| self.remove_at(place));
    }

    /// Files of earlier turns were removed.
    pub fn oldest_turn(&self) -> u64 {
        self.places.oldest_turn()
    }

    /// Whether nothing but this log leads to its `turn`th file, which is to be removed or was, when the
    /// newest is the `newest`th: then its space can be given back, though processes have it open. `false`
    /// for a file of a log that the process closed before.
    pub fn is_ours_alone(&self, turn: u64, newest: u64) -> bool {
        let newest = self.places.of_turn(newest);
        let Some(place) = self.places.of_own_turn(turn) else {
            return false;
        };
        match self.places.name_at(place, newest) {
            Name::None => true,
            Name::Unknown => false,
            Name::Number(number, inode) => {
                let found = self.with(number, sys::found_at).and_then(|found| found);
                found.is_ok_and(|found| found.file.1 == inode && found.names == 1)
            }
        }
    }

    fn remove_at(&self, place: u64) {
        let Some((number, inode)) = self.places.file_at(place) else {
            return;
        };
        let note = self.unfinished.begin(Begun {
            work: Work::Removing,
            number,
            detail: inode,
        });
        if self.places.take(place, number) {
            self.remove(place, number, inode, note);
        }
        if let Some(note) = note {
            note.end();
        }
    }

    /// Removes the name of a file that was taken from its place.
    fn remove(&self, place: u64, number: u32, inode: u64, note: Option<&Note>) {
        let removed = self.with(number, |path| {
            // The directory may be another one by now, and the file another process's; one of an
            // earlier run that held nothing may be the beginning of a log.
            let found = sys::found_at(path).ok();
            let left = (inode == 0).then(|| Left::at(path));
            let is_it = match &left {
                // It is gone, or was replaced.
                Some(Err(Errno(libc::ENOENT | libc::ELOOP))) => false,
                Some(Err(errno)) => return Err(*errno),
                Some(Ok(_)) => true,
                None => found.is_some_and(|found| found.file.1 == inode),
            };
            if !is_it {
                return Ok(());
            }
            if let (Some(note), Some(found)) = (note, found) {
                note.set_inode(found.file.1);
            }
            // Else a link of another program's leads to it still.
            let is_last = found.is_some_and(|found| found.names == 1);
            if is_last {
                self.places.mark_nameless(place, inode);
            }
            let clears = is_last && inode != 0 && self.clears.load(Ordering::Relaxed);
            let open = clears.then(|| sys::open(path, libc::O_WRONLY | libc::O_NOFOLLOW, 0));
            // The blocks after its end come back when it is cut there. By its name: what a descriptor leads
            // to may be another file by then.
            if let Some(found) = found.filter(|_| clears) {
                let _ = sys::set_size(path, found.size);
            }
            let removed = sys::unlink(path).or_else(unless_gone);
            if let Some(Ok(fd)) = open {
                clear_if_nameless(fd, inode);
            }
            removed
        });
        if let Ok(Err(_)) = removed {
            self.places.refuse(place, number, inode);
        }
    }
}

/// What processes of the family that were killed had begun.
impl Names {
    /// Ends that. `newest` says which file is the newest, as which, now.
    pub fn end_work_of_the_dead(&self, newest: impl Fn() -> (u64, u32)) {
        self.unfinished.each_left(|begun| {
            let Begun { number, detail, .. } = begun;
            let ended = match begun.work {
                _ if number == UNNUMBERED => return Ended::Yes,
                Work::Making => {
                    // Asked for when the process is dead: it lets no other file be the newest any more.
                    let (turn, current) = newest();
                    if number == current {
                        self.put(turn, number, detail);
                    }
                    let place = self.places.of_turn(turn);
                    if self.places.find(number, place).is_some() {
                        return Ended::Yes;
                    }
                    self.with(number, |path| discard_left(path, detail))
                }
                Work::Removing => self.with(number, |path| remove_left(path, detail)),
                Work::Linking => self.remove_left_link(number, detail),
            };
            ended.unwrap_or(Ended::NotYet)
        });
    }
}

/// Removes the file with this inode.
fn remove_left(path: &CStr, inode: u64) -> Ended {
    if inode != 0 && sys::found_at(path).is_ok_and(|found| found.file.1 == inode) {
        let _ = sys::unlink(path);
    }
    Ended::Yes
}

/// Removes the file with this inode, or an empty one if its inode is not known, unless a process has it in
/// use.
fn discard_left(path: &CStr, inode: u64) -> Ended {
    let is_it = |found: &sys::Identity| match inode {
        0 => found.size == 0,
        inode => found.file.1 == inode,
    };
    if !sys::found_at(path).is_ok_and(|found| is_it(&found)) {
        return Ended::Yes;
    }
    let left = match Left::at(path) {
        Err(Errno(libc::EBUSY)) => return Ended::NotYet,
        Err(_) => return Ended::Yes,
        Ok(left) => left,
    };
    if inode == 0 && is_young(left.modified_s()) {
        return Ended::NotYet;
    }
    if inode != 0 || left.is_empty() {
        let _ = sys::unlink(path);
    }
    Ended::Yes
}

/// No file system has larger blocks.
const BLOCK: u64 = 64 << 10;

/// Gives the space of a file back, if it is the one with this inode and has no name, and closes the
/// descriptor.
fn clear_if_nameless(fd: c_int, inode: u64) {
    if let Ok(found) = sys::identity(fd)
        && found.file.1 == inode
        && found.names == 0
    {
        // Only whole blocks are given back.
        let _ = sys::punch(fd, 0, found.size.next_multiple_of(BLOCK));
    }
    sys::close(fd);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{create, list, names, until_left};
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::time::{Duration, SystemTime};

    /// It stayed for good: no process knew that it was the log's.
    #[test]
    fn a_file_that_was_the_newest_when_its_process_was_killed_is_entered() {
        let (directory, names) = names(Some(2));
        let number = create(&names);
        names.unfinished.end_all_owners();
        names.end_work_of_the_dead(|| (1, number));
        let number = create(&names);
        names.unfinished.end_all_owners();
        names.confirm(2, number);
        names.end_work_of_the_dead(|| (3, 0));
        names.prune(2);
        assert_eq!(list(&directory), ["log.000001", "log.000002"]);
        names.prune(4);
        assert_eq!(list(&directory), [""; 0]);
    }

    /// So did these.
    #[test]
    fn files_in_the_making_go_when_their_process_was_killed() {
        let (directory, names) = names(Some(2));
        let (used, _) = names.create_numbered().unwrap();
        for _ in 2..=5 {
            create(&names);
        }
        let path = |number: u32| directory.path().join(format!("log.{number:06}"));
        // Another process's by now.
        let other = directory.path().join("other");
        std::fs::write(&other, "").unwrap();
        std::fs::rename(other, path(3)).unwrap();
        // The kernel had made them, and the process did not come to note that.
        (4..=5).for_each(|number| names.unfinished.forget_inode(number));
        (2..=5).for_each(|number| until_left(&path(number)));
        std::fs::write(path(5), "something").unwrap();
        let left = || {
            names.end_work_of_the_dead(|| (1, UNNUMBERED));
            list(&directory).concat().replace("log.00000", "")
        };
        assert_eq!(left(), "12345", "this process lives");
        names.unfinished.end_all_owners();
        assert_eq!(left(), "1345");
        used.close();
        until_left(&path(1));
        let minute_ago = SystemTime::now() - Duration::from_secs(60);
        let file = File::options().append(true).open(path(4)).unwrap();
        file.set_modified(minute_ago).unwrap();
        assert_eq!(left(), "35");
    }

    /// What an earlier run had left there was gone, by another process, and a third one had made this: it was
    /// removed, since no log stood in it yet.
    #[test]
    fn an_empty_file_that_a_process_has_in_use_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (path, left) = (
            directory.path().join("log"),
            directory.path().join("log.000001"),
        );
        std::fs::write(&left, "").unwrap();
        let names = Names::new();
        names.set(path.as_os_str().as_bytes(), Some(1), 1).unwrap();
        let file = File::open(&left).unwrap();
        sys::mark_in_use(file.as_raw_fd());
        let begin = |turn| {
            let (made, number) = names.create_numbered().unwrap();
            made.close();
            names.enter(turn, number, made.file.file.1);
            names.prune(turn);
            list(&directory)
        };
        assert_eq!(begin(1), ["log.000001", "log.000002"]);
        drop(file);
        until_left(&left);
        assert_eq!(begin(2), ["log.000003"], "it is tried again");
    }

    #[test]
    fn a_link_that_was_to_become_the_path_goes_when_its_thread_is_seen_nowhere_for_a_while() {
        let (directory, names) = names(Some(2));
        let thread = 77;
        names.unfinished.begin(Begun {
            work: Work::Linking,
            number: 1,
            detail: thread,
        });
        names.unfinished.end_all_owners();
        let link = directory
            .path()
            .join(format!("log.000001.{thread:06}.link"));
        std::os::unix::fs::symlink("log.000001", &link).unwrap();
        names.end_work_of_the_dead(|| (1, 1));
        assert!(link.is_symlink());
        let mut touch = std::process::Command::new("touch");
        touch.args(["--no-dereference", "--date", "1 minute ago"]);
        assert!(touch.arg(&link).status().unwrap().success());
        names.end_work_of_the_dead(|| (1, 1));
        assert_eq!(list(&directory), [""; 0]);
    }
}
