//! Debug files from a server: one that has them, one that has others, one that is gone.
#![cfg(feature = "debuginfod")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{self, chain, compile, run, symbol};
use logdef_symbolizer::{Debuginfod, Fingerprint, Locator, Options};

/// A server of the files in a directory, by their paths in URLs; counts what it is asked for.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(root: &Path) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (root, log) = (root.to_owned(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let mut request = String::new();
                stream.read_line(&mut request).unwrap();
                let path = request.split(' ').nth(1).unwrap().to_owned();
                let mut line = String::new();
                while stream.read_line(&mut line).unwrap() > 2 {
                    line.clear();
                }
                log.lock().unwrap().push(path.clone());
                let (status, body) = match fs::read(root.join(&path[1..])) {
                    Ok(body) => ("200 OK", body),
                    Err(_) => ("404 Not Found", Vec::new()),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let stream = stream.get_mut();
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(&body).unwrap();
            }
        });
        Server { url, asked }
    }
}

#[test]
fn debug_files_and_images_come_from_a_server_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-O1 -g", "chain.c", "program");
    let (outer, _) = symbol(&path, "outer");
    let id = support::open(&path).build_id().unwrap().to_vec();
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let place = dir.path().join("root/buildid").join(&hex);
    fs::create_dir_all(&place).unwrap();
    let debug = format!("root/buildid/{hex}/debuginfo");
    run(
        dir.path(),
        "objcopy",
        &["--only-keep-debug", "program", &debug],
    );
    run(dir.path(), "strip", &["program"]);
    fs::copy(&path, place.join("executable")).unwrap();

    let server = Server::start(&dir.path().join("root"));
    let gone = "http://127.0.0.1:1".to_owned();
    let cache = dir.path().join("cache");
    let client = Debuginfod::new(
        vec![gone, server.url.clone()],
        Some(cache.clone()),
        Duration::from_secs(20),
    );
    let wanted = Fingerprint {
        build_id: Some(id),
        ..Fingerprint::default()
    };
    let urls = ["executable", "debuginfo"].map(|name| format!("/buildid/{hex}/{name}"));
    for _ in 0..2 {
        let locator = Locator::with_fetch(Options::default(), Box::new(client.clone()));
        let image = locator.for_symbols(b"/usr/bin/program", &wanted).unwrap();
        assert_eq!(chain(&image, outer), ["outer chain.c:17"]);
        // The second round is answered by the cache.
        assert_eq!(*server.asked.lock().unwrap(), urls);
    }

    // Another build under the same ID is of no use, wherever it comes from.
    compile(dir.path(), "gcc", "-O2 -g", "chain.c", "other");
    for name in ["executable", "debuginfo"] {
        fs::copy(dir.path().join("other"), cache.join(&hex).join(name)).unwrap();
    }
    let locator = Locator::with_fetch(Options::default(), Box::new(client));
    let error = locator.for_symbols(b"program", &wanted).unwrap_err();
    assert!(error.to_string().contains("has build ID"), "{error}");
    let image = locator.open(&path).unwrap();
    assert_eq!(chain(&image, outer), [""; 0]);
    assert!(image.complaints()[0].contains("has build ID"));
}
