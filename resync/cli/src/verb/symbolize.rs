//! `symbolize`: addresses in, names out. Of a log, the records that have
//! backtraces; of text, every line, with names after the addresses in it.

use crate::args::{Filters, Images, Links};
use crate::choose::chosen::{self, Found};
use crate::failure::Failure;
use crate::log::{self, Inputs, Log};
use crate::output::Output;
use crate::show::clock::TimeForm;
use crate::show::escape;
use crate::show::text::Backtrace;
use crate::show::text::{self, Look};
use jiff::tz::TimeZone;
use logdef_resync::{Input, Resolver};
use logdef_symbolizer::{
    AddressKind, Image, Loaded, Locator, MappedCode, MarkupFilter, TextFilter,
};
use logdef_wire::{Avma, frame};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// `symbolize`: where addresses come from, and where images were mapped.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLANATION)]
pub struct Symbolize {
    /// Logs or text files; `-`, or none, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub images: Images,
    /// Text: a program or library, and the address its first byte was mapped at (without
    /// BASE, addresses are those in the file)
    #[arg(long, value_parser = ImageAt::parse, value_name = "PATH[@BASE]")]
    pub image: Vec<ImageAt>,
    /// Text: where images were mapped, a copy of /proc/PID/maps
    #[arg(long, value_name = "FILE")]
    pub maps: Option<PathBuf>,
    /// Text: where images are mapped in a running process
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Text: addresses are those of instructions, not return addresses
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub links: Links,
    /// Logs: exit with status 3 if records are missing or dropped, or bytes damaged
    #[arg(long)]
    pub strict: bool,
}

const EXPLANATION: &str = "\
Of a log, all records with backtraces are shown, with every name. In text, names are added after \
hexadecimal numbers (0x…) that lie in the code of an image placed by --image, --maps or --pid, and after \
the form that glibc's backtrace_symbols prints: path(+0x12) [0x…]. Paths in a text are looked for in the \
directories of --image-dir, then as written. Tabs and colours of a text stay, other control characters are \
escaped.";

/// An image and where it was mapped.
#[derive(Clone, Debug)]
pub struct ImageAt {
    pub path: PathBuf,
    pub base: Option<Avma>,
}

impl ImageAt {
    fn parse(text: &str) -> Result<ImageAt, String> {
        let Some((path, base)) = text.rsplit_once('@') else {
            let path = text.into();
            return Ok(ImageAt { path, base: None });
        };
        let digits = base.trim_start_matches("0x");
        match u64::from_str_radix(digits, 16) {
            Ok(base) => Ok(ImageAt {
                path: path.into(),
                base: Some(Avma(base)),
            }),
            Err(_) => Err(format!(
                "{base} is not an address: try {path}@0x7f0012340000"
            )),
        }
    }
}

/// The longest line that is looked at as one.
const LONGEST: u64 = 1 << 20;
/// The longest list of mappings that is read: the kernel gives a process 65,530 of them by default,
/// each with a path.
const LONGEST_LIST: u64 = 64 << 20;
/// Bytes that are looked at to distinguish a log from text.
const HEAD: usize = 64 << 10;

impl Symbolize {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let dash = [PathBuf::from("-")];
        let files = match &self.files[..] {
            [] => &dash[..],
            files => files,
        };
        let mut output = Output::new();
        let mut is_clean = true;
        for path in files {
            let failed = |error: io::Error| unreadable(path, &error);
            let input: Box<dyn Read> = if path == Path::new("-") {
                Box::new(io::stdin())
            } else {
                Box::new(File::open(path).map_err(failed)?)
            };
            let mut input = BufReader::with_capacity(HEAD, input);
            if is_log(input.fill_buf().map_err(failed)?) {
                let name = path.display().to_string();
                let input = if path.is_file() {
                    log::open(path)?
                } else {
                    log::stream(&name, input).map_err(failed)?
                };
                is_clean &= of_log(input, self, &mut output)?;
            } else {
                of_text(&mut input, path, self, &mut output)?;
            }
            output.flush()?;
        }
        Ok(log::status(self.strict, is_clean, false))
    }
}

