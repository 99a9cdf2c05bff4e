//! Like `addr2line -fip`: what is at some link-time addresses of an image.
//!
//! ```text
//! cargo run --example whereis -- target/debug/logdef 0x1234 0x5678
//! ```

use std::path::Path;
use std::process::ExitCode;

use logdef_symbolizer::{AddressKind, Locator, Options, Svma};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: whereis IMAGE ADDRESS...");
        return ExitCode::FAILURE;
    };
    let locator = Locator::new(Options {
        debug_dirs: vec!["/usr/lib/debug".into()],
        ..Options::default()
    });
    let image = match locator.open(Path::new(&path)) {
        Ok(image) => image,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for argument in arguments {
        let digits = argument.trim_start_matches("0x");
        let Ok(address) = u64::from_str_radix(digits, 16) else {
            eprintln!("not a hexadecimal address: {argument}");
            return ExitCode::FAILURE;
        };
        println!("{address:#x}");
        let found = image.symbolize(Svma(address), AddressKind::Exact);
        for frame in found.frames() {
            let function = frame.function.as_deref().unwrap_or("??");
            let file = frame.file.as_deref().unwrap_or("??");
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            // What an image says is not to be trusted with a terminal: `{:?}` escapes.
            println!(
                "  {function:?} at {file:?}:{}{inlined}",
                frame.line.unwrap_or(0)
            );
        }
    }
    for complaint in image.complaints() {
        eprintln!("{complaint}");
    }
    ExitCode::SUCCESS
}
