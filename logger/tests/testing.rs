//! What tests capture, without a file: of their own thread or of all, several at the same
//! time, with a log and without one.

use logdef::testing::{self, Value};
use logdef::{Context, Level, debug, logdef, logdef_attach, logdef_every_n, value};
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

#[test]
fn a_record_has_all_that_was_logged() {
    let logged = testing::capture();
    let (host, port) = ("example.org", 443u16);
    let line = line!() + 1;
    logdef!(
        Warn,
        "{host}:{port} in {:.1} ms",
        2.26,
        tries = u64::MAX,
        secure = true,
        none = None::<u8>
    );
    logdef!(Error, "%s is key=%d\n", "two\nlines \u{1b}[2J", -5);
    assert_eq!(
        logged.messages(),
        [
            "example.org:443 in 2.3 ms",
            "two\nlines \u{1b}[2J is key=-5"
        ]
    );
    let record = &logged.records()[0];
    assert_eq!((record.level(), record.line()), (Level::WARN, line));
    assert_eq!((record.file(), record.module()), (file!(), module_path!()));
    assert_eq!(record.target(), module_path!());
    assert_eq!(record["host"], "example.org");
    assert_eq!(record["port"], 443);
    assert_eq!(record["tries"], u64::MAX);
    assert_ne!(record["tries"], -1);
    assert_eq!(record["secure"], true);
    assert_eq!(record["none"], Value::None);
    assert_eq!(record.values()[0], (None, Value::Float(2.26)));
    assert!(record.get("nothing").is_none());
    let age = SystemTime::now().duration_since(record.time()).unwrap();
    assert!(age < Duration::from_secs(3600));
    let shown = logged.records()[1].to_string();
    assert!(shown.contains("two\\nlines \\u{1b}[2J is"), "{shown}");
}

#[test]
fn every_type_comes_back_as_it_was() {
    let logged = testing::capture();
    logdef!(
        Info,
        "types",
        large = u128::MAX,
        small = i128::MIN,
        negative = -7i8,
        letter = 'é',
        text = String::from("text"),
        bytes = &b"\xff\x00"[..],
        shown = debug(&Some(1)),
        half = 0.5f32
    );
    let record = &logged.records()[0];
    assert_eq!(record["large"], u128::MAX);
    assert_eq!(record["small"], i128::MIN);
    assert_eq!(record["negative"], -7);
    assert_eq!(record["letter"], 'é');
    assert_eq!(record["text"], "text");
    assert_eq!(record["bytes"], Value::Bytes(vec![0xff, 0]));
    assert_eq!(record["shown"], "Some(1)");
    assert_eq!(record["half"], 0.5);
}

#[test]
fn attached_values_spans_limits_and_contexts_are_values() {
    let logged = testing::capture();
    let context = Context::new(&[("request", value(&"a7")), ("shard", value(&3))]);
    context.scope(|| logdef_attach!(Info, "with %d", "%s", 1, "beside"));
    for _ in 0..3 {
        logdef_every_n!(2, Debug, "retried");
    }
    let records = logged.records();
    assert_eq!(records[0].message(), "with 1");
    assert_eq!(records[0].values()[1].1, "beside");
    assert_eq!(records[0]["request"], "a7");
    assert_eq!(records[0]["shard"], 3);
    assert_eq!(records[2]["skipped"], 1);
    assert_eq!(records.len(), 3);
}

#[test]
fn tests_that_run_at_the_same_time_have_their_own_records() {
    let barrier = &Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for round in 0..20 {
                    let logged = testing::capture();
                    barrier.wait();
                    for number in 0..10 {
                        logdef!(Info, "{thread} {round} {number}");
                    }
                    let expected: Vec<_> = (0..10)
                        .map(|number| format!("{thread} {round} {number}"))
                        .collect();
                    assert_eq!(logged.messages(), expected);
                }
            });
        }
    });
}

#[test]
fn all_threads_are_captured_by_one_and_captures_nest() {
    let all = testing::capture_all();
    let mine = testing::capture();
    std::thread::spawn(|| logdef!(Info, "of a thread that ended"))
        .join()
        .unwrap();
    logdef!(Info, "of the test");
    assert_eq!(mine.messages(), ["of the test"]);
    let before = all.messages();
    let of_mine = before.iter().filter(|text| text.starts_with("of "));
    assert_eq!(
        of_mine.collect::<Vec<_>>(),
        ["of a thread that ended", "of the test"]
    );
    drop(mine);
    logdef!(Info, "of the test, later");
    assert!(
        all.messages()
            .iter()
            .any(|text| text == "of the test, later")
    );
    assert_eq!(all.lost(), 0);
}

#[test]
fn long_text_is_cut_between_characters_and_a_masked_record_is_whole() {
    let logged = testing::capture();
    let pattern = b"\xc1\xce1234\xc1\xa5";
    logdef!(Info, "%s", "é".repeat(4000));
    logdef!(Info, "%s", pattern.as_slice());
    let records = logged.records();
    let text = records[0].message();
    assert!(text.len() <= 4096 && text.ends_with("é…[cut]"), "{text}");
    assert_eq!(records[1].values()[0].1, Value::Bytes(pattern.to_vec()));
}

#[test]
#[should_panic(expected = "no value is called `prot` in: INFO ")]
fn a_name_that_no_value_has_says_which_there_are() {
    let logged = testing::capture();
    logdef!(Info, "listening", port = 80);
    let _ = &logged.records()[0]["prot"];
}

#[test]
#[ignore = "fails, so that the next test sees what is shown then"]
fn one_that_fails() {
    let _logged = testing::capture();
    logdef!(Warn, "the disk is nearly full", percent = 97);
    panic!("for another reason");
}

#[test]
fn what_a_test_that_fails_has_logged_is_shown() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "one_that_fails"])
        .output()
        .unwrap();
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(!run.status.success());
    let expected = "the disk is nearly full {percent=97}\n";
    assert!(said.contains("WARN  ") && said.contains(expected), "{said}");
}
