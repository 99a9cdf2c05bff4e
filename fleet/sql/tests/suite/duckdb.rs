//! The five questions of people on call, put to DuckDB as well, which reads the archive with code of its own: the
//! same rows, on archives and on the logs that they were made of.

use crate::{LOGS, answer, skip};
use logdef_archive::Archive;
use logdef_resync::{Input, NoImages, Recovery};
use std::path::Path;
use std::process::{Command, Stdio};

/// The log that archives are measured with.
#[allow(dead_code)]
#[path = "../../../../samples/examples/requests.rs"]
mod requests;

/// Each question as this command takes it, and as DuckDB does.
const QUESTIONS: [(&str, &str); 5] = [
    // The calls that log most.
    (
        "select format, line, count(*) as n from records join sites using (site)
         group by format, line order by n desc, format, line",
        "select format, line, count(*) as n from records join sites using (site)
         group by format, line order by n desc, format, line",
    ),
    // A percentile by minute.
    (
        "select cast(date_trunc('minute', time) as bigint) as minute, count(*) as n,
         percentile_cont(0.99) within group (order by f0) as p99
         from records where f0 is not null group by 1 order by 1",
        "select epoch_ns(date_trunc('minute', time)) as minute, count(*) as n,
         quantile_cont(f0, 0.99) as p99
         from records where f0 is not null group by 1 order by 1",
    ),
    // A substring.
    (
        "select count(*), sum(seq), bit_xor(seq * 1000003 + thread) from records
         where s0 like '%ab%' or s1 like '%ab%' or s2 like '%ab%'",
        "select count(*), sum(seq), bit_xor(seq * 1000003 + thread) from records
         where s0 like '%ab%' or s1 like '%ab%' or s2 like '%ab%'",
    ),
    // One request.
    (
        "select cast(time as bigint), run, thread, seq, level, s0, s1, i0, f0 from records
         where s0 = (select max(s0) from records) order by run, thread, seq",
        "select epoch_ns(time), run, thread, seq, level, s0, s1, i0, f0 from records
         where s0 = (select max(s0) from records) order by run, thread, seq",
    ),
    // The last warnings and errors, each with the records of its thread before.
    (
        "with e as (select run, thread, seq from records where level >= 48
           order by time desc, run, thread, seq limit 100)
         select e.seq, r.run, r.thread, r.seq, r.level from records r join e
         on r.run = e.run and r.thread = e.thread and r.seq between e.seq - 5 and e.seq
         order by r.run, r.thread, r.seq, e.seq",
        "with e as (select run, thread, seq from records where level >= 48
           order by time desc, run, thread, seq limit 100)
         select e.seq, r.run, r.thread, r.seq, r.level from records r join e
         on r.run = e.run and r.thread = e.thread and r.seq between e.seq - 5 and e.seq
         order by r.run, r.thread, r.seq, e.seq",
    ),
];

/// Compares answers as numbers where they are such. The engine interpolates percentiles in millionths.
const SCRIPT: &str = "
import csv, json, math, sys, duckdb
given = json.load(sys.stdin)
base = duckdb.connect()
base.execute(\"set timezone = 'UTC'\")
base.execute(f\"create view records as select * from '{given['kept']}/*/records.parquet'\")
base.execute(f\"create view sites as select distinct on (site) * from '{given['kept']}/*/sites.parquet'\")
def plain(value):
    text = '' if value is None else str(value)
    try:
        return float(text) if '.' in text or 'e' in text else int(text)
    except ValueError:
        return text
for question, answer in given['answers']:
    rows = [[plain(value) for value in row] for row in base.execute(question).fetchall()]
    own = [[plain(value) for value in row] for row in list(csv.reader(answer.splitlines()))[1:]]
    assert rows and len(rows) == len(own), (question, len(rows), len(own))
    for row, other in zip(rows, own):
        for one, another in zip(row, other, strict=True):
            is_close = isinstance(one, float) and math.isclose(one, another, rel_tol=1e-6)
            assert is_close or one == another, (question, row, other)
print('equal')
";

/// The Python to compare with, which `LOGDEF_PYTHON` names where it is not the one of the path.
fn python(program: &str) -> Command {
    let name = std::env::var("LOGDEF_PYTHON").unwrap_or_default();
    let mut python = Command::new(if name.is_empty() { "python3" } else { &name });
    python.args(["-c", program]);
    python
}

fn has_duckdb() -> bool {
    let status = python("import duckdb").stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Fails unless DuckDB answers alike of what was kept.
fn compare(kept: &Path, asked: &[&Path]) {
    for path in asked {
        let answers: Vec<_> = QUESTIONS
            .iter()
            .map(|(own, of_duckdb)| (of_duckdb, answer(&[path], own, &["--split", "5000"])))
            .collect();
        let given = serde_json::json!({ "kept": kept, "answers": answers });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("given.json");
        std::fs::write(&file, given.to_string()).unwrap();
        let output = python(SCRIPT)
            .stdin(std::fs::File::open(file).unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"equal\n", "{}: {said}", path.display());
    }
}

#[test]
fn duckdb_gives_the_same_rows() {
    if !has_duckdb() {
        return skip("no duckdb for python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let (logs, kept) = (folder.path().join("logs"), folder.path().join("kept"));
    requests::write(&logs, 300).unwrap();
    let names = ["api.log", "edge.log", "store.log"];
    let inputs = names.map(|name| Input::open(logs.join(name)).unwrap());
    let recovery = Recovery::of(&inputs).unwrap();
    let mut archive = Archive::open(&kept, None).unwrap();
    let files = vec![None; inputs.len()];
    archive.add(&inputs, &files, &recovery, NoImages).unwrap();
    compare(&kept, &[&kept, &logs]);
    compare(&LOGS.kept_damaged, &[&LOGS.kept_damaged, &LOGS.damaged]);
}
