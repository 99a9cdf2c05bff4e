//! `viewers`: what other tools need to know of logs is what logs are, and the tools agree
//! where they are installed.

use logdef_samples::skip::skip;
use logdef_samples::workshop::{Workshop, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(here(name)).unwrap()
}

fn is_installed(tool: &str) -> bool {
    let mut command = Command::new(tool);
    let quiet = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok()
}

/// The keys of a record that JSON.md lists.
fn documented_keys() -> Vec<String> {
    let document = read("../resync/cli/JSON.md");
    let (_, records) = document.split_once("## Records").unwrap();
    let (records, _) = records.split_once("Each stack frame").unwrap();
    let rows = records.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned())
        .collect()
}

#[test]
fn lnav_knows_every_key_of_a_record() {
    let format: serde_json::Value = serde_json::from_str(&read("viewers/lnav.json")).unwrap();
    let values = format["logdef"]["value"].as_object().unwrap();
    let mut known: Vec<_> = values.keys().cloned().collect();
    let mut keys = documented_keys();
    assert!(keys.len() > 20);
    known.sort();
    keys.sort();
    assert_eq!(known, keys);
}

#[test]
fn lnav_shows_the_records_of_a_log() {
    if !is_installed("lnav") {
        return skip("lnav is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let formats = folder.path().join("formats/installed");
    std::fs::create_dir_all(&formats).unwrap();
    std::fs::copy(here("viewers/lnav.json"), formats.join("logdef.json")).unwrap();
    let mut view = Workshop::open().command("logdef");
    let records = run(view
        .args(["view", "-o", "json"])
        .arg(here("corpus/clean.log")))
    .stdout;
    let file = folder.path().join("clean.json");
    std::fs::write(&file, records).unwrap();
    let query = ";SELECT file, line, log_level, log_body FROM logdef WHERE line IN (12, 44)";
    let mut lnav = Command::new("lnav");
    lnav.env("HOME", folder.path())
        .env("TERM", "dumb")
        .arg("-n")
        .arg("-I")
        .arg(folder.path());
    lnav.args(["-c", query, "-c", ":write-csv-to -"]).arg(file);
    let shown = String::from_utf8(run(&mut lnav).stdout).unwrap();
    assert!(
        shown.contains("shop.c,12,info,\"3 clerks, pid 4711\""),
        "{shown}"
    );
    assert!(shown.contains("shop.c,44,warning,"), "{shown}");
}

#[test]
fn a_log_is_known_by_its_first_bytes() {
    // What the two files with magic say, on each log that begins with a frame.
    for name in ["clean.log", "bare.log", "flipped.log"] {
        let bytes = std::fs::read(here("corpus").join(name)).unwrap();
        let head = [&bytes[..2], &bytes[6..8]].concat();
        assert_eq!(head, [0xc1, 0xce, 0xc1, 0xda], "{name}");
    }
    if !is_installed("file") {
        return skip("file is not installed");
    }
    let mut file = Command::new("file");
    file.args(["--brief", "-m"])
        .arg(here("viewers/logdef.magic"));
    let said = run(file.arg(here("corpus/clean.log"))).stdout;
    assert_eq!(String::from_utf8(said).unwrap().trim(), "logdef binary log");
}

#[test]
fn hl_names_keys_that_records_have() {
    let config = read("viewers/hl.toml");
    let keys = documented_keys();
    let lines = config
        .lines()
        .filter(|line| line.contains("names =") || line.starts_with("hide"));
    let names = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    for name in names {
        assert!(keys.iter().any(|key| key == name), "{name}");
    }
}
