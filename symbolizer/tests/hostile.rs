//! Files that mean harm: mutated at random, and built to be as dear as possible. Whatever the bytes,
//! every question is answered, within bounded time and memory, and nothing panics.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use logdef_symbolizer::{AddressKind, Limits, Locator, Options, Svma, demangle};
use support::{Random, compile};

/// Counts bytes in use, to see that no file makes them explode.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counters are beside the point.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise about `pointer` and `layout` is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests of this file take turns, so that what one allocates is not blamed on another.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    PEAK.store(IN_USE.load(Relaxed), Relaxed);
    turn
}

/// Asks a file everything that can be asked. Returns how many stack frames it knew.
fn interrogate(path: &Path, addresses: &[Svma]) -> usize {
    let limits = Limits {
        file_size: 16 << 20,
        unpacked_size: 64 << 20,
        ..Limits::default()
    };
    let dir = path.parent().unwrap().to_owned();
    let locator = Locator::new(Options {
        debug_dirs: vec![dir],
        limits,
        ..Options::default()
    });
    let image = match locator.open(path) {
        Ok(image) => image,
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("no image for ") && !line.contains(char::is_control));
            return 0;
        }
    };
    let mut frames = 0;
    for &address in addresses {
        let found = image.symbolize(address, AddressKind::ReturnAddress);
        frames += found.frames().len();
        assert!(found.frames().len() <= 1025);
        image.string_at(address, 1 << 16);
    }
    image.build_id();
    for site in image.call_sites() {
        assert!(site.kinds.len() <= 255 && site.format.bytes.len() <= 1 << 16);
        image.function_of(site);
    }
    assert!(image.complaints().len() <= 64);
    frames
}

/// The tests below say how long is long; so much does a debug build on a busy machine need.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn mutated_images_are_answered_for() {
    let _turn = turn();
    let seconds = std::env::var("LOGDEF_IMAGES_SECONDS").map_or(120, |it| it.parse().unwrap());
    let (rounds, limit) = match std::env::var_os("LOGDEF_SLOW") {
        Some(_) => (usize::MAX, Duration::from_secs(seconds)),
        None => (60, PATIENCE),
    };
    let dir = tempfile::tempdir().unwrap();
    let seeds: Vec<(Vec<u8>, Vec<Svma>)> = [
        ("gcc", "-O1 -gdwarf-5", "chain.c"),
        ("gcc", "-O1 -gdwarf-4 -no-pie -fno-pie", "chain.c"),
        ("gcc", "-O1 -gdwarf-5 -gz=zlib", "chain.c"),
        ("gcc", "-O1 -gdwarf-5 -gsplit-dwarf", "chain.c"),
        ("g++", "-O2 -gdwarf-5", "shapes.cpp"),
        ("gcc", "-O1 -gdwarf-5", "records.c"),
    ]
    .into_iter()
    .filter(|(compiler, ..)| support::have(compiler))
    .map(|(compiler, flags, source)| {
        let path = compile(dir.path(), compiler, flags, source, "program");
        let (main, size) = support::symbol(&path, "main");
        let inside = (0..size).step_by(7).take(12);
        let mut addresses: Vec<Svma> = inside.map(|offset| Svma(main.0 + offset)).collect();
        addresses.extend([0, 1, 0x1000, 0x2000, u64::MAX].map(Svma));
        assert!(interrogate(&path, &addresses) > 0);
        (fs::read(&path).unwrap(), addresses)
    })
    .collect();

    let mut random = Random(0x10_6d_ef);
    let begun = Instant::now();
    let (mut done, mut slowest, mut frames) = (0, Duration::ZERO, 0);
    for round in 0..rounds {
        if begun.elapsed() > limit {
            break;
        }
        let (original, addresses) = &seeds[round % seeds.len()];
        let mutated = match round % 8 {
            7 => garbage(&mut random),
            _ => mutate(original, &mut random),
        };
        let path = dir.path().join("mutated");
        fs::write(&path, &mutated).unwrap();
        PEAK.store(IN_USE.load(Relaxed), Relaxed);
        let before = IN_USE.load(Relaxed);
        let started = Instant::now();
        frames += interrogate(&path, addresses);
        slowest = slowest.max(started.elapsed());
        let used = PEAK.load(Relaxed) - before;
        assert!(used < 256 << 20, "round {round} used {used} bytes");
        assert!(started.elapsed() < PATIENCE, "round {round} took too long");
        done += 1;
    }
    eprintln!("{done} mutated images, {frames} frames, slowest {slowest:?}");
    // Most mutations leave most of an image readable: the test must have got beyond the headers.
    assert!(frames > done);
}

