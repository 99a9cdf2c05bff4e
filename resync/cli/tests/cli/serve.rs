//! The examples of the pages of `logdef-serve`, run as they are printed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::copy::copy_program;
use crate::fixture::{command, path_with_logdef};

/// `logdef serve` in a directory of its own.
struct Service {
    directory: tempfile::TempDir,
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
}

impl Service {
    fn start(directory: tempfile::TempDir, flags: &[&str]) -> Service {
        let mut child = command()
            .arg("serve")
            .args(flags)
            .arg(directory.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut service = Service {
            directory,
            child,
            errors,
        };
        assert!(service.line().contains("serving in "));
        service
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line
    }

    /// Runs a script that has `logdef` on its path and `/tmp/logdef-demo` here.
    fn run(&self, script: &str) -> String {
        let script = script.replace("/tmp/logdef-demo", self.directory.path().to_str().unwrap());
        let output = Command::new("sh")
            .args(["-ec", &script])
            .env("PATH", path_with_logdef())
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}\n{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn signal(&mut self, name: &str) {
        self.run(&format!("kill -{name} {}", self.child.id()));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The fenced blocks of a page, with their language.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.split_once('\n').unwrap())
        .collect()
}

#[test]
fn the_jq_examples_print_what_the_page_says() {
    if Command::new("jq")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        crate::skip::skip("jq is not here");
        return;
    }
    let service = Service::start(tempfile::tempdir().unwrap(), &[]);
    let run = |script: &str| service.run(script);
    let page = include_str!("../../../fuchsia/serve/QUERIES.md");
    let with_jq = &page[page.find("## With jq").unwrap()..];
    let blocks = blocks(with_jq);
    let [(_, setup), examples @ ..] = &blocks[..] else {
        panic!("no examples");
    };
    run(setup);
    let mut tested = 0;
    for pair in examples.chunks(2) {
        let [("sh", script), ("text", expected)] = pair else {
            panic!("{pair:?}");
        };
        assert_eq!(run(script), *expected, "{script}");
        tested += 1;
    }
    assert_eq!(tested, 4);
}

#[test]
fn records_and_queries_and_packets_can_be_tried_as_the_pages_say() {
    let service = Service::start(tempfile::tempdir().unwrap(), &[]);
    for page in [
        include_str!("../../../fuchsia/serve/RECORDS.md"),
        include_str!("../../../fuchsia/serve/LEGACY.md"),
    ] {
        let tried = &page[page.find("## Try it").unwrap()..];
        let (language, script) = blocks(tried)[0];
        assert_eq!(language, "sh");
        if script.contains("python3") && Command::new("python3").arg("-V").output().is_err() {
            crate::skip::skip("python3 is not here");
            continue;
        }
        // The first line starts the service, if the page is about that.
        let lines = script
            .lines()
            .filter(|line| !line.starts_with("logdef serve"));
        service.run(&lines.collect::<Vec<_>>().join("\n"));
    }
    let text = service.run("logdef stream /tmp/logdef-demo");
    assert!(
        text.contains("INFO: listening port=8080 tls=true\n"),
        "{text}"
    );
    let level = service.run("logdef stream -l warn /tmp/logdef-demo");
    assert_eq!(level, "");
    let text = "bad $(printf '\\302\\2331m')";
    service.run(&format!("logdef send -d /tmp/logdef-demo WARN \"{text}\""));
    let json = service.run("logdef stream -l warn -o json /tmp/logdef-demo");
    assert!(json.contains(r"bad \u009b1m"), "{json}");
}

#[test]
fn a_service_killed_or_ended_has_all_that_it_acknowledged() {
    let mut directory = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let mut service = Service::start(directory, &["--on-invalid", "drop"]);
        service.run(&format!(
            "logdef send -d /tmp/logdef-demo WARN 'round {round}' tag=t"
        ));
        let text = service.run("logdef stream -t t /tmp/logdef-demo");
        assert_eq!(text.lines().count(), round + 1, "{text}");
        match round {
            1 => {
                service.signal("TERM");
                assert_eq!(service.line(), "ended\n");
                assert!(service.child.wait().unwrap().success());
            }
            _ => service.signal("KILL"),
        }
        let _ = service.child.wait();
        let stored = service.run("logdef view -o raw '/tmp/logdef-demo/records.log.*'");
        assert_eq!(stored.lines().count(), round + 1, "{stored}");
        assert!(
            stored.contains(&format!("]: [t] round {round}")),
            "{stored}"
        );
        directory = std::mem::replace(&mut service.directory, tempfile::tempdir().unwrap());
    }
}

