//! A log that is appended to and was closed keeps no descriptor, though threads that logged live on, nor
//! does asking for its state open one: the space of a file that is removed comes back.

mod common;

use logdef::{Options, Sink, logdef};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What the process has open in the folder.
fn open_files(folder: &Path) -> BTreeSet<PathBuf> {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = links.filter_map(|link| link.unwrap().path().read_link().ok());
    open.filter(|path| path.starts_with(folder)).collect()
}

fn ways() -> [(&'static str, Options); 2] {
    let appended = logdef::options().sink(Sink::Append);
    [
        ("one file", appended.clone()),
        ("rotated", appended.rotate(16 << 10)),
    ]
}

#[test]
fn an_appended_log_that_was_closed_has_no_open_file() {
    for (way, options) in ways() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        common::in_child(|| {
            for round in 0..3 {
                options.clone().open(&path).unwrap();
                // The thread lives on.
                for number in 0..1000 {
                    logdef!(Info, "%u of %u", number, round);
                }
                assert!(!open_files(folder.path()).is_empty(), "{way}");
                logdef::close();
                assert_eq!(open_files(folder.path()), BTreeSet::new(), "{way}");
                let state = logdef::state();
                assert!(!state.is_open);
                assert_eq!(open_files(folder.path()), BTreeSet::new(), "{way}, asked");
                logdef!(Info, "dropped");
                assert_eq!(open_files(folder.path()), BTreeSet::new(), "{way}, a call");
            }
        });
    }
}
