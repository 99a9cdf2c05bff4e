//! Copies of logs that go to other people: the records of each, with what a [`Redaction`] leaves of
//! them, and images that say no more. What was lost is counted as it was; bytes that are no frames
//! are not copied.

use super::carried;
use super::marker::{Output, is_mark};
use super::redaction::Redaction;
use crate::merge::repeats::{Repeats, Sighting};
use crate::read::input::{Error, Input};
use crate::read::item::{FrameItem, Item, Items};
use crate::read::temporary::Temporary;
use crate::read::unmask;
use crate::recover::recovery::Recovery;
use crate::recover::tables::{Image, Place, RunInfo};
use crate::resolve::images::{Function, Images};
use crate::resolve::resolver::Resolver;
use logdef_symbolizer::LogCall;
use logdef_wire::record::Glance;
use logdef_wire::{Avma, Magic, Record, Svma, Tag};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// Bytes that are written at a time.
const STEP: usize = 256 << 10;

/// What is left of each input, in temporary files; `recovery` is that of the inputs. Suspect frames
/// are left out unless it trusts them, and so are records that were read before and frames of later
/// versions.
///
/// ```
/// use logdef_resync::rewrite::{Redaction, redacted};
/// use logdef_resync::{Input, NoImages, Recovery};
///
/// let inputs = vec![Input::from_bytes("app.log", Vec::new())];
/// let recovery = Recovery::of(&inputs)?;
/// let left = redacted(inputs, &recovery, &Redaction::Values, NoImages)?;
/// assert_eq!((left[0].name(), left[0].len()), ("app.log", 0));
/// # Ok::<(), logdef_resync::Error>(())
/// ```
///
/// # Errors
///
/// If an input cannot be read, or a temporary file cannot be written.
pub fn redacted(
    inputs: Vec<Input>,
    recovery: &Recovery,
    redaction: &Redaction,
    images: impl Images,
) -> Result<Vec<Input>, Error> {
    let mut copies = Copies {
        recovery,
        redaction,
        resolver: Resolver::new(recovery.tables(), images),
        repeats: Repeats::default(),
        frame: Vec::new(),
    };
    let files = inputs.iter().enumerate();
    let files: Vec<_> = files
        .map(|(index, input)| copies.of(index as u32, input))
        .collect::<Result<_, _>>()?;
    let shows_all = !recovery.losses().at_least;
    let accounts = recovery.accounts().iter();
    let left = inputs.into_iter().zip(files).zip(accounts);
    let left = left.map(|((input, file), account)| {
        let name = redaction.text(input.name().as_bytes()).into_owned();
        let left = input.named(String::from_utf8_lossy(&name).into_owned());
        let left = left.with_content(file).map_err(Error::output)?;
        let mut carried = carried(recovery, std::slice::from_ref(account), 0);
        // They are not copied, since what stands in them is not known.
        carried.rejected += account.malformed;
        if carried.is_news() {
            return Ok(left.with_losses(carried.to_string(), shows_all));
        }
        Ok(left)
    });
    left.collect()
}

struct Copies<'r> {
    recovery: &'r Recovery,
    redaction: &'r Redaction,
    /// Where matches may reach from a format into a value.
    resolver: Resolver<'r>,
    repeats: Repeats,
    frame: Vec<u8>,
}

