//! How a service ends, and what is kept of what was sent to it.

use super::*;

#[test]
fn nothing_acknowledged_is_lost_when_the_service_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("nested/logdef");
    for round in 0..3 {
        let mut process = serve(&path);
        let answered: [AtomicU64; 4] = Default::default();
        let acknowledged = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer: u64| {
                    let path = &path;
                    let answered = &answered[writer as usize];
                    scope.spawn(move || {
                        let client = Client::connect(path).unwrap();
                        let mut acknowledged = 0;
                        for number in 0.. {
                            let arguments: [(&str, Value<'_>); 3] = [
                                ("round", round.into()),
                                ("writer", writer.into()),
                                ("number", number.into()),
                            ];
                            client.write(Severity::INFO, "numbered", &arguments);
                            if number % 16 == 15 {
                                match client.sync() {
                                    Ok(synced) => acknowledged = synced.stored,
                                    Err(_) => break,
                                }
                                answered.store(acknowledged, Ordering::Relaxed);
                            }
                        }
                        acknowledged
                    })
                })
                .collect();
            // In the middle of the work of all four.
            let is_busy = |answered: &AtomicU64| answered.load(Ordering::Relaxed) >= 100;
            let deadline = Instant::now() + Duration::from_secs(60);
            while !answered.iter().all(is_busy) {
                assert!(Instant::now() < deadline, "{answered:?}");
                std::thread::sleep(Duration::from_millis(5));
            }
            process.signal(Signal::KILL);
            process.child.wait().unwrap();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect::<Vec<_>>()
        });
        // In the file: memory holds less.
        let mut found = [0; 4];
        LogStorage::replay(&path.join("records.log"), |stored| {
            let (record, _) = Record::parse(stored.record, Profile::Strict).unwrap();
            let keys: BTreeMap<_, _> = record.arguments().map(|a| (a.name, a.value)).collect();
            if keys["round"] == Value::UnsignedInt(round) {
                let Value::UnsignedInt(writer) = keys["writer"] else {
                    panic!("{keys:?}");
                };
                found[writer as usize] += 1;
            }
        })
        .unwrap();
        for (found, acknowledged) in found.iter().zip(&acknowledged) {
            assert!(
                found >= acknowledged,
                "{found} found of {acknowledged} acknowledged"
            );
        }
        assert!(acknowledged.iter().sum::<u64>() > 0);
    }
}

#[test]
fn the_service_ends_on_sigterm_with_all_that_was_sent() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = serve(directory.path());
    let client = Client::connect(directory.path()).unwrap();
    for _ in 0..100 {
        client.write(Severity::INFO, "sent", &[]);
    }
    let sent = 100 - client.dropped();
    process.signal(Signal::TERM);
    process.line("ended");
    assert!(process.child.wait().unwrap().success());
    assert!(!directory.path().join("log").exists());
    let again = serve(directory.path());
    assert_eq!(
        answers(directory.path(), &Request::default()).count() as u64,
        sent
    );
    drop(again);
}
