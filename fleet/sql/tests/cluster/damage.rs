//! Workers that die, hang, were never there, or have other files: the answer is right, or an error names the worker.

use std::sync::atomic::Ordering;

use crate::process::{Data, Worker, addresses, answer, archive, ask, error};
use crate::proxy::Proxy;

const QUERY: &str = "select * from records order by run, thread, seq";

/// Asks two workers, of which one gets a signal when it has sent `after` bytes. Says whether the answer was right, and
/// how many bytes that worker sent.
fn with_signal_after(after: usize, signal: &'static str, set: &str) -> (bool, usize) {
    let data = Data::get();
    let path = data.path(set);
    let (other, worker) = (Worker::new(&data.root), Worker::new(&data.root));
    let id = worker.process.id().to_string();
    let send = move || {
        std::process::Command::new("kill")
            .args([signal, &id])
            .status()
            .unwrap();
    };
    let proxy = Proxy::new(&worker.address, after, |_| (), Box::new(send));
    let addresses = format!("{},{}", other.address, proxy.address);
    let output = ask(
        &["--workers", &addresses, "--timeout", "2"],
        &[&path],
        QUERY,
    );
    let said = String::from_utf8(output.stderr).unwrap();
    let passed = proxy.passed.load(Ordering::SeqCst);
    let local = answer(&[], &[&path], QUERY);
    let rows = String::from_utf8(output.stdout).unwrap();
    if output.status.success() {
        assert_eq!((rows, said), local, "{signal} after {after} bytes");
        return (true, passed);
    }
    // What was written before is right.
    assert!(
        local.0.starts_with(&rows),
        "{signal} after {after} bytes: {rows}"
    );
    assert!(
        said.contains(&format!("worker {}", proxy.address)),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    (false, passed)
}

#[test]
fn a_worker_killed_at_any_moment_of_its_answer_makes_no_short_answer() {
    for set in ["kept", "damaged"] {
        let (right, all) = with_signal_after(usize::MAX, "-9", set);
        assert!(right && all > 2000, "{all} bytes");
        let mut failed = 0;
        for after in [0, 100, 200, all / 4, all / 2, all / 4 * 3, all - 20] {
            failed += usize::from(!with_signal_after(after, "-9", set).0);
        }
        assert!(failed >= 3, "{failed} of 7 queries failed");
    }
}

#[test]
fn a_worker_that_hangs_is_given_up_after_a_time() {
    for after in [0, 300, 2000] {
        let (right, _) = with_signal_after(after, "-STOP", "kept");
        assert!(!right, "stopped after {after} bytes");
    }
}

#[test]
fn a_worker_that_never_was_there_is_named() {
    let data = Data::get();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let worker = Worker::new(&data.root);
    let both = format!("{},{address}", worker.address);
    let said = error(&["--workers", &both], &[&data.path("kept")], QUERY);
    assert!(
        said.contains(&format!("worker {address}")) && said.contains("refused"),
        "{said}"
    );
}

#[test]
fn what_is_no_address_is_refused() {
    let path = Data::get().path("kept");
    for address in ["", "nowhere:port", "127.0.0.1:1/x", "a b:1"] {
        assert!(
            error(&["--workers", address], &[&path], QUERY).contains("worker"),
            "{address}"
        );
    }
    let twice = error(&["--workers", "127.0.0.1:9,127.0.0.1:9"], &[&path], QUERY);
    assert!(twice.contains("twice"), "{twice}");
}

#[test]
fn a_worker_reads_nothing_outside_of_its_folders() {
    let data = Data::get();
    let own = tempfile::tempdir().unwrap();
    let worker = Worker::new(own.path());
    let addresses = addresses([&worker]);
    let link = own.path().join("link");
    std::os::unix::fs::symlink(data.path("kept"), &link).unwrap();
    let logs = own.path().join("app.log");
    std::os::unix::fs::symlink(data.path("logs").join("api.log"), &logs).unwrap();
    for path in [&data.path("kept"), &link, &data.path("logs"), &logs] {
        assert!(
            answer(&[], &[path], QUERY).0.lines().count() > 1,
            "{}",
            path.display()
        );
        let said = error(&["--workers", &addresses], &[path], QUERY);
        assert!(
            said.contains(&worker.address) && said.contains("--data"),
            "{}: {said}",
            path.display()
        );
    }
}

/// What becomes of the bytes of a file.
type Change = fn(Vec<u8>) -> Option<Vec<u8>>;

/// A coordinator and a worker that see different files at one path: the worker runs in a folder of its own, which is
/// the one that was asked about until the worker looks.
#[test]
fn a_worker_with_another_file_of_the_same_name_says_so() {
    let data = Data::get();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let worker = Worker::new(folder.path());
    archive(&data.path("logs"), &path);
    let records = path.join("part-000001/records.parquet");
    let original = std::fs::read(&records).unwrap();
    let local = answer(&[], &[&path], QUERY);
    // The worker is asked through a relay that puts another file there when the plan has been made.
    let cases: [(&str, Change); 4] = [
        ("another length", |bytes| {
            Some([bytes.as_slice(), b"PAR1"].concat())
        }),
        ("the same length", |bytes| {
            Some(bytes.iter().rev().copied().collect())
        }),
        ("another time", Some),
        ("none", |_| None),
    ];
    for (what, change) in cases {
        std::fs::write(&records, &original).unwrap();
        let (records, changed) = (records.clone(), change(original.clone()));
        let put = move || {
            std::fs::remove_file(&records).unwrap();
            if let Some(bytes) = changed {
                std::fs::write(&records, bytes).unwrap();
            }
        };
        let relay = crate::foreign::late(&worker.address, put);
        let said = error(&["--workers", &relay], &[&path], QUERY);
        assert!(
            said.contains(&relay) && said.contains("records.parquet"),
            "{what}: {said}"
        );
    }
    std::fs::write(&records, &original).unwrap();
    assert_eq!(
        answer(&["--workers", &worker.address], &[&path], QUERY),
        local
    );
}
