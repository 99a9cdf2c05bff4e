//! `core` on core dumps made by hand, so that each byte of them can be another. Those of the kernel are in
//! the samples' tests.

use crate::fixture::*;

/// Where the log is mapped, in [`core_of`].
const MAPPED: u64 = 0x7f00_0000_0000;

/// A core dump of process 77, which died of SIGSEGV at 0x10 with `log` mapped, whose bytes are in it.
pub fn core_of(path: &str, log: &[u8]) -> Vec<u8> {
    let notes = [
        note(1, &prstatus(77)),
        note(3, &prpsinfo(77)),
        note(0x5349_4749, &siginfo(11, 1, 0x10)),
        note(
            0x4649_4c45,
            &files(&[(MAPPED, MAPPED + log.len() as u64, 0, path)]),
        ),
    ]
    .concat();
    let headers = 64 + 2 * 56;
    let of_notes = (4, headers, 0, notes.len() as u64);
    let of_log = (1, headers + notes.len() as u64, MAPPED, log.len() as u64);
    let headers = [of_notes, of_log].map(program_header).concat();
    [elf_header(2), headers, notes, log.to_vec()].concat()
}

fn elf_header(segments: u16) -> Vec<u8> {
    let mut header = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header.extend(4_u16.to_le_bytes()); // e_type: ET_CORE
    header.extend(62_u16.to_le_bytes()); // e_machine: EM_X86_64
    header.extend(1_u32.to_le_bytes()); // e_version
    header.extend([0; 8]); // e_entry
    header.extend(64_u64.to_le_bytes()); // e_phoff
    header.extend([0; 8]); // e_shoff
    header.extend([0; 4]); // e_flags
    header.extend(64_u16.to_le_bytes()); // e_ehsize
    header.extend(56_u16.to_le_bytes()); // e_phentsize
    header.extend(segments.to_le_bytes()); // e_phnum
    header.extend([0; 6]); // e_shentsize, e_shnum, e_shstrndx
    header
}

/// Of kind, offset, address and size.
fn program_header((kind, offset, address, size): (u32, u64, u64, u64)) -> Vec<u8> {
    let mut header = kind.to_le_bytes().to_vec();
    header.extend(6_u32.to_le_bytes()); // p_flags: readable, writable
    for number in [offset, address, 0, size, size, 4] {
        header.extend(number.to_le_bytes());
    }
    header
}

fn note(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let mut note = 5_u32.to_le_bytes().to_vec();
    note.extend((bytes.len() as u32).to_le_bytes());
    note.extend(kind.to_le_bytes());
    note.extend(b"CORE\0\0\0\0");
    note.extend(bytes);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

fn prstatus(tid: u32) -> Vec<u8> {
    let mut bytes = vec![0; 336];
    bytes[..4].copy_from_slice(&6_u32.to_le_bytes()); // si_signo
    bytes[32..36].copy_from_slice(&tid.to_le_bytes());
    bytes[112 + 16 * 8..][..8].copy_from_slice(&0x1234_u64.to_le_bytes()); // rip
    bytes
}

fn prpsinfo(pid: u32) -> Vec<u8> {
    let mut bytes = vec![0; 136];
    bytes[24..28].copy_from_slice(&pid.to_le_bytes());
    bytes[40..47].copy_from_slice(b"exa\x1b[2m"); // pr_fname
    bytes[56..66].copy_from_slice(b"example -v"); // pr_psargs
    bytes
}

fn siginfo(signal: u32, code: i32, address: u64) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes[..4].copy_from_slice(&signal.to_le_bytes());
    bytes[8..12].copy_from_slice(&code.to_le_bytes());
    bytes[16..24].copy_from_slice(&address.to_le_bytes());
    bytes
}

/// Of first and last address, offset in pages, and path.
fn files(files: &[(u64, u64, u64, &str)]) -> Vec<u8> {
    let mut bytes = (files.len() as u64).to_le_bytes().to_vec();
    bytes.extend(4096_u64.to_le_bytes());
    for (start, end, offset, _) in files {
        for number in [start, end, offset] {
            bytes.extend(number.to_le_bytes());
        }
    }
    for (_, _, _, path) in files {
        bytes.extend(path.as_bytes());
        bytes.push(0);
    }
    bytes
}

fn core(bytes: &[u8], more: &[&str]) -> Done {
    run(command().arg("core").args(more), bytes)
}