/// Whether bytes are a log's: a frame's header is among them, which no text has,
/// or they are compressed.
fn is_log(head: &[u8]) -> bool {
    let is_packed = |magic: &[u8]| head.starts_with(magic);
    is_packed(b"\x1f\x8b")
        || is_packed(b"\x28\xb5\x2f\xfd")
        || is_packed(b"\xfd7zXZ\0")
        || is_packed(b"BZh") && head.get(4..10) == Some(b"1AY&SY")
        || head
            .windows(frame::PATTERN_LEN)
            .any(frame::starts_with_pattern)
}

/// Shows the records and notes that have backtraces, in full. Whether the log is clean.
fn of_log(input: Input, args: &Symbolize, output: &mut Output) -> Result<bool, Failure> {
    let name = input.name().to_owned();
    let log = Log::of(Inputs {
        opened: vec![input],
        lacks_some: false,
        suspects: false,
    })?;
    let images = log::images(&args.images);
    let mut resolver = Resolver::new(log.recovery.tables(), images).judged_by(&log.recovery);
    let mut writer = text::Writer::new(Look {
        color: output.has_color(),
        time: TimeForm::Local,
        zone: TimeZone::system(),
        backtrace: Backtrace::Full,
        provenance: false,
        with_context: false,
        with_target: false,
        links: args.links.wanted(output.has_color()),
    });
    let mut shown = 0;
    let show = |found: Found<'_>, place, resolver: &mut Resolver<'_>| {
        match found {
            Found::Record { data, .. } => {
                let stack = resolver.backtrace(data, place);
                if stack.is_empty() {
                    return Ok(());
                }
                let resolved = resolver.resolve(data, place);
                writer.record(&resolved, &stack, &mut output.buffer);
            }
            Found::Note(note) => {
                let Some(addresses) = note.backtrace else {
                    return Ok(());
                };
                let stack = resolver.stack(addresses, note.run, note.time, place, true);
                writer.note(note, &stack, &mut output.buffer);
            }
        }
        shown += 1;
        output.line()
    };
    chosen::for_each_found(&log, &Filters::default(), &mut resolver, show)?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    if shown == 0 {
        log::say(&format!("{name}: no record has a backtrace"));
    }
    log.report();
    Ok(log.is_clean())
}

/// Shows lines with names in them.
fn of_text(
    input: &mut BufReader<Box<dyn Read>>,
    path: &Path,
    args: &Symbolize,
    output: &mut Output,
) -> Result<(), Failure> {
    let failed = |error: io::Error| unreadable(path, &error);
    let finder = Finder::new(args);
    let kind = if args.exact {
        AddressKind::Exact
    } else {
        AddressKind::ReturnAddress
    };
    // Addresses of one file mean nothing in the next.
    let mut markup = MarkupFilter::new(finder.locator.clone());
    let images = finder.loaded(args)?;
    let mut addresses =
        TextFilter::new(images, kind).with_images(Box::new(|path| finder.find(Path::new(path))));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.take(LONGEST).read_until(b'\n', &mut line);
        if read.map_err(failed)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        // What markup was replaced by has its names already.
        let shown = if text.contains("{{{") {
            markup.line(text)
        } else {
            Some(addresses.line(text))
        };
        if let Some(shown) = shown {
            escape::push_line(shown.as_bytes(), &mut output.buffer);
            output.buffer.push(b'\n');
        }
        output.line()?;
        // A reader at the other end of a pipe sees each line at once.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    let mut complaints = addresses.complaints();
    complaints.extend(markup.complaints());
    complaints.sort();
    complaints.dedup();
    complaints.iter().for_each(|complaint| log::say(complaint));
    Ok(())
}

