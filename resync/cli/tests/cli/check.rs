//! `check`: what became of every byte.

use crate::fixture::*;
use serde_json::{Value, json};

fn json(log: &Log) -> (i32, Value) {
    let done = on(log, "check --json {}");
    (done.status, serde_json::from_str(&done.out).unwrap())
}

#[test]
fn a_clean_log_is_clean() {
    let done = on(&example(), "check {}");
    assert_eq!(done.status, 0);
    assert!(
        done.out.ends_with("clean: no record missing\n"),
        "{}",
        done.out
    );
}

#[test]
fn a_torn_end_is_clean() {
    let mut log = example();
    log.bytes.truncate(log.bytes.len() - 7);
    let done = on(&log, "check {}");
    assert_eq!(done.status, 0, "{}", done.out);
    assert!(done.out.contains("torn: the file was cut inside a frame"));
    assert_eq!(on(&log, "view --strict {}").status, 0);
}

#[test]
fn damage_is_status_3_with_bytes_and_records() {
    let mut log = example();
    let frame = log.frames[11].clone();
    log.bytes[frame.start + 20] ^= 1;
    let done = on(&log, "check {}");
    assert_eq!(done.status, 3);
    let bytes = format!("bytes {:#x}..{:#x}", frame.start, frame.end);
    assert!(done.out.contains(&bytes), "{}", done.out);
    assert!(
        done.out.ends_with(": 1 record missing, 79 bytes damaged\n"),
        "{}",
        done.out
    );
}

#[test]
fn as_json_every_byte_has_a_state() {
    let mut log = example();
    let frame = log.frames[11].clone();
    log.bytes[frame.start + 20] ^= 1;
    let torn = log.bytes.len() - 5;
    log.bytes.truncate(torn);
    let (status, found) = json(&log);
    assert_eq!(status, 3);
    assert_eq!(found["clean"], false);
    assert_eq!(found["missing"], 1);
    let file = &found["files"][0];
    let states = ["frames", "padding", "torn", "damaged"];
    let sum: u64 = states
        .iter()
        .map(|state| file[state]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, log.bytes.len() as u64);
    assert_eq!(file["records"]["data"], 8);
    let gap = &file["gaps"][0];
    assert_eq!(gap["offset"], frame.start);
    assert_eq!(gap["bytes"], frame.len());
    assert_eq!(gap["state"], "damaged");
    assert_eq!(gap["missing"], 1);
    assert_eq!(gap["exact"], true);
    assert_eq!(
        gap["threads"],
        json!([{ "run": "000000000000abcd", "number": 0 }])
    );
    assert_eq!(file["gaps"][1]["state"], "torn");
}

#[test]
fn a_clean_log_is_clean_as_json() {
    let (status, found) = json(&example());
    assert_eq!((status, &found["clean"]), (0, &Value::Bool(true)));
    assert_eq!(found["threads"].as_array().unwrap().len(), 2);
    assert_eq!(found["threads"][0]["records"], 5);
}

#[test]
fn records_that_are_in_no_file_are_missing_and_not_clean() {
    let log = example();
    let mut holey = Log::default();
    for (index, frame) in log.frames.iter().enumerate() {
        if index != 11 {
            holey.bytes.extend_from_slice(&log.bytes[frame.clone()]);
        }
    }
    let done = on(&holey, "check {}");
    assert_eq!(done.status, 3, "{}", done.out);
    assert!(
        done.out
            .contains("record 1 is missing, and no byte of the file is damaged there"),
        "{}",
        done.out
    );
    assert!(
        done.out.ends_with("not clean: 1 record missing\n"),
        "{}",
        done.out
    );
}

/// What stands first in a range names it, and does not speak for all of it.
#[test]
fn garbage_before_damaged_frames_is_said_to_stand_where_it_does() {
    let mut log = example();
    let frames = [log.frames[10].clone(), log.frames[11].clone()];
    for frame in &frames {
        log.bytes[frame.start + 20] ^= 1;
    }
    let at = frames[0].start;
    log.bytes.splice(at..at, *b"garbage");
    let done = on(&log, "check {}");
    let range = format!("{:#x}..{:#x}", at, frames[1].end + 7);
    let line = format!(
        "bytes {range} ({}): damage: no frame header at its start, ",
        frames[1].end + 7 - at
    );
    assert!(done.out.contains(&line), "{line}: {}", done.out);
}

