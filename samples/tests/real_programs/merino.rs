//! A proxy by `log`, with a thread for each connection.

use crate::{Place, Places, Story};
use logdef_resync::records::Record;
use logdef_wire::Level;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

pub(crate) const STORY: Story = Story {
    package: "merino",
    executable: "merino",
    arguments: &["--no-auth", "--port"],
    log: "merino.log",
    ask,
    check,
};

/// A port at which all addresses of this machine take connections and end them.
fn destination() -> u16 {
    static PORT: OnceLock<u16> = OnceLock::new();
    *PORT.get_or_init(|| {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || listener.incoming().for_each(drop));
        port
    })
}

/// An address of this machine that no other request names.
fn address(client: usize, number: u64) -> [u8; 4] {
    let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
    [127, 1 + client as u8, high, low]
}

/// Asks for connections to addresses that no one else names.
fn ask(proxy: u16, client: usize, answered: &AtomicU64) -> io::Result<()> {
    for number in 0..u64::from(u16::MAX) {
        let mut stream = TcpStream::connect(("127.0.0.1", proxy))?;
        stream.write_all(&[5, 1, 0])?;
        let mut method = [0; 2];
        stream.read_exact(&mut method)?;
        assert_eq!(method, [5, 0]);
        let connect = [&[5, 1, 0, 1], &address(client, number)[..]].concat();
        stream.write_all(&[&connect, &destination().to_be_bytes()[..]].concat())?;
        let mut answer = [0; 10];
        stream.read_exact(&mut answer)?;
        assert_eq!(answer[..2], [5, 0]);
        answered.store(number + 1, Ordering::Release);
    }
    Ok(())
}

/// How the records of a request begin, and their calls.
const CALLS: [(&str, Level, &str); 11] = [
    (
        "New connection from: 127.0.0.1",
        Level::DEBUG,
        "debug!(\"New connection",
    ),
    (
        "Version: 5 Auth nmethods: 1",
        Level::TRACE,
        "trace!(\"Version",
    ),
    (
        "Authenticating w/ 127.0.0.1",
        Level::DEBUG,
        "debug!(\"Authenticating",
    ),
    ("methods: [0]", Level::TRACE, "trace!(\"methods"),
    (
        "Sending NOAUTH packet",
        Level::DEBUG,
        "debug!(\"Sending NOAUTH",
    ),
    (
        "Handling requests for 127.0.0.1",
        Level::DEBUG,
        "debug!(\"Handling requests",
    ),
    ("Getting Addr", Level::TRACE, "trace!(\"Getting"),
    (REQUEST, Level::INFO, "info!(\"New Request"),
    (
        "Handling CONNECT Command",
        Level::DEBUG,
        "debug!(\"Handling CONNECT",
    ),
    ("Connecting to: 127.", Level::TRACE, "trace!(\"Connecting"),
    ("Connected!", Level::TRACE, "trace!(\"Connected"),
];
const REQUEST: &str = "New Request: Source: 127.0.0.1, Command: Connect Addr: ";
/// Where in them the request stands.
const REQUESTED: usize = 7;

fn check(places: &Places, records: &[Record], answered: &[u64]) {
    let mut threads = HashMap::<u64, Vec<&Record>>::new();
    for record in records {
        threads
            .entry(record.thread().unwrap())
            .or_default()
            .push(record);
    }
    let mut requests = HashMap::new();
    for records in threads.values() {
        for (index, record) in records.iter().enumerate() {
            if let Some(asked) = record.message().strip_prefix(REQUEST) {
                let before = requests.insert(asked, &records[index - REQUESTED..]);
                assert!(before.is_none(), "{asked} is there twice");
            }
        }
    }
    let port = destination();
    for (client, answered) in answered.iter().enumerate() {
        for number in 0..*answered {
            let [a, b, c, d] = address(client, number);
            let asked = format!("{a}.{b}.{c}.{d}, Port: {port}");
            let records = requests.get(&asked[..]);
            let records = records.unwrap_or_else(|| panic!("no {asked}"));
            for ((text, level, call), record) in CALLS.into_iter().zip(*records) {
                let place = Place {
                    level,
                    target: "merino",
                    file: "src/lib.rs",
                    call,
                };
                places.assert_at(place, record);
                assert!(record.message().starts_with(text), "{record}");
            }
            assert!(records.len() >= CALLS.len(), "{asked}");
            let connecting = records[9].message();
            assert!(
                connecting.ends_with(&format!("{a}.{b}.{c}.{d}:{port}")),
                "{connecting}"
            );
        }
    }
}