/// Finds images by paths that no fingerprint comes with: the user vouches for
/// them.
struct Finder {
    locator: Locator,
    dirs: Vec<PathBuf>,
    /// Images that the command line names, by file name.
    named: Vec<PathBuf>,
    opens_paths: bool,
}

impl Finder {
    fn new(args: &Symbolize) -> Finder {
        Finder {
            locator: log::locator(&args.images),
            dirs: args.images.image_dir.clone(),
            named: args.image.iter().map(|image| image.path.clone()).collect(),
            opens_paths: !args.images.no_logged_paths,
        }
    }

    /// The images whose addresses the command line gives.
    fn loaded(&self, args: &Symbolize) -> Result<Vec<Loaded>, Failure> {
        let mut loaded = Vec::new();
        for ImageAt { path, base } in &args.image {
            let image = self.locator.open(path);
            let image = image.map_err(|error| Failure::Unreadable(error.to_string()))?;
            let load_bias = base.map_or(0, |base| image.load_bias_from(base));
            let image = Arc::new(image);
            loaded.push(Loaded { image, load_bias });
        }
        let of_process = args
            .pid
            .map(|pid| PathBuf::from(format!("/proc/{pid}/maps")));
        for path in args.maps.iter().chain(&of_process) {
            let bytes = list(path).map_err(|error| unreadable(path, &error))?;
            for mapped in MappedCode::list(&String::from_utf8_lossy(&bytes)) {
                // Most libraries of a process hold none of the addresses; they
                // are read, but their debug information is not.
                if let Some(image) = self.find(Path::new(&mapped.path))
                    && let Some(load_bias) = image.load_bias_mapped(&mapped)
                {
                    loaded.push(Loaded { image, load_bias });
                }
            }
        }
        Ok(loaded)
    }

    /// The image that a text or a list of mappings names.
    fn find(&self, path: &Path) -> Option<Arc<Image>> {
        let name = path.file_name()?;
        let same_name = |it: &&PathBuf| it.file_name() == Some(name);
        let named = self.named.iter().find(same_name).cloned();
        let below = self.dirs.iter().flat_map(|dir| {
            let whole = path.strip_prefix("/").unwrap_or(path);
            [dir.join(whole), dir.join(name)]
        });
        let itself = self.opens_paths.then(|| path.to_owned());
        let places = named.into_iter().chain(below).chain(itself);
        let mut there = places.filter(|place| place.is_file());
        there.find_map(|place| match self.locator.open(&place) {
            Ok(image) => Some(Arc::new(image)),
            Err(error) => {
                log::say(&error.to_string());
                None
            }
        })
    }
}

/// A list of what a process has mapped; an error if it is longer than such lists are.
fn list(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LONGEST_LIST + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_LIST {
        return Err(io::Error::other(
            "it is too long for a copy of /proc/PID/maps",
        ));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Unreadable(format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_distinguished_from_text() {
        assert!(is_log(b"garbage\xc1\xce\x01\x02\x03\x04\xc1\xda\x00\x01"));
        assert!(is_log(b"\x1f\x8b\x08"));
        assert!(is_log(b"\xfd7zXZ\0\0\x04"));
        assert!(is_log(b"BZh91AY&SY"));
        assert!(!is_log(b"BZh91 is a name"));
        assert!(!is_log(b"pc 0x1234 {{{bt:0:0x12}}} \xc1\xce"));
        assert!(!is_log(b""));
    }

    #[test]
    fn an_image_may_come_with_its_place() {
        let parse = |text| ImageAt::parse(text).map(|image| (image.path, image.base));
        let place = |path: &str, base| Ok((PathBuf::from(path), base));
        assert_eq!(parse("a/prog"), place("a/prog", None));
        assert_eq!(parse("p@0x7f00"), place("p", Some(Avma(0x7f00))));
        assert_eq!(parse("a@b@7f00"), place("a@b", Some(Avma(0x7f00))));
        assert!(parse("prog@here").is_err());
    }
}
