//! A program that has more rights than the user who starts it, set-user-ID for instance,
//! obeys nothing of that user's environment. Only root can make one, and only where such
//! programs are allowed.

use crate::compilers::skip::skip;
use crate::compilers::{compile_clean, source, toolchains};
use crate::copy::copy_program;
use crate::installed::prefix;
use crate::wild::{MAPPED, files, numbers, succeeded};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: u32 = 0;
const NOBODY: u32 = 65534;

/// A variable of the environment, and how a run shows that it was obeyed.
struct Variable {
    name: &'static str,
    /// `None`: a folder of the user's.
    value: Option<&'static str>,
    is_obeyed: fn(&Run) -> bool,
}

const VARIABLES: [Variable; 5] = [
    Variable {
        name: "LOGDEF",
        value: Some("off"),
        is_obeyed: |run| run.records == 0,
    },
    Variable {
        name: "LOGDEF_STDERR",
        value: Some("1"),
        is_obeyed: |run| !run.said.is_empty(),
    },
    Variable {
        name: "LOGDEF_CTL",
        value: Some("1"),
        is_obeyed: |run| run.had_page,
    },
    Variable {
        name: "XDG_CACHE_HOME",
        value: None,
        is_obeyed: |run| run.kept_digest,
    },
    Variable {
        name: "HOME",
        value: None,
        is_obeyed: |run| run.kept_digest,
    },
];

/// Variables by which a user has a terminal show no colours.
const COLOURS: [(&str, &str); 2] = [("NO_COLOR", "1"), ("TERM", "dumb")];

/// A colour begins with it.
const COLOUR: &str = "\x1b[";

/// What was seen of one run.
struct Run {
    records: usize,
    /// On standard error.
    said: String,
    /// Whether there was a control page while it lived.
    had_page: bool,
    /// Whether it left a digest in the user's folder.
    kept_digest: bool,
}

/// The same program twice, its logs where only root may look, and the user's folders.
struct Place {
    directory: tempfile::TempDir,
    borrowed: PathBuf,
    own: PathBuf,
}

impl Place {
    fn make() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let at = |name| directory.path().join(name);
        mode(directory.path(), 0o755);
        let (borrowed, own) = (at("borrowed"), at("own"));
        build(&borrowed);
        mode(&borrowed, 0o4755);
        // Later, so that the other's digest can be kept as soon as this one's is.
        copy_program(&borrowed, &own);
        mode(&own, 0o755);
        fs::create_dir(at("audit")).unwrap();
        mode(&at("audit"), 0o700);
        Place {
            directory,
            borrowed,
            own,
        }
    }

    fn logs(&self) -> PathBuf {
        self.directory.path().join("audit")
    }

    fn log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    fn command(&self, program: &Path, user: u32) -> Command {
        let mut command = Command::new(program);
        command.arg(self.log());
        for variable in &VARIABLES {
            command.env_remove(variable.name);
        }
        command.uid(user).gid(user);
        command
    }

    /// How many records the log has, and removes it, with what is beside it.
    fn take_records(&self) -> usize {
        let records = numbers(&[self.log()]).len();
        for file in files(&self.logs()) {
            fs::remove_file(file).unwrap();
        }
        records
    }

    /// Whether programs get rights here by their mode: without them they may not look where the log is.
    fn lends_rights(&self) -> bool {
        let mut command = self.command(&self.borrowed, NOBODY);
        let output = command.args(["logs", MAPPED]).output().unwrap();
        if output.stderr == format!("errno {}\n", libc::EACCES).as_bytes() {
            return false;
        }
        succeeded(&output);
        assert_eq!(self.take_records(), 10);
        true
    }

    /// What a program that shows a record writes to a terminal, with a variable set for it.
    fn shown(&self, program: &Path, user: u32, variable: (&str, &str)) -> String {
        let (mut screen, to) = terminal();
        let mut command = self.command(program, user);
        for (name, _) in COLOURS {
            command.env_remove(name);
        }
        command.env(variable.0, variable.1).arg("shows").stderr(to);
        assert!(command.status().unwrap().success(), "{variable:?}");
        assert_eq!(self.take_records(), 1, "{variable:?}");
        // Its end of the terminal is closed with it, and here.
        drop(command);
        let mut shown = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(len @ 1..) = screen.read(&mut piece) {
            shown.extend(&piece[..len]);
        }
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.ends_with("shown 0\r\n"), "{shown:?}");
        shown
    }

    /// Runs a program for a user with one variable set.
    fn run(&self, program: &Path, user: u32, variable: &Variable) -> Run {
        let folder = tempfile::tempdir_in(self.directory.path()).unwrap();
        mode(folder.path(), 0o755);
        let caches = [folder.path().to_owned(), folder.path().join(".cache")];
        fs::create_dir(&caches[1]).unwrap();
        let value = variable.value.map_or(folder.path().into(), OsString::from);
        let mut command = self.command(program, user);
        command.env(variable.name, value);
        command.args(["waits", MAPPED, "0", "0"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            stderr.read_to_string(&mut said).unwrap();
            said
        });
        writeln!(stdin, "log").unwrap();
        let mut done = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut done).unwrap();
        assert_eq!(done, "done\n", "{}", variable.name);
        let had_page = self.logs().join(".audit.log.ctl").exists();
        drop(stdin);
        assert!(child.wait().unwrap().success(), "{}", variable.name);
        let digests = caches.map(|cache| cache.join("logdef/digests"));
        Run {
            records: self.take_records(),
            said: said.join().unwrap(),
            had_page,
            kept_digest: digests.iter().any(|digests| digests.exists()),
        }
    }
}

