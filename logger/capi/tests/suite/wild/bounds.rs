//! Bounds of age and size, and what is removed for them.

use super::*;

#[test]
fn a_file_that_is_old_is_followed_by_another() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("app.log");
        let output = story(&log, "ages", &[sink]).output().unwrap();
        succeeded(&output);
        let logged: i128 = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap();
        let files = files(directory.path());
        assert_eq!(files.len(), 2, "{files:?}");
        let numbers = numbers(&files);
        let first = numbers[0];
        assert!(first > 0, "two files are kept");
        assert!(numbers.into_iter().eq(first..logged), "{sink}");
    }
}

/// Whether a file is of a log.
fn is_of(file: &Path, log: &str) -> bool {
    let name = file.file_name().unwrap().to_str().unwrap();
    name.starts_with(log)
}

/// Bytes that files take of the file system.
fn blocks(files: &[PathBuf]) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let all = files.iter().map(|file| std::fs::metadata(file).unwrap());
    all.map(|file| file.blocks() * 512).sum()
}

#[test]
fn all_logs_of_a_directory_keep_within_a_bound_and_nothing_else_is_removed() {
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let log = at("app.log");
        // An older log of another name, and one whose process lives.
        succeeded(&story(&at("other"), "logs", &[sink]).output().unwrap());
        std::fs::write(at("app.log.20261119"), "a text log\n").unwrap();
        std::fs::write(at("notes.txt"), "no log\n").unwrap();
        let mut lives = story(&at("lives"), "waits", &[MAPPED, "131072", "2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut done = BufReader::new(lives.stdout.take().unwrap()).lines();
        let mut go = lives.stdin.take().unwrap();
        writeln!(go, "go").unwrap();
        done.next().unwrap().unwrap();
        succeeded(&story(&log, "folds", &[sink, "100000"]).output().unwrap());
        let all = files(directory.path());
        assert!(all.contains(&at("other")));
        let of_other = all.iter().filter(|file| is_of(file, "lives")).count();

        succeeded(&story(&log, "folds", &[sink, "512"]).output().unwrap());
        let left = files(directory.path());
        assert!(!left.contains(&at("other")), "{sink} {left:?}");
        assert!(left.contains(&at("app.log.20261119")) && left.contains(&at("notes.txt")));
        let living = |file: &&PathBuf| is_of(file, "lives");
        assert_eq!(left.iter().filter(living).count(), of_other, "{left:?}");
        // What was full, and the file that is written to.
        assert!(blocks(&left) <= (512 + 128 + 16) << 10, "{sink} {left:?}");
        let newest = std::fs::read_link(&log).unwrap();
        let newest = directory.path().join(newest);
        assert_eq!(numbers(&[newest]).last(), Some(&19_999));
        drop(go);
        assert!(lives.wait().unwrap().success());
    }
}

/// Each call that a handler jumped out of kept its hold on the file that it wrote to: after 32 files every call was
/// dropped. A jump out of the opening of a file had the log grow beyond its size for 10 seconds.
#[test]
fn a_log_whose_calls_handlers_jump_out_of_keeps_its_bounds() {
    let program = build_stories("jumped");
    for sink in [MAPPED, APPEND] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let output = Command::new(&program).arg(&log).arg(sink).output().unwrap();
        succeeded(&output);
        let said = String::from_utf8(output.stdout).unwrap();
        let said: Vec<u64> = said
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        let [dropped, error, largest, descriptors] = said[..] else {
            panic!("{said:?}");
        };
        assert_eq!((dropped, error), (0, 0), "{sink}");
        // A mapped file has whole chunks.
        assert!(largest <= 128 << 10 && descriptors < 50, "{sink} {said:?}");
        // The link, and the files that are kept.
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            1 + 4,
            "{sink}"
        );
    }
}
