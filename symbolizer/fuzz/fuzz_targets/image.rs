//! Bytes as an executable: every question has an answer, in time and within memory.
//!
//! ```text
//! symbolizer/fuzz/run.sh 60 image
//! ```

#![no_main]

use logdef_symbolizer::{AddressKind, Limits, Locator, LogCall, Options, Svma};
use logdef_wire::Avma;
use std::path::Path;
use std::time::{Duration, Instant};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let begun = Instant::now();
    let locator = Locator::new(Options {
        limits: Limits {
            unpacked_size: 16 << 20,
            steps_per_address: 1 << 22,
            ..Limits::default()
        },
        ..Options::default()
    });
    let image = match locator.parse(Path::new("image"), bytes.into()) {
        Ok(image) => image,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains(char::is_control));
            return;
        }
    };
    let mut addresses = vec![Svma(0), Svma(1), Svma(u64::MAX)];
    for segment in image.segments().iter().take(4) {
        let (start, size) = (segment.address.0, segment.memory_size);
        addresses.extend([start, start.wrapping_add(size / 2)].map(Svma));
    }
    let mut calls = Vec::new();
    for site in image.call_sites().iter().take(16) {
        addresses.push(site.format.address);
        image.function_of(site);
        calls.push(LogCall {
            format: site.format.address,
            file: site.file.address,
            line: site.line.into(),
            returns_to: Avma(site.address.0),
        });
    }
    for address in addresses {
        let found = image.symbolize(address, AddressKind::Exact);
        assert!(found.frames().len() <= 1025);
        image.variable_at(address);
        image.string_at(address, 1 << 16);
        image.pointer_at(address);
    }
    image.symbol("main");
    image.load_bias_of(&calls);
    assert!(image.complaints().len() <= 64);
    assert!(begun.elapsed() < Duration::from_secs(8));
});