/// Bytes without sense, every other time with the first bytes of an ELF file.
fn garbage(random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..random.below(40_000))
        .map(|_| random.next() as u8)
        .collect();
    if random.below(2) == 0 && bytes.len() > 64 {
        bytes[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    }
    bytes
}

/// Changes a file in one of the ways that hurt: bits, interesting numbers, blocks moved about, the
/// end cut off. Some aim at the headers, where a change matters most.
fn mutate(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..1 + random.below(24) {
        let length = bytes.len() as u64;
        let at = match random.below(4) {
            0 => random.below(length.min(1024)),
            1 => length - 1 - random.below(length.min(4096)),
            _ => random.below(length),
        } as usize;
        match random.below(8) {
            0..=2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes[at] = random.next() as u8,
            4 | 5 => {
                let number = [
                    0,
                    1,
                    0x7f,
                    0x80,
                    0xff,
                    u64::MAX,
                    1 << 31,
                    u64::from(u32::MAX),
                ];
                let number = number[random.below(8) as usize].to_le_bytes();
                let width = 1 << random.below(4);
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&number[..end - at]);
            }
            6 => {
                let from = random.below(length) as usize;
                let size = random.below(256).min(length - at.max(from) as u64) as usize;
                bytes.copy_within(from..from + size, at);
            }
            _ => {
                if random.below(8) == 0 {
                    bytes.truncate(at.max(64));
                }
            }
        }
    }
    bytes
}

#[test]
fn every_prefix_of_an_image_is_answered_for() {
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-g", "chain.c", "program");
    let bytes = fs::read(&path).unwrap();
    let (main, _) = support::symbol(&path, "main");
    let short = dir.path().join("short");
    for length in (0..64).chain((64..bytes.len()).step_by(397)) {
        fs::write(&short, &bytes[..length]).unwrap();
        interrogate(&short, &[main]);
    }
}

#[test]
fn sections_that_unpack_to_more_than_allowed_are_left_packed() {
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    compile(dir.path(), "gcc", "-g", "chain.c", "program");
    // Zeros without end pack a thousand to one and more.
    let bomb = dir.path().join("zeros");
    fs::write(&bomb, vec![0; 48 << 20]).unwrap();
    for format in ["zlib", "zstd"] {
        let update = "--update-section=.debug_str=zeros";
        support::run(dir.path(), "objcopy", &[update, "program", "large"]);
        let compress = format!("--compress-debug-sections={format}");
        support::run(dir.path(), "objcopy", &[&compress, "large", "bomb"]);
        let path = dir.path().join("bomb");
        assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
        let limits = Limits {
            unpacked_size: 40 << 20,
            ..Limits::default()
        };
        let locator = Locator::new(Options {
            limits,
            ..Options::default()
        });
        let image = locator.open(&path).unwrap();
        let (main, _) = support::symbol(&path, "main");
        let before = IN_USE.load(Relaxed);
        PEAK.store(before, Relaxed);
        let found = image.symbolize(main, AddressKind::Exact);
        assert!(PEAK.load(Relaxed) - before < 8 << 20);
        // The symbol table still names the function.
        assert_eq!(found.frames()[0].function.as_deref(), Some("main"));
        let complaints = image.complaints();
        assert!(
            complaints[0].contains(".debug_str: unpacks to 50331648 bytes"),
            "{complaints:?}"
        );
    }
}

/// A program whose debug information is replaced, DWARF 4 in both.
struct Forged {
    dir: tempfile::TempDir,
    main: Svma,
}

impl Forged {
    fn new(abbreviations: &[u8], entries: &[u8], lines: &[u8]) -> Forged {
        let dir = tempfile::tempdir().unwrap();
        let path = compile(dir.path(), "gcc", "-gdwarf-4 -no-pie", "chain.c", "program");
        let (main, _) = support::symbol(&path, "main");
        let mut args = vec!["--remove-section=.debug_aranges".to_owned()];
        for (name, bytes) in [
            ("abbrev", abbreviations),
            ("info", entries),
            ("line", lines),
        ] {
            fs::write(dir.path().join(name), bytes).unwrap();
            args.push(format!("--update-section=.debug_{name}={name}"));
        }
        args.push("program".to_owned());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        support::run(dir.path(), "objcopy", &args);
        Forged { dir, main }
    }