#[test]
fn the_log_is_read_out_of_a_core_from_standard_input() {
    let log = example();
    let ran = core(
        &core_of("/nowhere/app.log", &log.bytes),
        &["-", "--tail", "100"],
    );
    let records = run(command().args(["view", "-"]), &log.bytes).out;
    let head = "exa\\x1b[2m (pid 77) was killed by SIGSEGV at 0x10: nothing is mapped there\n\
        command example -v\n\
        log /nowhere/app.log: missing on disk; ";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    assert!(
        ran.out.contains("thread 77, which died\n    #0  0x1234\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.ends_with(&records) && !records.is_empty(),
        "{}",
        ran.out
    );
    assert_eq!(ran.status, 0);
    // Emulators write no siginfo: the first thread's signal is then all there is.
    let mut bytes = core_of("/nowhere/app.log", &log.bytes);
    let siginfo = 64 + 2 * 56 + (20 + 336) + (20 + 136);
    bytes[siginfo + 8] = 0;
    let ran = core(&bytes, &["-"]);
    assert!(ran.out.contains(" was killed by SIGABRT\n"), "{}", ran.out);
    // Records that another process logged are not its own.
    let other = example_of(RUN, 78, EPOCH);
    let ran = core(
        &core_of("/nowhere/app.log", &other.bytes),
        &["-", "--stacks", "none"],
    );
    assert_eq!(ran.out.lines().count(), 3, "{}", ran.out);
}

#[test]
fn what_is_on_disk_and_in_the_core_is_shown_once() {
    let files = Files::new();
    let log = example();
    let path = files.put("app.log", &log.bytes);
    // The end of the file is in the core alone.
    let cut = log.frames[log.frames.len() - 2].start;
    files.put("app.log", &log.bytes[..cut]);
    let bytes = core_of(path.to_str().unwrap(), &log.bytes);
    let ran = core(&bytes, &["-", "--tail", "100", "--stacks", "none"]);
    let records = run(command().args(["view", "-"]), &log.bytes).out;
    assert!(
        ran.out.ends_with(&records) && !records.is_empty(),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(": read from disk; "), "{}", ran.out);
    // Paths in a core are a stranger's.
    let ran = core(&bytes, &["-", "--no-logged-paths", "--tail", "100"]);
    assert!(
        ran.out.contains(": not looked for on disk; "),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with(&records), "{}", ran.out);
}

#[test]
fn in_json_each_fact_has_a_key() {
    let log = example();
    let ran = core(
        &core_of("/nowhere/app.log", &log.bytes),
        &["-", "-o", "json", "-n", "1"],
    );
    let mut lines = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert_eq!(
        lines.next().unwrap().to_string(),
        format!(
            "{{\"core\":{{\"address\":16,\"command\":\"example -v\",\"logs\":[{{\"bytes_in_core\":{},\
             \"path\":\"/nowhere/app.log\",\"read_from\":\"absent\"}}],\"name\":\"exa\\u001b[2m\",\"pid\":77,\
             \"signal\":11,\"signal_name\":\"SIGSEGV\",\"threads\":1}}}}",
            log.bytes.len()
        )
    );
    assert_eq!(
        lines.next().unwrap().to_string(),
        r#"{"stack":{"backtrace":[{"address":4660}],"died":true,"tid":77}}"#
    );
    assert_eq!(lines.next().unwrap()["pid"], 77);
    // Columns are of records alone.
    let ran = core(
        &core_of("/nowhere/app.log", &log.bytes),
        &["-", "-o", "csv"],
    );
    assert!(ran.out.starts_with("time,"), "{}", ran.out);
    assert!(ran.err.contains("was killed by SIGSEGV"), "{}", ran.err);
}

#[test]
fn what_is_no_core_is_named() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_logdef")).unwrap();
    let whole = core_of("/nowhere/app.log", &example().bytes);
    let mut without_threads = whole.clone();
    without_threads[64 + 2 * 56 + 8] = 9; // the kind of the first note
    let mut of_another_machine = whole.clone();
    of_another_machine[18] = 243; // EM_RISCV
    let cases: [(&[u8], &str); 6] = [
        (b"", "is not a core dump: it is too short"),
        (
            &example().bytes,
            "is not a core dump: it has no ELF header; `logdef view` shows logs",
        ),
        (
            &program[..100_000],
            "is a program or library, not a core dump",
        ),
        (&whole[..100], "is not a core dump: it is too short"),
        (
            &without_threads,
            "is a core dump without a thread: it was cut short",
        ),
        (
            &of_another_machine,
            "is not a core dump of x86_64 or aarch64",
        ),
    ];
    for (bytes, why) in cases {
        let ran = core(bytes, &["-"]);
        assert_eq!(ran.status, 4, "{why}");
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{why}: {}", ran.err);
    }
    let ran = core(b"", &["2147483647"]);
    assert!(
        ran.err.contains("no such process, and no such file"),
        "{}",
        ran.err
    );
    let ran = core(b"", &["--follow", "-"]);
    assert_eq!((ran.status, ran.err.lines().count()), (2, 1), "{}", ran.err);
}

/// Whatever bytes of its headers and notes are others, it is read or refused. With the log's place in its file
/// moved to 2^43 that took minutes.
#[test]
fn each_byte_of_a_core_may_be_another() {
    let files = Files::new();
    let whole = core_of("/nowhere/app.log", &example().bytes);
    let notes = whole.len() - example().bytes.len();
    let mut tried = 0;
    // Offsets, addresses and sizes are what can go wrong most.
    for at in (0..notes).step_by(5) {
        for byte in [whole[at] ^ 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let path = files.put("core", &bytes);
            let ran = run(command().args(["core", "--stacks", "all"]).arg(path), b"");
            assert!(matches!(ran.status, 0 | 4), "{at}: {}", ran.err);
            assert!(!ran.err.contains("panicked"), "{at}: {}", ran.err);
            tried += 1;
        }
    }
    assert!(tried > 300);
    // All ones, so that sums are too large for a number.
    for at in (64..notes).step_by(8) {
        let mut bytes = whole.clone();
        bytes[at..][..8].fill(0xff);
        let ran = core(&bytes, &["-"]);
        assert!(matches!(ran.status, 0 | 4), "{at}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{at}: {}", ran.err);
    }
}
