//! Processes of the command, and logs for them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use logdef_archive::Archive;
use logdef_resync::{Input, NoImages, Recovery};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_logdef-sql");

/// A worker, which ends with this.
pub struct Worker {
    pub process: Child,
    pub address: String,
}

impl Worker {
    pub fn new(data: &Path) -> Worker {
        Worker::with(PROGRAM.as_ref(), data, &[])
    }

    /// Starts a program as a worker, and waits until it says where it listens.
    pub fn with(program: &Path, data: &Path, options: &[&str]) -> Worker {
        let mut command = Command::new(program);
        command
            .args(["worker", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(options);
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim_end().rsplit(' ').next().unwrap().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{line}");
        Worker { process, address }
    }

    pub fn lives(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// The most memory that it has had, in KiB.
    pub fn most_memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn addresses<'a>(workers: impl IntoIterator<Item = &'a Worker>) -> String {
    let addresses: Vec<_> = workers
        .into_iter()
        .map(|worker| worker.address.as_str())
        .collect();
    addresses.join(",")
}

/// What the command gives for a query over some paths.
pub fn ask(options: &[&str], paths: &[&Path], query: &str) -> Output {
    ask_with(PROGRAM.as_ref(), options, paths, query)
}

pub fn ask_with(program: &Path, options: &[&str], paths: &[&Path], query: &str) -> Output {
    let mut command = Command::new(program);
    // Few rows are answered by the coordinator alone, if they are one batch.
    command
        .args(["-o", "csv", "--set", "datafusion.execution.batch_size=50"])
        .args(options)
        .args(["-q", query])
        .args(paths);
    command.output().unwrap()
}

/// The answer: rows, and the line about losses.
pub fn answer(options: &[&str], paths: &[&Path], query: &str) -> (String, String) {
    let output = ask(options, paths, query);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{options:?} {query}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

/// The error line of a query that must fail before it gives a row.
pub fn error(options: &[&str], paths: &[&Path], query: &str) -> String {
    let output = ask(options, paths, query);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success(),
        "{options:?} {query}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    // Names of columns, perhaps.
    let rows = String::from_utf8(output.stdout).unwrap();
    assert!(rows.lines().count() <= 1, "{rows}");
    said
}

/// A folder for the logs and archives of this program: `logs`, `damaged`, `kept` and `kept-damaged`.
pub struct Data {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl Data {
    /// Made once.
    pub fn get() -> &'static Data {
        static DATA: OnceLock<Data> = OnceLock::new();
        DATA.get_or_init(Data::make)
    }

    fn make() -> Data {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let data = Data {
            _folder: folder,
            root,
        };
        crate::requests::write(&data.path("logs"), 60).unwrap();
        std::fs::create_dir(data.path("damaged")).unwrap();
        for name in ["edge.log", "api.log", "store.log"] {
            let bytes = std::fs::read(data.path("logs").join(name)).unwrap();
            std::fs::write(data.path("damaged").join(name), damaged(bytes)).unwrap();
        }
        archive(&data.path("logs"), &data.path("kept"));
        archive(&data.path("damaged"), &data.path("kept-damaged"));
        data
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// A log with a byte changed here, a stretch zeroed there, and its end cut off.
fn damaged(mut bytes: Vec<u8>) -> Vec<u8> {
    let filled = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[filled / 3] ^= 0x40;
    bytes[filled / 2..filled / 2 + 700].fill(0);
    bytes[filled / 5 * 4] = 0xff;
    bytes.truncate(filled - 10);
    bytes
}

/// An archive with small row groups, so that pieces of its files have something in them.
pub fn archive(logs: &Path, folder: &Path) {
    let mut paths: Vec<_> = std::fs::read_dir(logs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let inputs: Vec<_> = paths
        .iter()
        .map(|path| Input::open(path).unwrap())
        .collect();
    let recovery = Recovery::of(&inputs).unwrap();
    let mut archive = Archive::open(folder, None).unwrap().with_row_groups_of(100);
    let files = vec![None; inputs.len()];
    archive.add(&inputs, &files, &recovery, NoImages).unwrap();
}