    /// The answer for `main`, which must come in time and not take more than `memory` bytes.
    fn ask(&self, memory: usize) -> (Vec<String>, Vec<String>) {
        let image = support::open(&self.dir.path().join("program"));
        let before = IN_USE.load(Relaxed);
        PEAK.store(before, Relaxed);
        let started = Instant::now();
        let chain = support::chain(&image, self.main);
        let (elapsed, used) = (started.elapsed(), PEAK.load(Relaxed) - before);
        eprintln!("{elapsed:?}, {used} bytes, {:?}", image.complaints());
        assert!(elapsed < PATIENCE);
        assert!(used < memory, "{used} bytes");
        (chain, image.complaints())
    }
}

/// A compilation unit of DWARF 4 with its header; the entries are the caller's.
fn unit(entries: &[u8]) -> Vec<u8> {
    let mut unit = (entries.len() as u32 + 7).to_le_bytes().to_vec();
    unit.extend([4, 0]); // version
    unit.extend([0; 4]); // abbreviations at 0
    unit.push(8); // bytes in an address
    unit.extend(entries);
    unit
}

/// From the first address to half of all.
fn everywhere() -> Vec<u8> {
    [0u64.to_le_bytes(), (1u64 << 62).to_le_bytes()].concat()
}

const COMPILE_UNIT: u8 = 0x11;
const PARTIAL_UNIT: u8 = 0x3c;
const SUBPROGRAM: u8 = 0x2e;
const INLINED_SUBROUTINE: u8 = 0x1d;
const LOW_PC_HIGH_PC: [u8; 4] = [0x11, 0x01, 0x12, 0x07]; // DW_FORM_addr, DW_FORM_data8

#[test]
fn entries_nested_without_end_do_not_end_the_stack() {
    let _turn = turn();
    let abbreviations = [
        &[1, COMPILE_UNIT, 1][..],
        &LOW_PC_HIGH_PC,
        &[0, 0, 2, SUBPROGRAM, 1],
        &LOW_PC_HIGH_PC,
        &[0, 0, 3, INLINED_SUBROUTINE, 1],
        &LOW_PC_HIGH_PC,
        &[0, 0, 4, INLINED_SUBROUTINE, 1, 0, 0, 0],
    ]
    .concat();
    let span = everywhere();
    let head = [&[1], &*span, &[2], &*span].concat();
    // A chain that may be, one that may not, and one without end.
    let link = [&[3], &*span].concat();
    let shallow = unit(&[&*head, &link.repeat(40), &[0; 42]].concat());
    let (chain, _) = Forged::new(&abbreviations, &shallow, &[]).ask(8 << 20);
    assert_eq!(chain.len(), 41);
    // The symbolizer cuts the chain, and takes no call that has no code.
    for (entries, length) in [(link.repeat(100_000), 1025), (vec![4; 4_000_000], 1)] {
        let deep = unit(&[&*head, &entries].concat());
        let (chain, _) = Forged::new(&abbreviations, &deep, &[]).ask(64 << 20);
        assert_eq!(chain.len(), length);
        assert_eq!(chain.last().unwrap(), "main ?:0");
    }
}

#[test]
fn attributes_that_take_no_room_cannot_take_all_time() {
    let _turn = turn();
    let nothing = [0x3f, 0x19]; // DW_AT_external, DW_FORM_flag_present
    let abbreviations = [
        &[1, COMPILE_UNIT, 1][..],
        &LOW_PC_HIGH_PC,
        &[0, 0, 2, SUBPROGRAM, 0],
        &nothing.repeat(1_000_000),
        &[0, 0, 0],
    ]
    .concat();
    let entries = unit(&[&[1], &*everywhere(), &vec![2; 1_000_000]].concat());
    let (chain, complaints) = Forged::new(&abbreviations, &entries, &[]).ask(16 << 20);
    assert_eq!(chain, ["main ?:0"]);
    assert!(complaints[0].contains("has an entry of 1000000 attributes"));
}

/// A line program of DWARF 4 with a row for every byte of `rows`.
fn line_program(rows: usize, files: usize) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0, 1, 1]; // one byte per instruction, line base 0, range 1, first special opcode 1
    header.push(0); // no directories
    header.extend([b'f', 0, 0, 0, 0].repeat(files));
    header.push(0);
    let mut program = vec![0, 9, 2]; // DW_LNE_set_address
    program.extend(0u64.to_le_bytes());
    program.extend(vec![2; rows]);
    program.extend([0, 1, 1]); // DW_LNE_end_sequence
    let mut all = ((2 + 4 + header.len() + program.len()) as u32)
        .to_le_bytes()
        .to_vec();
    all.extend([4, 0]);
    all.extend((header.len() as u32).to_le_bytes());
    all.extend(header);
    all.extend(program);
    all
}

