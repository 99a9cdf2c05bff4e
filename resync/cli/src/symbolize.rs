//! `symbolize`: text with addresses in, text with names out, line by line.

use crate::args::Symbolize;
use crate::failure::Failure;
use crate::log;
use crate::output::Output;
use logdef_symbolizer::MarkupFilter;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The longest line that is looked at as one.
const LONGEST: u64 = 1 << 20;

pub fn run(args: &Symbolize) -> Result<ExitCode, Failure> {
    let dash = [PathBuf::from("-")];
    let files = match &args.files[..] {
        [] => &dash[..],
        files => files,
    };
    let mut output = Output::new();
    for path in files {
        let failed = |error: io::Error| {
            Failure::Unreadable(format!("cannot read {}: {error}", path.display()))
        };
        let input: Box<dyn Read> = match path == Path::new("-") {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path).map_err(failed)?),
        };
        // Addresses of one file mean nothing in the next.
        let mut filter = MarkupFilter::new(log::locator(&args.images));
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut input).take(LONGEST).read_until(b'\n', &mut line);
            if read.map_err(failed)? == 0 {
                break;
            }
            let text = String::from_utf8_lossy(&line);
            if let Some(shown) = filter.line(text.trim_end_matches(['\n', '\r'])) {
                output.buffer.extend_from_slice(shown.as_bytes());
                output.buffer.push(b'\n');
            }
            // Whoever waits at the other end of a pipe sees each line at once.
            if input.buffer().is_empty() {
                output.flush()?;
            }
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}