/// A hundred zeros, then the example with one frame damaged and its end cut.
fn spoilt() -> Log {
    let mut log = Log {
        bytes: vec![0; 100],
        ..Log::default()
    };
    let example = example();
    log.bytes.extend_from_slice(&example.bytes);
    log.bytes[100 + example.frames[11].start + 20] ^= 1;
    log.bytes.truncate(log.bytes.len() - 7);
    log
}

#[test]
fn a_map_has_a_cell_for_each_slice() {
    let log = spoilt();
    let done = on(&log, "check --map {}");
    assert_eq!(done.status, 3);
    let cells: String = done
        .lines()
        .iter()
        .filter_map(|line| line.strip_prefix("  0x"))
        .filter_map(|line| line.split_once(' '))
        .map(|(_, cells)| cells)
        .collect();
    // Cells of two bytes.
    assert_eq!(cells.chars().count(), log.bytes.len().div_ceil(2));
    assert!(cells.starts_with(&"·".repeat(50)));
    assert_eq!(cells.chars().nth(50), Some('█'));
    let damage = 100 + example().frames[11].start;
    assert_eq!(cells.chars().nth(damage / 2 + 1), Some('X'));
    assert!(cells.ends_with('▒'));
}

#[test]
fn a_map_can_be_a_picture() {
    let files = Files::new();
    let path = files.put("app.log", &spoilt().bytes);
    let picture = files.path().join("out.svg");
    let done = logdef(&format!("check --map {} {{}}", picture.display()), &path);
    assert_eq!(done.status, 3, "{}", done.err);
    let text = std::fs::read_to_string(&picture).unwrap();
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    assert_eq!(
        text.matches("<rect").count(),
        1 + spoilt().bytes.len().div_ceil(2) + 4
    );
    assert!(text.contains(": damage</title>"));
    // Never over a file that is there.
    assert_eq!(
        logdef(&format!("check --map {} {{}}", picture.display()), &path).status,
        2
    );
}

/// The first bytes of a frame in the middle, zeroed, look like a record that a crash
/// left unfinished; but its thread went on.
#[test]
fn a_torn_frame_whose_thread_went_on_is_damage() {
    for len in [1, 2, 6] {
        let mut log = example();
        let start = log.frames[11].start;
        log.bytes[start..start + len].fill(0);
        let (status, found) = json(&log);
        assert_eq!(status, 3, "{len}: {found}");
        assert_eq!(found["clean"], false);
        assert_eq!(found["missing"], 1, "{len}: {found}");
        assert_eq!(found["torn"]["bytes"], 0, "{len}: {found}");
        let gaps = found["files"][0]["gaps"].as_array().unwrap();
        let missing = gaps.iter().map(|gap| gap["missing"].as_u64().unwrap());
        assert_eq!(missing.sum::<u64>(), 1, "{len}: {found}");
    }
}

fn data(count: u64, dropped: Option<u64>) -> logdef_wire::Record<'static> {
    logdef_wire::Record::Data(logdef_wire::record::Data {
        front: logdef_wire::record::Glance {
            run: Some(RUN),
            sequence: Some(logdef_wire::Sequence::new(
                logdef_wire::ThreadNumber(0),
                count,
            )),
            time: Some(EPOCH + count),
            ..Default::default()
        },
        format_text: Some(b"here"),
        dropped,
        ..Default::default()
    })
}

#[test]
fn what_the_program_dropped_is_not_clean_and_what_was_pruned_is() {
    let mut log = Log::of(RUN, 1, EPOCH);
    log.record(&data(7, None));
    let (status, found) = json(&log);
    assert_eq!((status, &found["pruned"]), (0, &json!(7)), "{found}");
    assert_eq!(
        (&found["clean"], &found["missing"]),
        (&json!(true), &json!(0))
    );
    assert!(
        on(&log, "check {}")
            .out
            .ends_with("\nclean: 7 records pruned\n")
    );

    log.record(&data(10, Some(2)));
    let (status, found) = json(&log);
    assert_eq!((status, &found["dropped"]), (3, &json!(2)), "{found}");
    assert_eq!(found["missing"], 0);
    for verb in ["view", "stats", "dump", "export --to folded -o -"] {
        let strict = on(&log, &format!("{verb} --strict {{}}"));
        assert_eq!(strict.status, 3, "{verb}: {}", strict.err);
        assert_eq!(on(&log, &format!("{verb} {{}}")).status, 0, "{verb}");
    }
}

