//! `stats`: counts.

use crate::fixture::*;
use serde_json::{Value, json};

#[test]
fn records_are_counted_by_level_site_run_and_thread() {
    let done = on(&example(), "stats {}");
    assert_eq!(done.status, 0);
    for part in [
        "10 records\n",
        "           1  10.00 %  ERROR\n",
        "           5  50.00 %  INFO  src/net.c:10  accepted %s:%d\n",
        "          10 100.00 %  run 000000000000abcd, pid 77\n",
        "           5  50.00 %    thread 1 worker\n",
        "2027-01-15T08:00:00.000000000Z to ",
        "by call site (3 in all)\n",
    ] {
        assert!(done.out.contains(part), "{part} in {}", done.out);
    }
}

#[test]
fn as_json_with_filters_and_losses() {
    let mut log = example();
    let at = log.frames[11].start + 20;
    log.bytes[at] ^= 1;
    let done = on(&log, "stats --json --level info {}");
    let found: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(found["records"], 5);
    assert_eq!(found["levels"], json!({ "INFO": 4, "ERROR": 1 }));
    assert_eq!(found["call_sites"][0]["records"], 4);
    assert_eq!(found["call_sites"][0]["place"], "src/net.c:10");
    assert_eq!(found["missing"], 1);
    let rates = found["rates"]["records"].as_array().unwrap();
    let sum: u64 = rates.iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(sum, 5);
}

#[test]
fn rates_can_be_a_picture() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    let picture = files.path().join("rates.svg");
    let done = logdef(&format!("stats --svg {} {{}}", picture.display()), &path);
    assert_eq!(done.status, 0, "{}", done.err);
    let text = std::fs::read_to_string(&picture).unwrap();
    assert!(text.contains(": 1 record</title>"), "{text}");
}
