//! What a name costs: 2,000 addresses of this program itself, looked up for the first time and
//! again, here, with `addr2line`'s own loader, which trusts its input and maps it, with
//! blazesym, and for the first time by llvm-symbolizer where it is installed, a process each time.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use criterion::{Criterion, criterion_group, criterion_main};
use logdef_symbolizer::{AddressKind, Image, Locator, Options, Svma};
use object::{Object, ObjectSymbol, SymbolKind};

const ADDRESSES: usize = 2000;

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Addresses inside functions, spread over the whole program.
fn addresses() -> Vec<u64> {
    let bytes = std::fs::read(this_program()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let functions: Vec<u64> = file
        .symbols()
        .filter(|it| it.kind() == SymbolKind::Text && it.size() > 16)
        .map(|it| it.address() + it.size() / 2)
        .collect();
    let step = functions.len() / ADDRESSES + 1;
    functions.into_iter().step_by(step).collect()
}

fn open(path: &Path) -> Image {
    Locator::new(Options::default()).open(path).unwrap()
}

fn all_ours(image: &Image, addresses: &[u64]) -> usize {
    let frames = |&address: &u64| {
        let found = image.symbolize(Svma(address), AddressKind::Exact);
        found.frames().len()
    };
    addresses.iter().map(frames).sum()
}

fn all_theirs(loader: &addr2line::Loader, addresses: &[u64]) -> usize {
    let mut count = 0;
    for &address in addresses {
        let mut frames = loader.find_frames(address).unwrap();
        while let Some(frame) = frames.next().unwrap() {
            if let Some(function) = &frame.function {
                black_box(function.demangle().unwrap().len());
            }
            count += 1;
        }
    }
    count
}

fn all_blazesym(symbolizer: &Symbolizer, path: &Path, addresses: &[u64]) -> usize {
    let source = Source::Elf(Elf::new(path));
    let found = symbolizer.symbolize(&source, Input::VirtOffset(addresses));
    let frames = |found: &Symbolized<'_>| found.as_sym().map_or(0, |it| 1 + it.inlined.len());
    found.unwrap().iter().map(frames).sum()
}

/// Whether there is an llvm-symbolizer that answers.
fn all_llvm(path: &Path, addresses: &[u64]) -> bool {
    let mut command = Command::new("llvm-symbolizer");
    command.arg("--obj").arg(path);
    let numbers = addresses.iter().map(|it| format!("{it:#x}"));
    let output = command.args(numbers).output();
    output.is_ok_and(|output| black_box(output).status.success())
}

fn lookups(criterion: &mut Criterion) {
    let (path, addresses) = (this_program(), addresses());
    eprintln!("{} addresses", addresses.len());

    let mut group = criterion.benchmark_group("open_and_first_address");
    group.sample_size(10);
    group.bench_function("ours", |bench| {
        bench.iter(|| all_ours(&open(&path), &addresses[..1]));
    });
    group.bench_function("addr2line", |bench| {
        bench.iter(|| all_theirs(&addr2line::Loader::new(&path).unwrap(), &addresses[..1]));
    });
    group.bench_function("blazesym", |bench| {
        bench.iter(|| all_blazesym(&Symbolizer::new(), &path, &addresses[..1]));
    });
    if all_llvm(&path, &addresses[..1]) {
        group.bench_function("llvm-symbolizer", |bench| {
            bench.iter(|| all_llvm(&path, &addresses[..1]));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("open_and_all_addresses_once");
    group.sample_size(10);
    group.bench_function("ours", |bench| {
        bench.iter(|| all_ours(&open(&path), &addresses));
    });
    group.bench_function("addr2line", |bench| {
        bench.iter(|| all_theirs(&addr2line::Loader::new(&path).unwrap(), &addresses));
    });
    group.bench_function("blazesym", |bench| {
        bench.iter(|| all_blazesym(&Symbolizer::new(), &path, &addresses));
    });
    if all_llvm(&path, &addresses[..1]) {
        group.bench_function("llvm-symbolizer", |bench| {
            bench.iter(|| all_llvm(&path, &addresses));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("all_addresses_again");
    group.sample_size(10);
    let image = open(&path);
    all_ours(&image, &addresses);
    group.bench_function("ours", |bench| {
        bench.iter(|| all_ours(&image, &addresses));
    });
    let loader = addr2line::Loader::new(&path).unwrap();
    all_theirs(&loader, &addresses);
    group.bench_function("addr2line", |bench| {
        bench.iter(|| all_theirs(&loader, &addresses));
    });
    let symbolizer = Symbolizer::new();
    all_blazesym(&symbolizer, &path, &addresses);
    group.bench_function("blazesym", |bench| {
        bench.iter(|| all_blazesym(&symbolizer, &path, &addresses));
    });
    group.finish();
}

criterion_group!(benches, lookups);
criterion_main!(benches);
