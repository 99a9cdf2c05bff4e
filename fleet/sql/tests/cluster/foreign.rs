//! Peers of another version, and strangers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::process::{Data, PROGRAM, Worker, answer, ask_with, error};
use crate::proxy::Proxy;

const QUERY: &str = "select count(*), sum(seq) from records";
const OURS: &[u8] = b"logdef-sql 0.1.0 protocol 1";
const OTHER: &[u8] = b"logdef-sql 0.1.0 protocol 7";

/// A relay that lets a plan wait until `act` is done: the second connection's worth of bytes, after the greeting, is
/// held back.
pub fn late(worker: &str, act: impl FnOnce() + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let worker = worker.to_owned();
    std::thread::spawn(move || {
        let mut act = Some(act);
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(&worker).unwrap());
            let (mut back, mut answers) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut answers, &mut back);
                let _ = back.shutdown(Shutdown::Both);
            });
            let mut buffer = [0; 1 << 14];
            let mut seen = Vec::new();
            while let Ok(length @ 1..) = client.read(&mut buffer) {
                seen.extend_from_slice(&buffer[..length]);
                // The plan of a scan has the name of its file.
                if seen.windows(15).any(|window| window == b"records.parquet")
                    && let Some(act) = act.take()
                {
                    act();
                }
                if server.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
        }
    });
    address
}

/// The command as another version would be.
fn other_version(folder: &std::path::Path) -> PathBuf {
    let mut bytes = std::fs::read(PROGRAM).unwrap();
    let finder: Vec<usize> = (0..bytes.len() - OURS.len())
        .filter(|at| bytes[*at] == b'l' && bytes[*at..].starts_with(OURS))
        .collect();
    assert!(!finder.is_empty());
    for at in finder {
        bytes[at..at + OTHER.len()].copy_from_slice(OTHER);
    }
    let path = folder.join("logdef-sql");
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

#[test]
fn versions_refuse_each_other_by_name() {
    let data = Data::get();
    let folder = tempfile::tempdir().unwrap();
    let other = other_version(folder.path());
    let kept = data.path("kept");

    // A coordinator refuses a worker.
    let worker = Worker::with(&other, &data.root, &[]);
    let said = error(&["--workers", &worker.address], &[&kept], QUERY);
    for part in [
        &format!("worker {}", worker.address),
        "protocol 1",
        "protocol 7",
    ] {
        assert!(said.contains(part), "{said}");
    }

    // A worker refuses a coordinator: here one that was led to believe that the worker is of its version.
    let worker = Worker::new(&data.root);
    let proxy = Proxy::that_changes(&worker.address, |bytes| {
        if let Some(at) = bytes.windows(OURS.len()).position(|window| window == OURS) {
            bytes[at..at + OTHER.len()].copy_from_slice(OTHER);
        }
    });
    let output = ask_with(&other, &["--workers", &proxy.address], &[&kept], QUERY);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{said}");
    for part in [
        &format!("worker {}", proxy.address),
        "the coordinator says it is",
        "protocol 7",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

/// What strangers send.
fn noise() -> Vec<Vec<u8>> {
    let mut random = Vec::new();
    let mut state = 7u64;
    for _ in 0..100_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        random.push((state >> 56) as u8);
    }
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // A header block in pieces that never ends, each of 16 KiB.
    let mut endless = preface.clone();
    endless.extend(b"\0\x40\0\x01\x00\0\0\0\x01");
    endless.extend([0; 1 << 14]);
    for _ in 0..1000 {
        endless.extend(b"\0\x40\0\x09\x00\0\0\0\x01");
        endless.extend([0; 1 << 14]);
    }
    // A message that says it has 4 GB.
    let huge = [
        preface.as_slice(),
        b"\0\0\x05\0\0\0\0\0\x01\0\xff\xff\xff\xff",
    ]
    .concat();
    let mut long = b"GET / HTTP/1.1\r\nHost: x\r\nX: ".to_vec();
    long.extend(vec![b'a'; 20 << 20]);
    vec![
        random,
        preface,
        endless,
        huge,
        long,
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        Vec::new(),
        vec![0; 1 << 20],
    ]
}

#[test]
fn strangers_at_the_port_do_no_harm() {
    let data = Data::get();
    let mut worker = Worker::new(&data.root);
    let kept = data.path("kept");
    let local = answer(&[], &[&kept], QUERY);
    let mut open = Vec::new();
    for bytes in noise() {
        for _ in 0..4 {
            let mut stream = TcpStream::connect(&worker.address).unwrap();
            stream
                .set_write_timeout(Some(Duration::from_secs(2)))
                .unwrap();
            let _ = stream.write_all(&bytes);
            open.push(stream);
        }
    }
    assert_eq!(
        answer(&["--workers", &worker.address], &[&kept], QUERY),
        local
    );
    assert!(worker.lives());
    assert!(
        worker.most_memory() < 512 << 10,
        "{} KiB",
        worker.most_memory()
    );
}

/// More connections than a worker takes, none of which says anything: they are given up, and it answers again.
#[test]
fn silent_connections_are_given_up() {
    let data = Data::get();
    let worker = Worker::new(&data.root);
    let open: Vec<_> = (0..400)
        .map(|_| TcpStream::connect(&worker.address).unwrap())
        .collect();
    let kept = data.path("kept");
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let output = crate::process::ask(
            &["--workers", &worker.address, "--timeout", "5"],
            &[&kept],
            QUERY,
        );
        if output.status.success() {
            break;
        }
        assert!(
            Instant::now() < end,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    drop(open);
}

#[test]
fn a_worker_listens_to_its_own_machine_unless_an_address_is_given_and_needs_folders() {
    let data = Data::get();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(PROGRAM)
            .arg("worker")
            .args(arguments)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&[]).contains("--data"));
    let missing = data.path("nowhere");
    assert!(run(&["--data", missing.to_str().unwrap()]).contains("nowhere"));
    assert!(
        run(&[
            "--data",
            data.root.to_str().unwrap(),
            "--listen",
            "nonsense"
        ])
        .contains("nonsense")
    );
}
