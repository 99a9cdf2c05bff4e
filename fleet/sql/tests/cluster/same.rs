//! The same rows, counts and checksums as the local engine gives.

use std::path::Path;

use crate::process::{Data, Worker, addresses, answer, error};

/// All rows; then count by call, slowest per minute, a substring, a request, and errors with what came before.
const QUESTIONS: [&str; 7] = [
    "select * from records order by run, thread, seq",
    "select count(*), sum(seq), min(time), max(time), bit_xor(seq * 1000003 + thread), count(distinct message) from records",
    "select format, line, count(*) as n from records join sites using (site) group by format, line order by n desc, format, line",
    "select date_trunc('minute', time) as minute, count(*) as n, percentile_cont(0.99) within group (order by f0) as p99
     from records where f0 is not null group by minute order by minute",
    "select time, message from records where message like '%slow%' or message like '%00%' order by time, run, thread, seq",
    "select run, thread, seq, message from records where s0 = (select min(s0) from records where s0 like '%a%')
     order by time, run, thread, seq",
    "with numbered as (
       select *, max(case when level >= 48 then seq end) over
         (partition by run, thread order by seq rows between current row and 5 following) as near
       from records)
     select run, thread, seq, level, message from numbered where near is not null
     order by time desc, run, thread, seq limit 100",
];

const SETS: [&str; 4] = ["kept", "kept-damaged", "logs", "damaged"];

fn compare(workers: &[Worker], set: &str, options: &[&str], questions: &[&str]) {
    let path = Data::get().path(set);
    let addresses = addresses(workers);
    // All at once, since a process takes its time to start.
    let questions = questions.join(";\n");
    let local = answer(&[], &[&path], &questions);
    let mut all = vec!["--workers", &addresses];
    all.extend(options);
    let spread = answer(&all, &[&path], &questions);
    let mut differing = spread.0.lines().zip(local.0.lines());
    let differing = differing.find(|(spread, local)| spread != local);
    assert_eq!(differing, None, "{set} {options:?}");
    assert_eq!(spread.0.len(), local.0.len(), "{set} {options:?}");
    assert_eq!(spread.1, local.1, "{set} {options:?}");
}

#[test]
fn each_question_has_rows() {
    for set in SETS {
        for query in QUESTIONS {
            let rows = answer(&[], &[&Data::get().path(set)], query).0;
            assert!(rows.lines().count() > 1, "{set} has no rows for {query}");
        }
    }
}

fn workers(number: usize) -> Vec<Worker> {
    (0..number)
        .map(|_| Worker::new(&Data::get().root))
        .collect()
}

#[test]
fn three_workers_answer_as_the_local_engine_does() {
    let workers = workers(3);
    for set in SETS {
        compare(&workers, set, &[], &QUESTIONS);
    }
}

#[test]
fn pieces_of_any_size_give_the_same_rows() {
    let workers = workers(2);
    for set in SETS {
        // Far more pieces than there are slots, and one for each file.
        for split in ["64", "5000", "1000000000"] {
            compare(&workers, set, &["--split", split], &QUESTIONS);
        }
    }
}

#[test]
fn one_to_four_workers_give_the_same_rows() {
    let workers = workers(4);
    for number in 1..=4 {
        for set in ["kept-damaged", "damaged"] {
            compare(&workers[..number], set, &["--split", "3000"], &QUESTIONS);
        }
    }
}

#[test]
fn no_row_comes_twice_though_scans_take_work_from_each_other() {
    let workers = workers(2);
    for set in ["kept", "logs"] {
        compare(
            &workers,
            set,
            &["--split", "500", "--work-stealing"],
            &QUESTIONS,
        );
    }
}

#[test]
fn several_paths_are_asked_together() {
    let data = Data::get();
    let workers = workers(2);
    let addresses = addresses(&workers);
    let (kept, logs) = (data.path("kept-damaged"), data.path("logs"));
    let paths: [&Path; 2] = [&kept, &logs];
    for query in &QUESTIONS[..2] {
        let local = answer(&[], &paths, query);
        assert_eq!(answer(&["--workers", &addresses], &paths, query), local);
    }
}

#[test]
fn stacks_are_the_same() {
    let folder = Data::get().path("stacks");
    std::fs::create_dir_all(&folder).unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/orders.log.gz");
    std::fs::copy(packed, folder.join("orders.log.gz")).unwrap();
    let query = "select run, thread, seq, stack(backtrace, run, time) as stack from records
         where backtrace is not null order by run, thread, seq";
    let local = answer(&["--no-logged-paths"], &[&folder], query);
    assert!(local.0.contains("orders+0x"), "{}", local.0);
    let workers = workers(2);
    let addresses = addresses(&workers);
    let options = [
        "--no-logged-paths",
        "--workers",
        &addresses,
        "--split",
        "3000",
    ];
    assert_eq!(answer(&options, &[&folder], query), local);
}

#[test]
fn an_error_of_a_query_is_the_one_of_the_local_engine() {
    let path = Data::get().path("kept");
    let workers = workers(1);
    let local = error(&[], &[&path], "select nothing from records");
    assert_eq!(
        error(
            &["--workers", &addresses(&workers)],
            &[&path],
            "select nothing from records"
        ),
        local
    );
}
