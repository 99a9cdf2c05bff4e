//! Which records `view` shows.

use crate::fixture::*;
use logdef_wire::Run;

/// The messages shown, for a quick look.
fn messages(words: &str) -> Vec<String> {
    shown(&example(), words)
}

fn shown(log: &Log, words: &str) -> Vec<String> {
    let done = on(log, &format!("view -o raw {words} {{}}"));
    assert_eq!((done.status, &*done.err), (0, ""), "{words}");
    done.lines().into_iter().map(str::to_owned).collect()
}

const FAILURE: &str = "cannot open /tmp/x: No such file or directory";

#[test]
fn by_level() {
    assert_eq!(messages("--level error"), [FAILURE]);
    assert_eq!(messages("-l info").len(), 6);
    assert_eq!(messages("-l 0x20").len(), 10);
    assert_eq!(messages("-l info..warn").len(), 5);
    assert_eq!(messages("-l ..info").len(), 9);
    assert_eq!(messages("-l error..").len(), 1);
    assert_eq!(messages("-l fatal..debug").len(), 0);
}

#[test]
fn by_time() {
    assert_eq!(
        messages("--since 2027-01-15T08:00:09Z"),
        ["accepted beta:9"]
    );
    assert_eq!(
        messages("--until 2027-01-15T08:00:01Z"),
        ["accepted alpha:0", "took 0.500 ms"]
    );
    assert_eq!(messages("--since @1800000003 --until @1800000004").len(), 2);
    assert_eq!(messages("--until -1000h").len(), 0);
}

#[test]
fn by_text() {
    assert_eq!(messages("--grep ^acc.*beta"), ["accepted beta:9"]);
    assert_eq!(messages("-g (?i)CANNOT"), [FAILURE]);
}

#[test]
fn by_place() {
    assert_eq!(messages("--site wal.c:30"), [FAILURE]);
    assert_eq!(messages("--site db/wal.c"), [FAILURE]);
    assert_eq!(messages("--site net.c:10").len(), 5);
    assert_eq!(messages("--site net.c:10 --site wal.c").len(), 6);
    assert_eq!(messages("--site et.c:10").len(), 0);
}

#[test]
fn by_module() {
    assert_eq!(messages("--module example").len(), 10);
    assert_eq!(messages("--module bin/example").len(), 10);
    assert_eq!(messages("--module ample").len(), 0);
}

#[test]
fn by_thread_number_tid_or_name() {
    for name in ["1", "1001", "worker"] {
        assert_eq!(messages(&format!("--thread {name}")).len(), 5, "{name}");
    }
    assert_eq!(messages("--thread 1 --thread main").len(), 10);
    assert_eq!(messages("--thread 2").len(), 0);
}

#[test]
fn by_process_and_run() {
    let mut log = example_of(Run(0x11), 11, EPOCH);
    let later = example_of(Run(0x22), 22, EPOCH + 100 * SECOND);
    log.bytes.extend_from_slice(&later.bytes);
    let accepted = accepted(&mut log, Run(0x11), 0, EPOCH + 50 * SECOND, "only here", 1);
    assert!(!accepted.is_empty());
    assert_eq!(shown(&log, "--pid 22").len(), 10);
    assert_eq!(shown(&log, "--pid 11").len(), 11);
    assert_eq!(shown(&log, "--run 0").len(), 10);
    assert_eq!(shown(&log, "--run -1").len(), 11);
    assert_eq!(shown(&log, "--run 1").len(), 11);
    assert_eq!(shown(&log, "--run 0000000000000022").len(), 10);
    let done = on(&log, "view --run -2 {}");
    assert_eq!(done.status, 2);
    assert_eq!(
        done.err,
        "logdef: there is no run -2: the log holds 2 runs\n"
    );
}

#[test]
fn by_typed_arguments() {
    assert_eq!(
        messages("--where 1>5"),
        ["accepted alpha:6", "accepted beta:9"]
    );
    assert_eq!(messages("--where 0=beta"), ["accepted beta:9"]);
    assert_eq!(messages("-w 0~lph -w 1<=2").len(), 2);
    assert_eq!(messages("-w 0=alpha --not 1<=2").len(), 2);
    assert_eq!(messages("-w 0>=2.5"), ["took 2.500 ms", "took 3.500 ms"]);
}

