//! A server by `tracing` and tokio: each connection is a span, each command another in it.

use crate::{Place, Places, Story};
use logdef_resync::records::Record;
use logdef_wire::Level;
use logdef_wire::record::Kind;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const STORY: Story = Story {
    package: "mini-redis",
    executable: "mini-redis-server",
    arguments: &["--port"],
    log: "mini-redis.log",
    ask,
    check,
};

/// Sets keys that no one else sets.
fn ask(port: u16, client: usize, answered: &AtomicU64) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    for number in 0.. {
        let key = format!("{client}-{number}");
        let len = key.len();
        write!(
            stream,
            "*3\r\n$3\r\nSET\r\n${len}\r\n{key}\r\n${len}\r\n{key}\r\n"
        )?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        assert_eq!(&answer, b"+OK\r\n");
        answered.store(number + 1, Ordering::Release);
    }
    Ok(())
}

const RUN: Place<'_> = Place {
    level: Level::INFO,
    target: "mini_redis::server",
    file: "src/server.rs",
    call: "#[instrument(skip(self))]",
};
const COMMAND: Place<'_> = Place {
    level: Level::DEBUG,
    call: "debug!(?cmd);",
    ..RUN
};
const APPLY: Place<'_> = Place {
    level: Level::INFO,
    target: "mini_redis::cmd::set",
    file: "src/cmd/set.rs",
    call: "#[instrument(skip(self, db, dst))]",
};
const RESPONSE: Place<'_> = Place {
    level: Level::DEBUG,
    call: "debug!(?response);",
    ..APPLY
};

/// What was found, by the numbers of spans.
#[derive(Default)]
struct Found<'r> {
    begins: HashMap<String, &'r Record>,
    ended: HashSet<String>,
    /// The spans in which commands are carried out, of each connection.
    within: HashMap<String, Vec<String>>,
    /// The connection of each command.
    commands: HashMap<&'r str, (String, &'r Record)>,
    responses: HashMap<String, Vec<&'r Record>>,
    by_log: usize,
}

impl<'r> Found<'r> {
    fn take(&mut self, record: &'r Record) {
        let number = |name| record.get(name).map(ToString::to_string);
        let text = |name| record.get(name).and_then(|value| value.as_str());
        if record.target() == Some("mio::poll") {
            // A library that logs by `log`.
            assert!(
                record
                    .file()
                    .is_some_and(|file| file.ends_with("src/poll.rs"))
            );
            assert!(record.line() > Some(0) && record.get("log.line").is_none());
            self.by_log += 1;
        }
        let Some(span) = number("span") else { return };
        if record.kind() == Kind::BEGIN {
            if let Some(parent) = number("parent") {
                self.within.entry(parent).or_default().push(span.clone());
            }
            self.begins.insert(span, record);
        } else if record.kind() == Kind::END {
            self.ended.insert(span);
        } else if let Some(command) = text("cmd") {
            let before = self.commands.insert(command, (span, record));
            assert!(before.is_none(), "{command} is there twice");
        } else if text("response") == Some("Simple(\"OK\")") {
            self.responses.entry(span).or_default().push(record);
        }
    }
}

fn check(places: &Places, records: &[Record], answered: &[u64]) {
    let mut found = Found::default();
    for record in records {
        found.take(record);
    }
    assert!(found.by_log > 0);
    for (client, answered) in answered.iter().enumerate() {
        for number in 0..*answered {
            let key = format!("{client}-{number}");
            let command = format!("Set(Set {{ key: \"{key}\", value: b\"{key}\", expire: None }})");
            let command = found.commands.get(&command[..]);
            let (connection, command) = command.unwrap_or_else(|| panic!("no {key}"));
            places.assert_at(COMMAND, command);
            let run = found.begins[connection];
            places.assert_at(RUN, run);
            assert_eq!(run.message(), "run");
            let span = &found.within[connection][number as usize];
            let apply = found.begins[span];
            places.assert_at(APPLY, apply);
            assert_eq!(apply.message(), "apply");
            let [response] = found.responses[span][..] else {
                panic!("{key}: {:?}", found.responses[span]);
            };
            places.assert_at(RESPONSE, response);
            // The span of the last command may end after its answer.
            assert!(
                number + 1 == *answered || found.ended.contains(span),
                "{key}"
            );
        }
    }
}
