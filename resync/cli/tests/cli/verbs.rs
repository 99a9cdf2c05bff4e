//! The same filters in every verb that takes them, and on every kind of input: what each verb gives of the
//! records chosen is what it gives of all records, less those that `view` leaves out.

use crate::early::synth::{self, Random};
use crate::fixture::{Files, command, gzip, run};
use crate::sieve::{filter, is_same, log, shown};
use crate::stores::Store;
use serde_json::Value;
use std::path::Path;

/// What a verb says of a file.
fn said(words: &str, filter: &[String], file: &Path) -> (String, String) {
    let mut command = command();
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.args(words.split(' '));
    if !words.starts_with("import") {
        command.arg("--no-logged-paths");
    }
    let done = run(command.args(filter).arg(file), b"");
    assert!(
        [0, 3].contains(&done.status),
        "{words} {filter:?}: {}",
        done.err
    );
    (done.out, done.err)
}

/// The record that says what the log lost is of no call.
fn is_of_call(piece: &str) -> bool {
    !piece.contains("logdef export")
}

/// The records of an export, one after another.
fn pieces(form: &str, out: &str) -> Vec<String> {
    let json = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let pieces: Vec<String> = match form {
        "otlp-json" => {
            let lists =
                |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
            let resources = out
                .lines()
                .flat_map(|line| lists(&json(line), "resourceLogs"));
            let resources = resources.filter(|resource| is_of_call(&resource.to_string()));
            let scopes = resources.flat_map(|resource| lists(&resource, "scopeLogs"));
            let records = scopes.flat_map(|scope| lists(&scope, "logRecords"));
            records.map(|record| record.to_string()).collect()
        }
        "diagnostics-json" => {
            let records = json(out).as_array().cloned().unwrap_or_default();
            records.iter().map(Value::to_string).collect()
        }
        // A length of ten bytes is a blank line too.
        _ => {
            let entries = out.split("__REALTIME_TIMESTAMP=").skip(1);
            entries.map(|entry| entry.trim_end().to_owned()).collect()
        }
    };
    pieces
        .into_iter()
        .filter(|piece| is_of_call(piece))
        .collect()
}

/// The number before a word.
fn number(text: &str, word: &str) -> usize {
    let at = text
        .find(word)
        .unwrap_or_else(|| panic!("no{word} in {text}"));
    let digits = text[..at].rsplit(|c: char| !c.is_ascii_digit() && c != ',');
    digits
        .into_iter()
        .next()
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap()
}

/// The records that a store got from Loki's requests: what the log lost is sent too, with a key of its own.
fn pushed(store: &Store) -> usize {
    let bodies = store.taken().into_iter().map(|request| request.body);
    let bodies = bodies.map(|body| serde_json::from_slice::<Value>(&body).unwrap());
    let streams = bodies.flat_map(|body| body["streams"].as_array().cloned().unwrap());
    let entries = streams.flat_map(|stream| stream["values"].as_array().cloned().unwrap());
    let is_of_call = |entry: &Value| {
        let keys = entry[2].as_object().unwrap();
        !keys
            .keys()
            .any(|key| key.contains("loss") || key.contains("note"))
    };
    entries.filter(is_of_call).count()
}

/// A filter, and what it chooses of the output of a verb, in which a piece stands for each line of `whole`.
fn choose(random: &mut Random, whole: &[String], all: &[String]) -> (Vec<String>, Vec<String>) {
    let (words, choice) = filter(random);
    assert_eq!(all.len(), whole.len());
    let pieces = all.iter().zip(whole);
    let chosen = pieces.filter(|(_, line)| choice(&serde_json::from_str(line).unwrap()));
    (words, chosen.map(|(piece, _)| piece.clone()).collect())
}