/// A terminal: what is read of it, and the end that programs write to.
fn terminal() -> (File, File) {
    let (mut screen, mut end) = (-1, -1);
    let (name, settings, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: there is room for two descriptors, and nothing else is asked or given.
    let made = unsafe { libc::openpty(&raw mut screen, &raw mut end, name, settings, size) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the system made both just now.
    unsafe { (File::from_raw_fd(screen), File::from_raw_fd(end)) }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A program of its own, with the library in it: where the installed one is, its user may
/// not look.
fn build(program: &Path) {
    let flags = ["-std=c11", "-D_GNU_SOURCE", "-pthread"];
    let mut arguments: Vec<OsString> = flags.map(Into::into).into();
    arguments.extend(["-I".into(), prefix().join("include").into()]);
    let archive = prefix().join("lib/liblogdef.a");
    arguments.extend([source("wild.c").into(), archive.into()]);
    arguments.extend(["-ldl", "-lm", "-o"].map(Into::into));
    arguments.push(program.into());
    compile_clean(toolchains()[0].cc, arguments);
}

#[test]
fn a_program_that_borrows_rights_obeys_no_environment() {
    // SAFETY: takes no pointer.
    if unsafe { libc::geteuid() } != ROOT {
        return skip("only root makes programs set-user-ID");
    }
    let place = Place::make();
    if !place.lends_rights() {
        return skip("no set-user-ID programs here");
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    for variable in &VARIABLES {
        // A program of root's own obeys it, as soon as the program is old enough for its digest
        // to be kept.
        while !(variable.is_obeyed)(&place.run(&place.own, ROOT, variable)) {
            assert!(Instant::now() < deadline, "{}", variable.name);
        }
        let run = place.run(&place.borrowed, NOBODY, variable);
        assert!(!(variable.is_obeyed)(&run), "{}", variable.name);
        assert_eq!((run.records, run.said.as_str()), (1000, ""));
    }
}

#[test]
fn a_program_that_borrows_rights_shows_colours_whatever_its_user_wants() {
    // SAFETY: takes no pointer.
    if unsafe { libc::geteuid() } != ROOT {
        return skip("only root makes programs set-user-ID");
    }
    let place = Place::make();
    if !place.lends_rights() {
        return skip("no set-user-ID programs here");
    }
    let usual = ("TERM", "xterm");
    assert!(place.shown(&place.own, ROOT, usual).contains(COLOUR));
    for variable in COLOURS {
        let shown = place.shown(&place.own, ROOT, variable);
        assert!(!shown.contains(COLOUR), "{variable:?}: {shown:?}");
        let shown = place.shown(&place.borrowed, NOBODY, variable);
        assert!(shown.contains(COLOUR), "{variable:?}: {shown:?}");
    }
}
