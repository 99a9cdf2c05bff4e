//! The two commands of docs/fleet.md, as they stand there.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Data, PROGRAM, answer};

#[test]
fn the_unit_of_the_page_is_one_that_systemd_takes() {
    let page = include_str!("../../../../docs/fleet.md");
    let unit = page.split("```ini\n").nth(1).unwrap();
    let unit = unit.split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logdef-worker.service");
    std::fs::write(
        &path,
        unit.replace("/usr/bin/logdef-sql", &format!("\"{PROGRAM}\"")),
    )
    .unwrap();
    let mut analyze = Command::new("systemd-analyze");
    let Ok(output) = analyze.arg("verify").arg(&path).output() else {
        return crate::skip::skip("no systemd-analyze");
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn the_commands_of_the_page_run() {
    let page = include_str!("../../../../docs/fleet.md");
    let block = page
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let commands: Vec<_> = block.lines().collect();
    let [worker, question] = commands.as_slice() else {
        panic!("two commands: {block}");
    };
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let logs = Data::get().path("logs");
    let of_here = |command: &str| {
        let command = command
            .replace("127.0.0.1:7401", &address)
            .replace("/var/log/app", logs.to_str().unwrap());
        command.replacen("logdef-sql", &format!("'{PROGRAM}'"), 1)
    };
    let worker = of_here(worker.strip_suffix('&').unwrap());
    let mut worker = Command::new("sh")
        .args(["-c", &format!("exec {worker}")])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (end, question) = (Instant::now() + Duration::from_secs(60), of_here(question));
    let output = loop {
        let output = Command::new("sh").args(["-c", &question]).output().unwrap();
        if output.status.success() || Instant::now() > end {
            break output;
        }
    };
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let counted = String::from_utf8(output.stdout).unwrap();
    let local = answer(
        &[],
        &[&logs],
        "select level, count(*) from records group by level order by level",
    )
    .0;
    for row in local.lines().skip(1) {
        let count = row.rsplit(',').next().unwrap();
        assert!(counted.contains(count), "{row}: {counted}");
    }
}