#[test]
fn a_line_table_that_all_units_share_is_not_decoded_for_each_without_end() {
    let _turn = turn();
    let abbreviations = [
        &[1, COMPILE_UNIT, 0][..],
        &LOW_PC_HIGH_PC,
        &[0x10, 0x17, 0, 0, 0], // DW_AT_stmt_list, DW_FORM_sec_offset
    ]
    .concat();
    let one = unit(&[&[1], &*everywhere(), &[0; 4]].concat());
    let lines = line_program(500_000, 10);
    let forged = Forged::new(&abbreviations, &one.repeat(20_000), &lines);
    // Rows take 24 bytes each, and vectors grow by doubling.
    let (chain, _) = forged.ask(256 << 20);
    assert_eq!(chain, ["main ?:0"]);
}

#[test]
fn thousands_of_partial_units_that_share_a_line_table_are_read() {
    let _turn = turn();
    // Not hostile, but near it: `dwz` makes a partial unit for every header file of a program.
    let abbreviations = [
        &[1, COMPILE_UNIT, 1][..],
        &LOW_PC_HIGH_PC,
        &[0x10, 0x17, 0, 0], // DW_AT_stmt_list, DW_FORM_sec_offset
        &[2, PARTIAL_UNIT, 0, 0x10, 0x17, 0, 0],
        &[3, SUBPROGRAM, 0, 0x03, 0x08], // DW_AT_name, DW_FORM_string
        &LOW_PC_HIGH_PC,
        &[0, 0, 0],
    ]
    .concat();
    let span = everywhere();
    let code = unit(&[&[1], &*span, &[0; 4], &[3], b"from_dwarf\0", &*span, &[0]].concat());
    let partial = unit(&[2, 0, 0, 0, 0]);
    let entries = [code, partial.repeat(10_000)].concat();
    let lines = line_program(100, 1_000);
    let (chain, complaints) = Forged::new(&abbreviations, &entries, &lines).ask(64 << 20);
    assert_eq!(chain, ["from_dwarf ?:0"]);
    assert_eq!(complaints, [""; 0]);
}

#[test]
fn a_long_directory_is_not_copied_before_the_names_of_files_that_no_address_asks_for() {
    let _turn = turn();
    let abbreviations = [
        &[1, COMPILE_UNIT, 0][..],
        &LOW_PC_HIGH_PC,
        // DW_AT_stmt_list, DW_FORM_sec_offset; DW_AT_comp_dir, DW_FORM_string
        &[0x10, 0x17, 0x1b, 0x08, 0, 0, 0],
    ]
    .concat();
    let comp_dir = [&[b'd'; 1 << 20][..], &[0]].concat();
    let entries = unit(&[&[1], &*everywhere(), &[0; 4], &comp_dir].concat());
    let lines = line_program(100, 100_000);
    let forged = Forged::new(&abbreviations, &entries, &lines);
    forged.ask(64 << 20);
    let image = support::open(&forged.dir.path().join("program"));
    let found = image.symbolize(Svma(10), AddressKind::Exact);
    let path = found.frames()[0].file.clone().unwrap();
    assert_eq!((path.len(), &path[..3]), (64 << 10, "ddd"));
}

#[test]
fn names_that_mean_harm_are_left_alone() {
    let _turn = turn();
    let mut random = Random(99);
    let letters = b"_ZNRKSTPILJEabdimvxtscpl0123456789.$vC";
    let begun = Instant::now();
    for _ in 0..20_000 {
        let mut name = String::from(if random.below(2) == 0 { "_Z" } else { "_R" });
        for _ in 0..random.below(60) {
            name.push(char::from(
                letters[random.below(letters.len() as u64) as usize],
            ));
        }
        demangle(&name);
    }
    for unit in [
        "P", "N1a", "I", "St4pairI", "S_", "X", "F", "DpT_", "T_", "L_Z", "dt", "cv",
    ] {
        for count in [100, 1000, 10_000] {
            demangle(&format!("_Z1f{}", unit.repeat(count)));
            demangle(&format!("_Z{}", unit.repeat(count)));
            demangle(&format!("_R{}", unit.repeat(count)));
        }
    }
    assert!(begun.elapsed() < PATIENCE);
}