#[test]
fn the_state_of_a_service_counts() {
    let service = Service::start(tempfile::tempdir().unwrap(), &["--strict"]);
    service.run("logdef send -d /tmp/logdef-demo error broken code=-7");
    let state = service.run("logdef stream --state /tmp/logdef-demo");
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let totals = &state[0]["payload"]["root"]["totals"];
    assert_eq!(
        (&totals["stored"], &totals["invalid"]),
        (&1.into(), &0.into())
    );
    let json = service.run("logdef stream -o json /tmp/logdef-demo");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["payload"]["root"]["keys"]["code"], -7);
    let second = command()
        .arg("serve")
        .arg(service.directory.path())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(4));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("another service is running there"), "{said}");
}

#[test]
fn a_stream_source_is_shown_and_filtered() {
    use logdef_fuchsia::structured::{RecordWriter, Severity};
    use logdef_serve::stream::{StreamSettings, StreamSource};

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("demo.stream");
    let source = StreamSource::bind(&path, StreamSettings::default()).unwrap();
    for (severity, text) in [
        (Severity::INFO, "fine"),
        (Severity::ERROR, "bad\x1b[31m\u{9b}1m"),
    ] {
        let mut buffer = [0; 256];
        let mut record = RecordWriter::new(&mut buffer, 72_000, severity).unwrap();
        record.argument("message", text).unwrap();
        source.write(record.finish()).unwrap();
    }
    let show = |flags: &[&str]| {
        let child = command()
            .args(["stream", "--source"])
            .arg(&path)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn();
        BufReader::new(child.unwrap().stdout.unwrap()).lines()
    };
    let (mut all, mut worst) = (show(&[]), show(&["-l", "warn", "--json"]));
    assert_eq!(
        all.next().unwrap().unwrap(),
        "[00000.000072][][][demo] INFO: fine"
    );
    let last = all.next().unwrap().unwrap();
    assert_eq!(last, "[00000.000072][][][demo] ERROR: bad\\x1b[31m\\x9b1m");
    let json = worst.next().unwrap().unwrap();
    assert!(json.contains(r"bad\u001b[31m\u009b1m"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["metadata"]["severity"], "ERROR");
    drop(source);
    assert!(all.next().is_none() && worst.next().is_none());
}

#[test]
fn what_no_record_can_hold_is_cut_and_said() {
    let service = Service::start(tempfile::tempdir().unwrap(), &["--strict"]);
    let send = |script: &str| service.run(&format!("{script} 2>&1 || true"));
    let long = "x".repeat(33_000);
    let said = send(&format!("logdef send -d /tmp/logdef-demo INFO {long}"));
    assert!(said.contains("the record was cut"), "{said}");
    let keys: Vec<_> = (0..30).map(|key| format!("k{key}=1")).collect();
    let said = send(&format!(
        "logdef send -d /tmp/logdef-demo INFO many {}",
        keys.join(" ")
    ));
    assert!(said.contains("the record was cut"), "{said}");
    let status = command()
        .args(["send", "INFO", &long, "-d"])
        .arg(service.directory.path())
        .output()
        .unwrap()
        .status;
    assert_eq!(status.code(), Some(3));
    let text = service.run("logdef stream /tmp/logdef-demo");
    assert!(!text.contains("missing message"), "{text}");
    assert_eq!(text.matches("x…").count(), 2);
    assert!(text.contains("left_out=19"), "{text}");
}

/// The command as another user, in a place where it can run.
fn as_user(user: u32, program: &Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    command.uid(user).gid(user).env_remove("XDG_RUNTIME_DIR");
    command
}

#[test]
fn a_service_of_another_user_gets_nothing() {
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown};
    const THEM: u32 = 65_533;
    const US: u32 = 65_532;

    let place = tempfile::tempdir().unwrap();
    let open = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
    open(place.path(), 0o755);
    let theirs = place.path().join("theirs");
    create_dir(&theirs).unwrap();
    if chown(&theirs, Some(THEM), Some(THEM)).is_err() {
        crate::skip::skip("only root can be another user");
        return;
    }
    let program = place.path().join("logdef");
    copy_program(Path::new(env!("CARGO_BIN_EXE_logdef")), &program);
    open(&program, 0o755);

    // They serve, and then open all doors to those who come.
    let mut child = as_user(THEM, &program)
        .arg("serve")
        .arg(&theirs)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert!(said.contains("serving in"), "{said}");
    open(&theirs, 0o755);
    for socket in ["log", "stream"] {
        open(&theirs.join(socket), 0o666);
    }
    for verb in [&["send", "INFO", "secret", "-d"][..], &["stream"]] {
        let output = as_user(US, &program)
            .args(verb)
            .arg(&theirs)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("of user 65533"), "{said}");
    }
    // We do not serve in their directory, nor in one that they can replace.
    let output = as_user(US, &program)
        .arg("serve")
        .arg(&theirs)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("belongs to user 65533"), "{said}");
    let ours = place.path().join("ours");
    create_dir(&ours).unwrap();
    chown(&ours, Some(US), Some(US)).unwrap();
    open(&ours, 0o777);
    let output = as_user(US, &program)
        .arg("serve")
        .arg(&ours)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("can be written by other users"), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
}