impl Copies<'_> {
    fn of(&mut self, index: u32, input: &Input) -> Result<Temporary, Error> {
        let failed = |cause| Error::new(input.name(), cause);
        let file = Appended(Temporary::new().map_err(failed)?);
        let mut output = Output::new(BufWriter::with_capacity(STEP, file));
        let mut items = Items::new(input);
        while let Some(item) = items.next()? {
            if let Item::Frame(frame) = item {
                self.copy(index, &frame, &mut output)?;
            }
        }
        let (out, _) = output.finish()?;
        let out = out.into_inner().map_err(|error| failed(error.into_error()));
        Ok(out?.0)
    }

    fn copy<W: Write>(
        &mut self,
        input: u32,
        frame: &FrameItem<'_>,
        output: &mut Output<W>,
    ) -> Result<(), Error> {
        let mut scratch = Vec::new();
        let Some(body) = unmask::unmasked(frame.body, &mut scratch) else {
            return Ok(());
        };
        let offset = frame.offset;
        let place = Place { input, offset };
        let is_left_out = self
            .recovery
            .leaves_out(self.recovery.standing(place, body));
        if is_left_out || is_mark(body) || self.is_repeated(body, frame.bytes) {
            return Ok(());
        }
        let tag = Tag(body.first().copied().unwrap_or(0));
        let len = match Record::decode(body) {
            Ok(Record::Data(data)) => {
                let (out, resolver) = (&mut self.frame, &mut self.resolver);
                Some(self.redaction.data(&data, out, place, resolver)?)
            }
            Ok(record) => self.redaction.aside(&record, &mut self.frame)?,
            // What stands in it cannot be known.
            Err(_) => None,
        };
        let Some(len) = len else {
            return Ok(());
        };
        output.write(&self.frame[..len], tag, self.recovery.mark_of(place, body))
    }

    /// Whether the record was copied already.
    fn is_repeated(&mut self, body: &[u8], bytes: &[u8]) -> bool {
        let glance = Glance::of(body);
        let identity = glance.and_then(|glance| glance.run.zip(glance.sequence));
        identity.is_some_and(|it| self.repeats.see(self.recovery, it, bytes) == Sighting::Same)
    }
}

/// A temporary file as something that is written to.
struct Appended(Temporary);

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Images, with what a [`Redaction`] leaves of their texts.
#[derive(Debug)]
pub struct RedactedImages<'r, I> {
    images: I,
    redaction: &'r Redaction,
}

impl<'r, I: Images> RedactedImages<'r, I> {
    /// The same images, which say no more than what is left.
    pub fn new(images: I, redaction: &'r Redaction) -> Self {
        RedactedImages { images, redaction }
    }

    fn left(&self, functions: Arc<[Function]>) -> Arc<[Function]> {
        let Redaction::Matches(replace) = self.redaction else {
            return functions;
        };
        let text = |text: &Option<Arc<str>>| {
            let text = text.as_ref()?;
            Some(match replace(text.as_bytes()) {
                Some(left) => String::from_utf8_lossy(&left).into(),
                None => Arc::clone(text),
            })
        };
        let left = functions.iter().map(|it| {
            let mut left = it.clone();
            left.function = text(&it.function);
            left.linkage_name = text(&it.linkage_name);
            left.file = text(&it.file);
            left
        });
        left.collect()
    }
}

impl<I: Images> Images for RedactedImages<'_, I> {
    fn string_at(&mut self, image: &Image, address: Svma) -> Option<Vec<u8>> {
        let text = self.images.string_at(image, address)?;
        Some(self.redaction.format(&text).into_owned())
    }

    fn description_at(&mut self, image: &Image, address: Svma) -> Vec<u8> {
        self.images.description_at(image, address)
    }

    fn functions(&mut self, image: &Image, address: Svma, exact: bool) -> Arc<[Function]> {
        let functions = self.images.functions(image, address, exact);
        self.left(functions)
    }

    fn compiled_functions(&mut self, of: &RunInfo, address: Avma, exact: bool) -> Arc<[Function]> {
        let functions = self.images.compiled_functions(of, address, exact);
        self.left(functions)
    }

    fn is_found(&mut self, image: &Image) -> bool {
        self.images.is_found(image)
    }

    fn is_code(&mut self, image: &Image, address: Svma) -> bool {
        self.images.is_code(image, address)
    }

    fn identify(&mut self, magic: Magic) -> Option<Image> {
        let mut image = self.images.identify(magic)?;
        image.path = self.redaction.text(&image.path).into_owned();
        Some(image)
    }

    fn load_bias(&mut self, image: &Image, calls: &[LogCall]) -> Option<u64> {
        self.images.load_bias(image, calls)
    }

    fn complaints(&mut self) -> Vec<String> {
        self.images.complaints()
    }
}
