//! The name of a function: in its entry, or in one that it comes from (DWARF 5, sections 2.13.2 and 3.3.8.2).

use gimli::{AttributeValue, Unit, UnitOffset, UnitRef};

use crate::names::dwarf::sections::View;
use crate::names::dwarf::units::File;
use crate::names::meter::Reader;

/// Entries to look at for one name. Honest ones take three.
const HOPS: usize = 16;

/// A file, and what a lookup sees of it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'l, 'a> {
    pub view: &'l View<'a>,
    /// The part of a split unit refers to nothing outside of it.
    pub file: Option<&'a File>,
}

/// What one entry says of its name.
#[derive(Default)]
struct Named<'a> {
    linkage_name: Option<Reader<'a>>,
    name: Option<Reader<'a>>,
    origin: Option<AttributeValue<Reader<'a>>>,
}

/// The name of the function at `entry` of `unit`: the linkage name if there is one, else the plain name.
pub(crate) fn name<'l, 'a>(
    mut seen: Seen<'l, 'a>,
    supplement: Option<Seen<'l, 'a>>,
    unit: &Unit<Reader<'a>>,
    mut entry: UnitOffset,
) -> gimli::Result<Option<&'a [u8]>> {
    let mut other = None;
    for _ in 0..HOPS {
        let unit = other.as_ref().unwrap_or(unit);
        let named = Named::read(UnitRef::new(seen.view, unit), entry)?;
        if let Some(name) = named.linkage_name.or(named.name) {
            return Ok(Some(name.bytes()));
        }
        let at = match named.origin {
            Some(AttributeValue::UnitRef(there)) => {
                entry = there;
                continue;
            }
            Some(AttributeValue::DebugInfoRef(at)) => at,
            Some(AttributeValue::DebugInfoRefSup(at)) => match supplement {
                Some(supplement) => {
                    seen = supplement;
                    at
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(file) = seen.file else {
            return Ok(None);
        };
        let (root, there) = file.holding(at.0, seen.view)?;
        (other, entry) = (Some(root.unit), there);
    }
    Ok(None)
}

impl<'a> Named<'a> {
    fn read(unit: UnitRef<'_, Reader<'a>>, entry: UnitOffset) -> gimli::Result<Named<'a>> {
        let mut entries = unit.entries_raw(Some(entry))?;
        let abbreviation = entries.read_abbreviation()?;
        let absent = gimli::Error::NoEntryAtGivenOffset(entry.0 as u64);
        let mut named = Named::default();
        for attribute in abbreviation.ok_or(absent)?.attributes() {
            let place = match attribute.name() {
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                    &mut named.linkage_name
                }
                gimli::DW_AT_name => &mut named.name,
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                    named.origin = Some(entries.read_attribute(*attribute)?.value());
                    continue;
                }
                _ => {
                    entries.skip_attributes(std::slice::from_ref(attribute))?;
                    continue;
                }
            };
            let value = entries.read_attribute(*attribute)?.value();
            *place = unit.attr_string(value).ok();
            if named.linkage_name.is_some() {
                break;
            }
        }
        Ok(named)
    }
}
