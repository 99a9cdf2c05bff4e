//! Filters as a user sets them: in the environment, for modules, files and lines,
//! and changed while the program runs.

use logdef::{Level, logdef};

mod common;

mod net {
    pub mod tcp {
        use logdef::logdef;

        pub fn talk(round: u32) {
            logdef!(Trace, "tcp traces %u", round);
            logdef!(Warn, "tcp warns %u", round);
        }
    }

    pub fn talk(round: u32) {
        logdef::logdef!(Debug, "net debugs %u", round);
    }
}

/// Every call, with the round it belongs to.
fn all(round: u32) {
    logdef!(Trace, "traces %u", round);
    logdef!(Info, "informs %u", round);
    net::talk(round);
    net::tcp::talk(round);
}

const THIS_LINE: u32 = line!() + 3;
/// A single line that is on when the rest of the file is off.
fn one_line(round: u32) {
    logdef!(Trace, "this line %u", round);
}

#[test]
fn what_is_on_is_said_in_the_environment_and_changed_while_running() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let filter =
        format!("off,filters::net=debug,filters::net::tcp=warn,tests/filters.rs:{THIS_LINE}=trace");
    // SAFETY: the only test of its program, before any other thread of it reads the
    // environment.
    unsafe { std::env::set_var("LOGDEF", filter) };
    logdef::open(&path).unwrap();
    let rounds: [&dyn Fn(); 5] = [
        &|| {},
        &|| logdef::set_filter("filters.rs=info").unwrap(),
        &|| assert!(logdef::set_filter("filters.rs=loud").is_err()),
        &|| logdef::set_filter("filters::net=on").unwrap(),
        &|| logdef::set_level(Level::ERROR),
    ];
    for (round, change) in rounds.iter().enumerate() {
        change();
        all(round as u32);
        one_line(round as u32);
        // A thread that was there before and one that is new see the same.
        std::thread::spawn(move || one_line(10 + round as u32))
            .join()
            .unwrap();
    }

    let mut found = Vec::new();
    let mut strings = std::collections::HashMap::new();
    common::records(&std::fs::read(&path).unwrap(), |record| match record {
        logdef_wire::Record::StringLogdef(logdef) => {
            let text = String::from_utf8(logdef.string.unwrap().to_vec()).unwrap();
            strings.insert(logdef.address.unwrap(), text);
        }
        logdef_wire::Record::Data(data) => {
            let round = data.args.unwrap().iter().next().unwrap().as_uint().unwrap();
            let text = strings[&data.format.unwrap()].replace(" %u", "");
            found.push((round, text));
        }
        _ => {}
    });
    found.sort();
    let expected = [
        (0, "net debugs"),
        (0, "tcp warns"),
        (0, "this line"),
        (1, "informs"),
        (1, "tcp warns"),
        // What is no filter changes nothing.
        (2, "informs"),
        (2, "tcp warns"),
        // The level of the process is TRACE, until it is set.
        (3, "informs"),
        (3, "net debugs"),
        (3, "tcp traces"),
        (3, "tcp warns"),
        (3, "this line"),
        (3, "traces"),
        (4, "net debugs"),
        (4, "tcp traces"),
        (4, "tcp warns"),
        (10, "this line"),
        (13, "this line"),
    ];
    let expected = expected.map(|(round, text)| (round, text.to_string()));
    assert_eq!(found, expected);
}
