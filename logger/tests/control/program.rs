//! A program that logs, in a process of its own: it does what is written to its standard
//! input, a word a line. And what `logdef ctl` would do to it.

use super::common;
use logdef::{Level, logdef};
use logdef_wire::control::{Block, Request, SIZE, State, Taken};
use logdef_wire::record::NoteKind;
use logdef_wire::{Record, frame};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub const VICTIM: &str = "LOGDEF_TEST_VICTIM";

/// Two call sites, the same each time.
fn log(number: u32) {
    logdef!(Info, "info %u", number);
    logdef!(Debug, "debug %u", number);
}

fn open(path: &Path, level: Level) {
    open_with(path, |options| options.level(level));
}

fn open_with(path: &Path, choose: impl FnOnce(logdef::Options) -> logdef::Options) {
    choose(logdef::options()).open(path).unwrap();
}

/// Closes every descriptor but those of the standard streams.
fn close_all() {
    // SAFETY: what the logger and the runtime still use of them is what is tested.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
}

/// The program that logs.
pub fn victim(path: &Path) {
    let words = std::io::stdin().lock().lines();
    for (number, word) in words.map(Result::unwrap).enumerate() {
        let number = number as u32;
        match &*word {
            "info" => open(path, Level::INFO),
            "off" => open(path, Level(255)),
            "asked" => open_with(path, |options| options.control(true).level(Level(255))),
            "refused" => open_with(path, |options| options.control(false)),
            "helped" => open_with(path, |options| options.helper().level(Level::INFO)),
            "rotating" => open_with(path, |options| options.rotate(1 << 20)),
            "close" => logdef::close(),
            "log" => log(number),
            "threads" => (0..6).for_each(|_| {
                // They call until the program ends.
                std::thread::spawn(move || {
                    loop {
                        log(number);
                    }
                });
            }),
            "child" => common::in_child(|| log(number)),
            "close all" => close_all(),
            "daemon" => {
                // SAFETY: the child continues where the parent leaves.
                if unsafe { libc::fork() } > 0 {
                    // SAFETY: ends the process.
                    unsafe { libc::_exit(0) }
                }
                println!("pid {}", std::process::id());
            }
            "nobody" => {
                // SAFETY: takes no pointer.
                assert_eq!(unsafe { libc::setgid(65534) | libc::setuid(65534) }, 0);
            }
            word => panic!("{word}"),
        }
        println!("done");
    }
}

pub struct Program {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub directory: tempfile::TempDir,
}

impl Program {
    pub fn start(first: &str) -> Program {
        Program::with(first, |command| {
            command.env("LOGDEF_CTL", "1");
        })
    }

    pub fn with(first: &str, change: impl Fn(&mut Command)) -> Program {
        Program::at(tempfile::tempdir().unwrap(), first, change)
    }

    pub fn at(directory: tempfile::TempDir, first: &str, change: impl Fn(&mut Command)) -> Program {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env(VICTIM, directory.path().join("log"))
            .env_remove("LOGDEF_CTL")
            .args(["--exact", "the_program", "--nocapture", "--ignored"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut program = Program {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            directory,
        };
        program.does(first);
        program
    }

    /// Lets it do something, and returns what it prints.
    pub fn does(&mut self, word: &str) -> String {
        writeln!(self.input, "{word}").unwrap();
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let len = self.output.read_line(&mut line).unwrap();
            assert!(len > 0, "it has died at {word}");
            if line == "done\n" {
                return printed;
            }
            printed.push_str(&line);
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn page(&self) -> PathBuf {
        self.path(".log.ctl")
    }

    /// The numbers of all info and of all debug records, and the texts of notes of control.
    pub fn logged(&self) -> (Vec<u64>, Vec<u64>, Vec<String>) {
        let (mut infos, mut debugs, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let bytes = std::fs::read(self.path("log")).unwrap();
        let mut at = 0;
        while at < bytes.len() {
            let Ok(found) = frame::decode(&bytes[at..]) else {
                at += 1;
                continue;
            };
            at += found.len;
            match common::record(found.body, &mut vec![0; found.body.len()]) {
                Record::Data(data) => {
                    let number = data.args.unwrap().iter().next().unwrap().as_uint().unwrap();
                    match data.level.unwrap() {
                        Level::INFO => infos.push(number),
                        _ => debugs.push(number),
                    }
                }
                Record::Note(note) if note.kind == Some(NoteKind::CONTROL) => {
                    notes.push(String::from_utf8_lossy(note.text.unwrap()).into_owned());
                }
                _ => {}
            }
        }
        (infos, debugs, notes)
    }

    pub fn counts(&self) -> (usize, usize) {
        let (infos, debugs, _) = self.logged();
        (infos.len(), debugs.len())
    }

    pub fn notes(&self) -> Vec<String> {
        self.logged().2
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.page()).unwrap()
    }

    pub fn taken(&self) -> Taken {
        Taken::decode(&self.bytes()).unwrap_or_default()
    }

    /// Writes a request; the process does not know of it yet.
    pub fn ask(&self, request: &Request<'_>) {
        let mut scratch = [0; SIZE];
        let file = File::options().write(true).open(self.page()).unwrap();
        let bytes = request.encode(&mut scratch);
        file.write_all_at(bytes, Request::AT as u64).unwrap();
    }

    /// Rings the bell that the page names, of this process.
    pub fn ring(&self, pid: u32) {
        let bytes = self.bytes();
        let state = State::decode(&bytes).unwrap();
        let path = format!("/proc/{pid}/fd/{}", state.bell_descriptor);
        let bell = File::options().read(true).write(true).open(path).unwrap();
        let metadata = bell.metadata().unwrap();
        assert_eq!((metadata.dev(), metadata.ino()), state.bell);
        let mut gate = [0; 4];
        bell.read_exact_at(&mut gate, 0).unwrap();
        let next = u32::from_ne_bytes(gate) + 4096;
        bell.write_all_at(&next.to_ne_bytes(), 0).unwrap();
    }

    pub fn asks(&self, request: &Request<'_>) {
        self.ask(request);
        self.ring(self.child.id());
    }

    pub fn asks_of(&self, pid: u32, request: &Request<'_>) {
        self.ask(request);
        self.ring(pid);
    }

    /// Lets it do something again and again until it is so.
    pub fn does_until(&mut self, word: &str, what: &str, is_so: impl Fn(&Program) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_so(self) {
            assert!(Instant::now() < deadline, "{what}");
            self.does(word);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