#[test]
fn every_verb_gives_the_records_that_view_shows() {
    let files = Files::new();
    let logs = if synth::slow() { 200 } else { 5 };
    let mut chosen = 0;
    for seed in 1000..1000 + logs {
        let mut random = Random::new(seed);
        let path = files.put("app.log", &log(&mut random));
        let whole = shown(&[], &[&path]);
        for form in ["otlp-json", "journald", "diagnostics-json"] {
            let verb = format!("export --to {form} -o -");
            let all = pieces(form, &said(&verb, &[], &path).0);
            let (words, expected) = choose(&mut random, &whole, &all);
            let given = pieces(form, &said(&verb, &words, &path).0);
            is_same(&given, &expected, &format!("log {seed}, {form}, {words:?}"));
            chosen += given.len();
            match random.below(3) {
                0 => {
                    let page = said("report -o -", &words, &path).0;
                    let is_empty = page.contains("No records.");
                    let counted = if is_empty {
                        0
                    } else {
                        number(&page, " record")
                    };
                    assert_eq!(counted, expected.len(), "log {seed}, report {words:?}");
                }
                1 => {
                    let store = Store::new();
                    let verb = format!("push --loki http://{}", store.address());
                    said(&verb, &words, &path);
                    assert_eq!(pushed(&store), expected.len(), "log {seed}, push {words:?}");
                }
                _ => {
                    // A line for each stack and place, and how often it was met.
                    let folded = said("export --to folded -o -", &words, &path).0;
                    let times =
                        |line: &str| line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap();
                    assert_eq!(
                        folded
                            .lines()
                            .filter(|line| !line.starts_with('['))
                            .map(times)
                            .sum::<usize>(),
                        expected.len()
                    );
                }
            }
        }
    }
    assert!(chosen > 20 * logs as usize, "{chosen}");
}

/// Copies in other forms, folders and archives are logs like others.
#[test]
fn filters_choose_from_copies_and_archives_as_from_their_whole_output() {
    let logs = if synth::slow() { 200 } else { 4 };
    let mut chosen = 0;
    for seed in 2000..2000 + logs {
        let files = Files::new();
        let mut random = Random::new(seed);
        let bytes = log(&mut random);
        let path = files.put("logs/a.log", &bytes);
        files.put("logs/b.log", &log(&mut random));
        let folder = files.path().join("kept");
        let mut copies = vec![
            files.path().join("logs"),
            files.put("packed.log.gz", &gzip(&bytes)),
            files.path().join("merged.log"),
            files.path().join("recovered.log"),
        ];
        for (verb, copy) in [("merge", &copies[2]), ("recover", &copies[3])] {
            said(&format!("{verb} -o {}", copy.display()), &[], &path);
        }
        if cfg!(all(feature = "archive", target_endian = "little")) {
            said(&format!("archive -o {}", folder.display()), &[], &path);
            copies.push(folder);
        }
        for copy in copies {
            let whole = shown(&[], &[&copy]);
            let (words, expected) = choose(&mut random, &whole, &whole);
            let what = format!("log {seed}, {}, {words:?}", copy.display());
            is_same(&shown(&words, &[&copy]), &expected, &what);
            chosen += expected.len();
        }
    }
    assert!(chosen > 20 * logs as usize, "{chosen}");
}

/// The lines of `view` in a form, one for each record: of stacks below them, one stands only where the record
/// before has another.
fn lines(form: &str, words: &[String], file: &Path) -> Vec<String> {
    let out = said(&format!("view --early-from 0 -o {form}"), words, file).0;
    let lines = out.lines().filter(|line| !line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

/// What of a record goes through a trace and back.
fn traced(words: &[String], file: &Path) -> Vec<String> {
    let files = Files::new();
    let [trace, back] = ["a.fxt", "b.log"].map(|name| files.path().join(name));
    said(
        &format!("export --to fxt -o {}", trace.display()),
        words,
        file,
    );
    said(
        &format!("import --from fxt -o {}", back.display()),
        &[],
        &trace,
    );
    let kept = |line: String| {
        let line: Value = serde_json::from_str(&line).unwrap();
        let kept = [
            "time", "thread", "level", "file", "line", "format", "args", "message",
        ];
        kept.map(|key| line[key].to_string()).join(" ")
    };
    let shown = shown(&[], &[&back]).into_iter().map(kept);
    shown.filter(|line| is_of_call(line)).collect()
}

/// A form of `view` other than JSON, and a trace, hold what JSON holds.
#[test]
fn filters_choose_the_same_records_in_every_form() {
    let files = Files::new();
    let logs = if synth::slow() { 200 } else { 4 };
    let mut chosen = 0;
    for seed in 3000..3000 + logs {
        let mut random = Random::new(seed);
        let path = files.put("app.log", &log(&mut random));
        let whole = shown(&[], &[&path]);
        for form in ["text", "csv", "logfmt", "fxt"] {
            let given = |words: &[String]| match form {
                "fxt" => traced(words, &path),
                form => lines(form, words, &path),
            };
            let mut all = given(&[]);
            let heading: Vec<_> = all.drain(..usize::from(form == "csv")).collect();
            let (words, records) = choose(&mut random, &whole, &all);
            let expected = [heading, records].concat();
            let what = format!("log {seed}, {form}, {words:?}");
            is_same(&given(&words), &expected, &what);
            chosen += expected.len();
        }
    }
    assert!(chosen > 20 * logs as usize, "{chosen}");
}
