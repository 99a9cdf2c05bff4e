//! Metadata records (type 0): which provider the following records belong to, what
//! happened to a provider, and the magic number that begins a trace.

use core::fmt;

use crate::fxt::bits::{Bits, bits};
use crate::fxt::buffer::{Buffer, Words};
use crate::fxt::cursor::Cursor;
use crate::fxt::error::{Malformed, Problem, WriteError};
use crate::fxt::header::{RecordHeader, RecordType};
use crate::fxt::layer::{Layer, Raw};

const SUBTYPE: Bits = bits(16, 19);
const PROVIDER: Bits = bits(20, 51);
const NAME_LEN: Bits = bits(52, 59);
const EVENT: Bits = bits(52, 55);
const TRACE_INFO: Bits = bits(20, 23);
const MAGIC: Bits = bits(24, 55);

const PROVIDER_INFO: u64 = 1;
const PROVIDER_SECTION: u64 = 2;
const PROVIDER_EVENT: u64 = 3;
const TRACE: u64 = 4;
const TRACE_MAGIC: u64 = 0;

/// The magic number: "FxT" and a byte chosen at random.
const MAGIC_NUMBER: u64 = 0x1654_7846;

/// The first eight bytes of a trace, a record by themselves.
pub const MAGIC_BYTES: [u8; 8] = 0x0016_5478_4604_0010_u64.to_le_bytes();

/// The first eight bytes of a trace written on a big-endian machine.
pub const BIG_ENDIAN_MAGIC_BYTES: [u8; 8] = 0x0016_5478_4604_0010_u64.to_be_bytes();

/// A source of records inside a trace, with tables of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderId(pub u32);

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What happened to a provider: an open set of 16 numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderEvent(pub u8);

impl ProviderEvent {
    /// The provider's buffer was full; records may have been dropped.
    pub const BUFFER_FULL: ProviderEvent = ProviderEvent(0);

    /// The name of the event, if it has a meaning.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            ProviderEvent::BUFFER_FULL => Some("buffer full"),
            _ => None,
        }
    }
}

/// A metadata record (type 0): about the trace and its providers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metadata<L: Layer> {
    /// Names a provider; what follows belongs to it.
    ProviderInfo {
        /// The number by which later sections name it.
        provider: ProviderId,
        /// Its name, 255 bytes at most.
        name: L::Spelled,
    },
    /// What follows belongs to this provider.
    ProviderSection {
        /// Its number, from its `ProviderInfo`.
        provider: ProviderId,
    },
    /// Something happened to a provider. What follows still belongs to whom it did.
    ProviderEvent {
        /// Its number, from its `ProviderInfo`.
        provider: ProviderId,
        /// What happened, such as a full buffer.
        event: ProviderEvent,
    },
    /// The magic number that a trace begins with.
    Magic,
}

impl<'a> Metadata<Raw<'a>> {
    /// None if the subtype has no meaning yet.
    pub(crate) fn decode(
        header: RecordHeader,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Self>, Malformed> {
        let provider = ProviderId(header.field(PROVIDER) as u32);
        Ok(Some(match header.field(SUBTYPE) {
            PROVIDER_INFO => Metadata::ProviderInfo {
                provider,
                name: cursor.stream(header.field(NAME_LEN), "provider name")?,
            },
            PROVIDER_SECTION => Metadata::ProviderSection { provider },
            PROVIDER_EVENT => Metadata::ProviderEvent {
                provider,
                event: ProviderEvent(header.field(EVENT) as u8),
            },
            TRACE if header.field(TRACE_INFO) == TRACE_MAGIC => {
                if header.field(MAGIC) != MAGIC_NUMBER {
                    return Err(Malformed {
                        at: 0,
                        problem: Problem::NotMagic,
                    });
                }
                Metadata::Magic
            }
            _ => return Ok(None),
        }))
    }

    pub(crate) fn write(
        &self,
        words: &mut Words<'_, impl Buffer>,
    ) -> Result<RecordHeader, WriteError> {
        let header = RecordHeader::new(RecordType::METADATA);
        let of = |subtype, provider: &ProviderId| {
            header
                .with(SUBTYPE, subtype)
                .with(PROVIDER, u64::from(provider.0))
        };
        Ok(match self {
            Metadata::ProviderInfo { provider, name } => {
                let len = WriteError::check("provider name length", name.len(), NAME_LEN.max())?;
                words.stream(name)?;
                of(PROVIDER_INFO, provider).with(NAME_LEN, len)
            }
            Metadata::ProviderSection { provider } => of(PROVIDER_SECTION, provider),
            Metadata::ProviderEvent { provider, event } => {
                let event = WriteError::check("provider event", event.0.into(), EVENT.max())?;
                of(PROVIDER_EVENT, provider).with(EVENT, event)
            }
            Metadata::Magic => header
                .with(SUBTYPE, TRACE)
                .with(TRACE_INFO, TRACE_MAGIC)
                .with(MAGIC, MAGIC_NUMBER),
        })
    }
}