/// Each example of the page on the command is one of these.
#[test]
fn by_conditions_with_and_or_not_ranges_and_lists() {
    let messages = |condition: &str| {
        let done = on_words(&example(), &["view", "-o", "raw", "-w", condition, "{}"]);
        assert_eq!((done.status, &*done.err), (0, ""), "{condition}");
        let lines: Vec<String> = done.lines().into_iter().map(str::to_owned).collect();
        lines
    };
    assert_eq!(
        messages("0=beta or 1 in 4..6"),
        ["accepted alpha:4", "accepted alpha:6", "accepted beta:9"]
    );
    assert_eq!(messages("0~\"lph\" and not 1>=4").len(), 2);
    assert_eq!(messages("0 in (beta, gamma)"), ["accepted beta:9"]);
    assert_eq!(messages("template~accepted").len(), 5);
    assert_eq!(messages("template~accepted and (1<2 or 1>8)").len(), 2);
    // What some records decide by their strings alone is decided for each.
    assert_eq!(messages("not template~accepted").len(), 5);
    assert_eq!(messages("not (nothing=1)").len(), 10);
    let done = on_words(&example(), &["view", "-w", "0=1 and (1>", "{}"]);
    assert_eq!(done.status, 2);
    assert!(done.err.contains("at character 12"), "{}", done.err);
}

#[test]
fn filters_add_up() {
    assert_eq!(
        messages("--thread main --where 1>2 --grep alpha --until 2027-01-15T08:00:05Z"),
        ["accepted alpha:4"]
    );
}

#[test]
fn head_and_tail_count_records() {
    assert_eq!(messages("--head 2"), ["accepted alpha:0", "took 0.500 ms"]);
    assert_eq!(messages("--head 0").len(), 0);
    assert_eq!(messages("--tail 1"), ["accepted beta:9"]);
    assert_eq!(messages("--tail 0").len(), 0);
    assert_eq!(
        messages("--tail 2 --grep took"),
        ["took 2.500 ms", "took 3.500 ms"]
    );
    assert_eq!(messages("--tail 99").len(), 10);
}

#[test]
fn context_is_what_stands_around_in_the_scope() {
    assert_eq!(
        messages("--level error -C 1"),
        ["took 3.500 ms", FAILURE, "accepted beta:9"]
    );
    assert_eq!(messages("--level error -B 2").len(), 3);
    assert_eq!(messages("--level error -A 5").len(), 2);
    assert_eq!(
        messages("--thread main --grep beta -B 1"),
        ["accepted alpha:6", "accepted beta:9"]
    );
    assert_eq!(
        messages("--grep took -A 1 --head 1"),
        ["took 0.500 ms", "accepted alpha:2"]
    );
    let groups = on(&example(), "view --grep alpha:[06] -A 1 {}");
    assert_eq!(
        groups.lines().iter().filter(|line| **line == "--").count(),
        1
    );
    assert_eq!(groups.lines().len(), 5);
}

#[test]
fn times_are_given_and_shown_in_the_zone_that_was_asked_for() {
    assert_eq!(
        messages("--zone +02:00 --since 2027-01-15T10:00:09"),
        ["accepted beta:9"]
    );
    assert_eq!(
        messages("--zone -03:00 --since 2027-01-15T05:00:09"),
        ["accepted beta:9"]
    );
    let shown = on(&example(), "view --zone +02:00 -n 1 {}");
    assert!(shown.out.starts_with("2027-01-15 10:00:00.000000 INFO "));
    let shown = on(&example(), "view --zone +02:00 --time utc -n 1 {}");
    assert!(shown.out.starts_with("2027-01-15 08:00:00.000000Z INFO "));
    let unknown = on(&example(), "view --zone Middle/Earth {}");
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("try Europe/Berlin"), "{}", unknown.err);
}

#[test]
fn the_status_says_whether_a_record_matched_if_asked() {
    let status = |words: &str| on(&example(), &format!("view {words} {{}}")).status;
    assert_eq!(status("--exit-status"), 0);
    assert_eq!(status("--exit-status -g cannot"), 0);
    assert_eq!(status("--exit-status -g cannot --tail 1"), 0);
    assert_eq!(status("--exit-status -g cannot -n 1"), 0);
    // A record that is shown beside a match, and does not match, does not count.
    assert_eq!(status("--exit-status -g nothing -C 3"), 1);
    assert_eq!(status("--exit-status -g nothing --tail 5"), 1);
    assert_eq!(status("--exit-status --since 2040-01-01"), 1);
    assert_eq!(status("-g nothing"), 0);
    // So does a log that is shown while it is read.
    assert_eq!(status("--exit-status -g nothing --early-from 1"), 1);
    assert_eq!(status("--exit-status -g cannot --early-from 1"), 0);
    // What is wrong with the log goes before.
    let mut damaged = example();
    damaged.bytes.extend([0x55; 40]);
    let done = on(&damaged, "view --exit-status --strict -g nothing {}");
    assert_eq!(done.status, 3);
}