/// The drops of a run that no data record could report stand in a note.
#[test]
fn what_a_note_says_was_dropped_is_not_missing() {
    let mut log = Log::of(RUN, 1, EPOCH);
    log.record(&data(0, None));
    log.record(&data(5, Some(1)));
    let (_, found) = json(&log);
    assert_eq!(
        (&found["missing"], &found["dropped"]),
        (&json!(3), &json!(1))
    );
    log.record(&logdef_wire::Record::Note(logdef_wire::record::Note {
        run: Some(RUN),
        kind: Some(logdef_wire::record::NoteKind::DROPS),
        dropped: Some(9),
        ..Default::default()
    }));
    let (status, found) = json(&log);
    assert_eq!(
        (&found["missing"], &found["dropped"]),
        (&json!(0), &json!(9))
    );
    assert_eq!(status, 3);
}

/// Verbs that show a log, or make something else of it.
const VERBS: [&str; 14] = [
    "view",
    "view -n 1",
    "view --tail 1",
    "stats",
    "dump",
    "symbolize",
    "check",
    "report -o -",
    "export --to folded -o -",
    "export --to diagnostics-json -o -",
    "export --to otlp-json -o -",
    "export --to journald -o -",
    "export --to fuchsia -O OUT",
    "export --to fxt -O OUT",
];

/// Verbs that make what can be checked again.
#[cfg(target_endian = "little")]
const COPIES: [&str; 3] = ["merge", "recover", "archive"];
#[cfg(target_endian = "big")]
const COPIES: [&str; 2] = ["merge", "recover"];

/// The table of `--help`: what each verb ends with, on a log of each state.
#[test]
fn every_verb_has_the_status_of_the_state_that_the_log_is_in() {
    let log = |counts: &[(u64, Option<u64>)]| {
        let mut log = Log::of(RUN, 1, EPOCH);
        for (count, dropped) in counts {
            log.record(&data(*count, *dropped));
        }
        log
    };
    let whole = log(&[(0, None), (1, None), (2, None)]);
    let mut torn = log(&[(0, None), (1, None), (2, None)]);
    torn.bytes.truncate(torn.bytes.len() - 3);
    let mut damaged = log(&[(0, None), (1, None), (2, None)]);
    let at = damaged.bytes.len() - 60;
    damaged.bytes[at] ^= 1;
    let states = [
        ("clean", whole, 0),
        ("torn", torn, 0),
        ("pruned", log(&[(7, None), (8, None)]), 0),
        ("missing", log(&[(0, None), (2, None)]), 3),
        ("dropped", log(&[(0, None), (2, Some(1))]), 3),
        ("damaged", damaged, 3),
    ];
    let out = Files::new();
    for (state, log, status) in states {
        let copies = COPIES.map(|verb| {
            let to = out.path().join(format!("{verb}-{state}.log"));
            (verb, format!("{verb} -o {}", to.display()), to)
        });
        for (verb, words, to) in copies {
            let strict = on(&log, &format!("{words} --strict {{}}"));
            assert_eq!(
                strict.status, status,
                "{verb} --strict, {state}: {}",
                strict.err
            );
            // The copy lacks what its source lacks.
            assert_eq!(logdef("check {}", &to).status, status, "{verb}, {state}");
        }
        for verb in VERBS {
            // No export overwrites a file.
            let to = out.path().join(state).display().to_string();
            let strict = verb.replace("OUT", &format!("{to}.strict"));
            let verb = verb.replace("OUT", &to);
            let strict = on(&log, &format!("{strict} --strict {{}}"));
            assert_eq!(strict.status, status, "{verb} --strict, {state}");
            let _ = std::fs::remove_file(format!("{to}.strict"));
            let lenient = if verb == "check" { status } else { 0 };
            assert_eq!(
                on(&log, &format!("{verb} {{}}")).status,
                lenient,
                "{verb}, {state}"
            );
            let _ = std::fs::remove_file(to);
        }
    }
}
