//! A type of the program's own that is several values: what its text shows, and fields with names and types.

use logdef::{
    Field, Fields, Loggable, Passed, display, logdef, logdef_every_n, logdef_span, value,
};
use logdef_samples::workshop::{Workshop, run};
use std::fmt;
use std::path::Path;

struct Request {
    method: String,
    us: u32,
}

impl Loggable for Request {
    fn logged(&self) -> Passed<'_> {
        value(&self.method)
    }
}

impl Fields for Request {
    fn fields(&self, log: &mut dyn FnMut(&[Field<'_>])) {
        let ms = f64::from(self.us) / 1000.0;
        log(&[("method", value(&self.method)), ("ms", value(&ms))]);
        log(&[("again", value(&1))]);
    }
}

/// Its fields depend on what it is.
enum Peer {
    Known(&'static str),
    Stranger,
    Broken,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("peer")
    }
}

impl Loggable for Peer {
    fn logged(&self) -> Passed<'_> {
        Passed::display(self)
    }
}

impl Fields for Peer {
    fn fields(&self, log: &mut dyn FnMut(&[Field<'_>])) {
        match self {
            Peer::Known(name) => log(&[("name", value(name)), ("text", Passed::display(self))]),
            Peer::Stranger => {}
            Peer::Broken => panic!("on purpose"),
        }
    }
}

struct Many;

impl Loggable for Many {
    fn logged(&self) -> Passed<'_> {
        value("many")
    }
}

impl Fields for Many {
    fn fields(&self, log: &mut dyn FnMut(&[Field<'_>])) {
        log(&[("x", value(&1)); 40]);
    }
}

fn log_everything(path: &Path) {
    let req = &Request {
        method: "GET".into(),
        us: 7500,
    };
    logdef!(Info, "early {req}");
    logdef::open(path).unwrap();
    let (ann, stranger) = (Peer::Known("ann"), Peer::Stranger);
    logdef!(Info, "request {req}");
    logdef!(Info, "{} by {ann} or {stranger}, {}", req, 3);
    logdef!(Info, "%d %s done", 1, display(&ann), req = req, peer = ann);
    logdef!(Info, "panic {}", Peer::Broken);
    logdef!(Info, "{}", Many);
    for _ in 0..3 {
        logdef_every_n!(2, Info, "every {req}");
    }
    drop(logdef_span!(Info, "span {req}"));
}

/// What the command prints of each record.
fn shown(path: &Path, words: &[&str]) -> Vec<String> {
    let mut command = Workshop::open().command("logdef");
    let output = run(command.arg("view").arg(path).args(words));
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| match line.find(".rs:") {
        Some(at) => line[at..].split_once(": ").unwrap().1.to_string(),
        None => line.to_string(),
    });
    lines.collect()
}

#[test]
fn a_type_is_logged_as_several_values_with_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.log");
    let captured = logdef::testing::capture_all();
    log_everything(&path);
    assert_eq!(captured.records()[0]["req.ms"], 7.5);
    drop(captured);
    let req = "req.method=GET req.ms=7.5";
    let lines = shown(&path, &["--backtrace", "none"]);
    let expected = [
        format!("early GET {req}"),
        format!("request GET {req}"),
        "GET by peer or peer, 3 method=GET ms=7.5 ann.name=ann ann.text=peer".to_string(),
        format!("1 peer done req=GET peer=peer {req} peer.name=ann peer.text=peer"),
        "panic peer".to_string(),
        format!("many{}", " x=1".repeat(16)),
        format!("every GET {req}"),
        format!("every GET skipped=1 {req}"),
    ];
    assert_eq!(lines[..8], expected, "{lines:#?}");
    let begin = &lines[8];
    assert!(
        begin.contains("span GET") && begin.ends_with(req),
        "{begin}"
    );
    assert_eq!(lines.len(), 10, "{lines:#?}");
    let slow = shown(&path, &["-o", "raw", "-w", "req.ms>7.4 and req.method=GET"]);
    assert_eq!(slow.len(), 6, "{slow:?}");
    assert!(shown(&path, &["-w", "req.ms>7.5"]).is_empty());
    let json = shown(&path, &["-o", "json", "-w", "peer.name=ann"]).concat();
    let keys = r#""keys":{"req.method":"GET","req.ms":7.5,"peer.name":"ann","peer.text":"peer"}"#;
    assert!(json.contains(keys), "{json}");
}
