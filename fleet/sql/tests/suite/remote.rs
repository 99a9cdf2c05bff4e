//! Logs and archives behind `http://` and `s3://`, from a server of this test's own: the same answers as from files.

use crate::{LOGS, ask};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// What each answer says of a file.
const ABOUT: &str = "Last-Modified: Wed, 25 Nov 2026 10:00:00 GMT\r\nETag: \"1\"\r\n";

/// Serves files of a folder, whole or ranges of them, and lists them as S3 does, as the bucket `bucket`.
struct Server {
    address: SocketAddr,
    /// The path and the range of each request.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn of(root: &Path) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (root, noted) = (root.to_owned(), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, noted) = (root.clone(), Arc::clone(&noted));
                thread::spawn(move || serve(&stream, &root, &noted));
            }
        });
        Server { address, asked }
    }

    fn ask(&self, paths: &[&str], question: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_logdef-sql"))
            .args(paths)
            .args(["--query", question, "-o", "csv"])
            .env("AWS_ENDPOINT", format!("http://{}", self.address))
            .envs([("AWS_ALLOW_HTTP", "true"), ("AWS_SKIP_SIGNATURE", "true")])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn answer(&self, path: &str, question: &str) -> String {
        let output = self.ask(&[path], question);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{path}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn serve(stream: &TcpStream, root: &Path, asked: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_owned()),
            }
        }
        let range = head.iter().find_map(|line| {
            let line = line.to_ascii_lowercase();
            line.strip_prefix("range: bytes=").map(str::to_owned)
        });
        let mut words = head[0].split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let range = range.unwrap_or_default();
        asked
            .lock()
            .unwrap()
            .push(format!("{method} {target} {range}"));
        let (status, more, body) = found(root, method, target, &range);
        let len = body.len();
        write!(
            &mut &*stream,
            "HTTP/1.1 {status}\r\n{ABOUT}{more}Content-Length: {len}\r\n\r\n"
        )?;
        if method != "HEAD" {
            (&mut &*stream).write_all(&body)?;
        }
    }
}

/// The status, more about it, and the bytes.
fn found(root: &Path, method: &str, target: &str, range: &str) -> (&'static str, String, Vec<u8>) {
    if !["GET", "HEAD"].contains(&method) {
        return ("405 Method Not Allowed", String::new(), Vec::new());
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if query.contains("list-type=2") {
        return ("200 OK", String::new(), list(root, query).into_bytes());
    }
    let path = path.trim_start_matches('/');
    let Ok(bytes) = fs::read(root.join(path.strip_prefix("bucket/").unwrap_or(path))) else {
        return ("404 Not Found", String::new(), Vec::new());
    };
    let len = bytes.len();
    let (from, to) = match range.split_once('-') {
        None => return ("200 OK", String::new(), bytes),
        Some(("", last)) => (len - last.parse::<usize>().unwrap().min(len), len),
        Some((from, "")) => (from.parse().unwrap(), len),
        Some((from, last)) => (
            from.parse().unwrap(),
            len.min(last.parse::<usize>().unwrap() + 1),
        ),
    };
    let more = format!("Content-Range: bytes {from}-{}/{len}\r\n", to - 1);
    ("206 Partial Content", more, bytes[from..to].to_vec())
}

/// The files and folders right below a prefix that ends with a slash.
fn list(root: &Path, query: &str) -> String {
    let prefix = query.split('&').find_map(|it| it.strip_prefix("prefix="));
    let prefix = prefix.unwrap_or_default().replace("%2F", "/");
    let mut xml = format!("<ListBucketResult><Name>bucket</Name><Prefix>{prefix}</Prefix>");
    let entries = fs::read_dir(root.join(&prefix))
        .into_iter()
        .flatten()
        .flatten();
    let entries: BTreeSet<PathBuf> = entries.map(|entry| entry.path()).collect();
    for path in entries {
        let key = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            xml += &format!("<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>");
        } else {
            let size = path.metadata().unwrap().len();
            let about = "<LastModified>2026-11-25T10:00:00.000Z</LastModified><ETag>1</ETag>";
            xml += &format!("<Contents><Key>{key}</Key><Size>{size}</Size>{about}</Contents>");
        }
    }
    xml + "<IsTruncated>false</IsTruncated></ListBucketResult>"
}

const QUESTION: &str =
    "select run, thread, seq, level, time, message from records order by run, thread, seq";

#[test]
fn what_lies_behind_http_and_s3_answers_as_files_do() {
    let root = LOGS.log.parent().unwrap();
    let server = Server::of(root);
    let part = fs::read_dir(&LOGS.kept)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let part = part.filter(|path| path.is_dir()).min().unwrap();
    let part = part.file_name().unwrap().to_str().unwrap();
    let http = format!("http://{}", server.address);
    for (path, local) in [
        (format!("{http}/orders.log"), &LOGS.log),
        (format!("{http}/kept/{part}"), &LOGS.kept),
        ("s3://bucket/orders.log".into(), &LOGS.log),
        ("s3://bucket/kept".into(), &LOGS.kept),
        ("s3://bucket/kept-damaged/".into(), &LOGS.kept_damaged),
    ] {
        let expected = ask(&[local], QUESTION, &[]).0;
        assert!(expected.lines().count() > 100);
        assert!(server.answer(&path, QUESTION) == expected, "{path}");
    }
    // All logs of a folder, and what is no log is not read.
    let all = ask(&[&LOGS.log, &LOGS.second, &LOGS.damaged], QUESTION, &[]).0;
    assert!(server.answer("s3://bucket/", QUESTION) == all);
}

#[test]
fn of_the_records_of_an_archive_only_ranges_are_asked_for() {
    let server = Server::of(LOGS.log.parent().unwrap());
    server.answer("s3://bucket/kept", "select max(seq) from records");
    let asked = server.asked.lock().unwrap();
    let of_records = asked
        .iter()
        .filter(|it| it.starts_with("GET") && it.contains("records.parquet"));
    let of_records: Vec<_> = of_records.collect();
    assert!(!of_records.is_empty());
    assert!(
        of_records
            .iter()
            .all(|it| it.contains('-') && !it.ends_with(' ')),
        "{of_records:?}"
    );
}

#[test]
fn what_is_not_there_is_an_error_in_a_line() {
    let server = Server::of(LOGS.log.parent().unwrap());
    let nothing = format!("http://{}/nothing.log", server.address);
    for path in [
        nothing.as_str(),
        "s3://bucket/nothing",
        "s3://bucket/kept/nothing",
    ] {
        let output = server.ask(&[path], "select 1");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains(path) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn workers_are_not_sent_to_other_hosts() {
    let server = Server::of(LOGS.log.parent().unwrap());
    let path = format!("http://{}/orders.log", server.address);
    let output = server.ask(&[&path, "--workers", "127.0.0.1:1"], "select 1");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--workers") && said.contains(&path), "{said}");
    assert_eq!(server.asked.lock().unwrap().len(), 0);
}
