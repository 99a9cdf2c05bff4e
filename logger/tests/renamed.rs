//! A thread that is renamed after its first record has its new name from its next chunk on: in a
//! log that is appended to, from its next file on.

mod common;

use logdef::{Sink, logdef};
use logdef_wire::Record;
use std::ffi::CStr;
use std::path::Path;

fn rename(name: &CStr) {
    // SAFETY: a C string of less than 16 bytes, and the calling thread.
    let done = unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    assert_eq!(done, 0);
}

const CALLS: u32 = 5_000;
const BEFORE: usize = 10;

/// The name that is known of the thread at each of its records, and the names of the chunks.
fn names(files: &[impl AsRef<Path>]) -> (Vec<String>, Vec<String>) {
    let (mut of_records, mut of_chunks) = (Vec::new(), Vec::new());
    for file in files {
        let mut name = None;
        common::records(&std::fs::read(file).unwrap(), |record| match record {
            Record::ThreadLogdef(thread) => {
                let known = String::from_utf8(thread.name.unwrap().to_vec()).unwrap();
                of_chunks.push(known.clone());
                name = Some(known);
            }
            Record::Data(_) => of_records.push(name.clone().unwrap()),
            _ => {}
        });
    }
    (of_records, of_chunks)
}

#[test]
fn a_thread_that_is_renamed_has_its_new_name_from_its_next_chunk_on() {
    let mapped = logdef::options().sink(Sink::Mapped);
    let appended = logdef::options().sink(Sink::Append).rotate(128 << 10);
    for options in [mapped, appended] {
        let directory = tempfile::tempdir().unwrap();
        options.open(directory.path().join("log")).unwrap();
        let logs = || {
            rename(c"before");
            for call in 0..CALLS {
                if call as usize == BEFORE {
                    rename(c"after");
                }
                logdef!(Info, "%u of %s", call, "a thread with a name");
            }
        };
        std::thread::spawn(logs).join().unwrap();
        logdef::close();

        let entries = std::fs::read_dir(directory.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths.filter(|path| !path.is_symlink()).collect();
        files.sort();
        let (of_records, of_chunks) = names(&files);
        assert_eq!(of_records.len(), CALLS as usize);
        let renamed = of_records.iter().position(|name| name == "after");
        let renamed = renamed.expect("a record with the new name");
        assert!(renamed >= BEFORE, "{renamed}");
        assert!(of_records[..renamed].iter().all(|name| name == "before"));
        assert!(of_records[renamed..].iter().all(|name| name == "after"));
        // The first chunk alone has the name that the thread had at its first record.
        let old = of_chunks.iter().filter(|name| *name == "before").count();
        assert!(of_chunks.len() > 1 && old == 1, "{of_chunks:?}");
    }
}
