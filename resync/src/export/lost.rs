//! What a log lost, as the last record of an export: a copy of a log that is not clean must not
//! pass for a clean one. Importers make of it what it was made of: counts, and no record.
//!
//! The message is the verdict on the log, as `check` gives it, and each count is a key. No
//! program logged it, so it has no process and no thread; its level is WARN.

use crate::recover::losses::Losses;
use crate::recover::standing::Standing;
use crate::recover::tables::{Image, Place, Tables};
use crate::resolve::resolved::Resolved;
use crate::resolve::resolver::Resolver;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Map};

/// The name of the image that the record is of.
const IMAGE: &str = "logdef export";
/// More than all keys take.
const ROOM: usize = 256;

/// What the records of an export themselves say of losses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    dropped: u64,
    suspect: u64,
}

impl Said {
    /// A record was exported: it counts those that were dropped before it, and has the mark *suspect*.
    pub fn add(&mut self, record: &Resolved<'_>) {
        let dropped = record.data.dropped.unwrap_or(0);
        self.dropped = self.dropped.saturating_add(dropped);
        self.suspect += u64::from(record.standing == Standing::Suspect);
    }
}

/// Gives `then` the record of what a log lost, but for what records of the export said; nothing
/// if there is no more.
///
/// ```
/// use logdef_resync::{Losses, export::lost};
///
/// let said = lost::Said::default();
/// assert!(lost::record(&Losses::default(), said, |_| ()).is_none());
/// ```
pub fn record<T>(losses: &Losses, said: Said, then: impl FnOnce(&Resolved<'_>) -> T) -> Option<T> {
    let losses = Losses {
        dropped: losses.dropped.saturating_sub(said.dropped),
        rejected: losses.rejected.saturating_sub(said.suspect),
        ..*losses
    };
    if losses.is_clean() {
        return None;
    }
    let text = losses.to_string();
    let mut keys = [0; ROOM];
    let (count, len) = encode(&losses, &mut keys).ok()?;
    let front = Glance {
        level: Some(Level::WARN),
        ..Glance::default()
    };
    let data = Data {
        front,
        format_text: Some(text.as_bytes()),
        keys: Map::from_objects(count, &keys[..len]).ok(),
        ..Data::default()
    };
    let image = Image {
        path: format!("/{IMAGE}").into_bytes(),
        ..Image::default()
    };
    let tables = Tables::new(0);
    let mut resolver = Resolver::without_images(&tables);
    let mut record = resolver.resolve(
        &data,
        Place {
            input: 0,
            offset: 0,
        },
    );
    record.image = Some(&image);
    Some(then(&record))
}

fn encode(losses: &Losses, keys: &mut [u8]) -> Result<(u32, usize), OutOfRoom> {
    let mut encoder = Encoder::new(keys);
    let mut count = 0;
    for (number, name, ..) in losses.counts() {
        if number > 0 {
            encoder.raw(name.as_bytes())?;
            encoder.uint(number)?;
            count += 1;
        }
    }
    Ok((count, encoder.position()))
}

/// What a record with this image and this message says that a log lost, if it is such a record.
pub(crate) fn parse(image: &[u8], message: &[u8]) -> Option<Losses> {
    // An import from a trace has the path that the record was given.
    if image.strip_prefix(b"/").unwrap_or(image) != IMAGE.as_bytes() {
        return None;
    }
    Losses::parse(str::from_utf8(message).ok()?)
}
