//! What a core dump says in notes: which process and why it died, its threads with their registers, the
//! files it had mapped. The layouts are those of `elf_prstatus`, `elf_prpsinfo`, `siginfo_t` and `NT_FILE`
//! in Linux, the same on x86_64 and aarch64 but for the registers.

use logdef_wire::Avma;
use object::elf;

use crate::stack::{Architecture, Registers};

/// The process of a core dump.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Process {
    /// Its id, in the namespace in which it ran.
    pub pid: u32,
    /// The first 15 bytes of its name.
    pub name: Vec<u8>,
    /// The first 80 bytes of its command line.
    pub command: Vec<u8>,
    /// Why it died. `None` in a core that was written while it went on.
    pub death: Option<Death>,
}

/// The signal that a process died of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Death {
    /// The number of the signal, as this machine's kernel numbers it.
    pub signal: u32,
    /// What caused it, by signal: `si_code`.
    pub code: i32,
    /// The address that could not be accessed or executed, for the signals that have one.
    pub address: Option<u64>,
    /// Who sent it, if a process did.
    pub sender: Option<u32>,
}

/// A thread of a core dump.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// The registers that it had when the core was written.
    pub registers: Registers,
}

/// A part of a file that was mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedFile {
    /// The address of its first byte in the process.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Where in the file its bytes come from.
    pub file_offset: u64,
    /// The file. A removed one has ` (deleted)` after its name.
    pub path: Vec<u8>,
}

/// Everything that notes say.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub process: Process,
    pub threads: Vec<Thread>,
    pub mapped_files: Vec<MappedFile>,
    /// The signal that the first thread has: all that is known of the death where no note says more.
    pub signal: Option<u32>,
    /// Where the kernel's own image was mapped that a process has some system calls from.
    pub vdso: Option<Avma>,
}

/// Signals whose `siginfo_t` holds an address: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV.
const WITH_ADDRESS: [u32; 5] = [4, 5, 7, 8, 11];
/// Signals that no process dies of, but a debugger may stop it by: SIGCHLD to SIGURG, SIGWINCH.
const HARMLESS: [u32; 8] = [17, 18, 19, 20, 21, 22, 23, 28];
/// `NT_SIGINFO`, `NT_FILE`, and where the image of the kernel stands in the auxiliary vector.
const NT_SIGINFO: u32 = 0x5349_4749;
const NT_FILE: u32 = 0x4649_4c45;
const AT_SYSINFO_EHDR: u64 = 33;
/// Threads and mapped files that are listed: more than a machine has unless it was set up for that.
const THREADS: usize = 1 << 17;
const FILES: usize = 1 << 20;
/// Where the registers stand in `elf_prstatus`.
const REGISTERS: usize = 112;

impl Notes {
    /// Takes what a note says; others are passed over.
    pub fn take(&mut self, name: &[u8], kind: u32, bytes: &[u8], architecture: Architecture) {
        if name != b"CORE" {
            return;
        }
        match kind {
            kind if kind == elf::NT_PRSTATUS.0 => {
                let room = self.threads.len() < THREADS;
                if self.threads.is_empty() {
                    self.signal = u32_at(bytes, 0).filter(is_deadly);
                }
                self.threads
                    .extend(thread(bytes, architecture).filter(|_| room));
            }
            kind if kind == elf::NT_PRPSINFO.0 => self.process_is(bytes),
            kind if kind == elf::NT_AUXV.0 => self.vdso = vdso(bytes),
            // The first thread's alone is that of the death.
            NT_SIGINFO if self.process.death.is_none() => self.process.death = death(bytes),
            NT_FILE => {
                let room = FILES - self.mapped_files.len();
                self.mapped_files
                    .extend(mapped_files(bytes).into_iter().flatten().take(room));
            }
            _ => {}
        }
    }

    /// Takes what other notes imply.
    pub fn finish(&mut self) {
        let death = self.signal.map(|signal| Death {
            signal,
            code: 0,
            address: None,
            sender: None,
        });
        self.process.death = self.process.death.or(death);
        self.mapped_files.sort_by_key(|mapped| mapped.start);
    }

    fn process_is(&mut self, bytes: &[u8]) {
        self.process.pid = u32_at(bytes, 24).unwrap_or(0);
        self.process.name = text(bytes.get(40..56).unwrap_or_default()).to_vec();
        let command = text(bytes.get(56..136).unwrap_or_default());
        self.process.command = command.trim_ascii_end().to_vec();
    }
}

fn thread(bytes: &[u8], architecture: Architecture) -> Option<Thread> {
    Some(Thread {
        tid: u32_at(bytes, 32)?,
        registers: Registers::of_kernel(architecture, bytes.get(REGISTERS..)?)?,
    })
}

fn death(bytes: &[u8]) -> Option<Death> {
    let signal = u32_at(bytes, 0).filter(is_deadly)?;
    let code = u32_at(bytes, 8)? as i32;
    // Codes above zero are the kernel's, who says where; others come from processes.
    let is_of_kernel = code > 0;
    let has_address = is_of_kernel && WITH_ADDRESS.contains(&signal);
    Some(Death {
        signal,
        code,
        address: u64_at(bytes, 16).filter(|_| has_address),
        sender: u32_at(bytes, 16).filter(|&pid| !is_of_kernel && pid != 0),
    })
}

fn is_deadly(signal: &u32) -> bool {
    *signal != 0 && !HARMLESS.contains(signal)
}

fn vdso(bytes: &[u8]) -> Option<Avma> {
    let mut entries = bytes.chunks_exact(16);
    let entry = entries.find(|entry| u64_at(entry, 0) == Some(AT_SYSINFO_EHDR))?;
    u64_at(entry, 8).map(Avma)
}

/// `count, page size`, `start, end, offset in pages` of each, then their paths.
fn mapped_files(bytes: &[u8]) -> Option<impl Iterator<Item = MappedFile>> {
    let count = usize::try_from(u64_at(bytes, 0)?).ok()?;
    let page = u64_at(bytes, 8)?;
    let places = bytes.get(16..16usize.checked_add(count.checked_mul(24)?)?)?;
    let paths = bytes[16 + places.len()..].split(|&byte| byte == 0);
    let file = move |(place, path): (&[u8], &[u8])| {
        let (start, end) = (u64_at(place, 0)?, u64_at(place, 8)?);
        let file_offset = u64_at(place, 16)?.checked_mul(page)?;
        (start < end).then(|| MappedFile {
            start,
            end,
            file_offset,
            path: path.to_vec(),
        })
    };
    Some(places.chunks_exact(24).zip(paths).filter_map(file))
}

fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
