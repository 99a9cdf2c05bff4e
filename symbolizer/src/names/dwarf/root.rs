//! The first entry of a unit: what the others cannot be understood without.

use std::sync::Arc;

use gimli::{
    Abbreviations, Attribute, AttributeValue, DebugAddrBase, DebugLineOffset, DebugLocListsBase,
    DebugRngListsBase, DebugStrOffsetsBase, Unit, UnitHeader, UnitRef, UnitType,
};

use crate::names::dwarf::code::Code;
use crate::names::dwarf::sections::View;
use crate::names::meter::Reader;

/// A unit of which the first entry was read. Its line table was not: `gimli` reads its list of files with the
/// entry, and most units are never asked for a line.
pub(crate) struct Root<'a> {
    pub unit: Unit<Reader<'a>>,
    pub code: Code<'a>,
    pub line_table: Option<DebugLineOffset>,
    /// The file that has the rest of the unit.
    pub split_name: Option<Reader<'a>>,
}

/// Attributes that are understood once the others are known.
#[derive(Default)]
struct Pending<'a> {
    name: Option<AttributeValue<Reader<'a>>>,
    comp_dir: Option<AttributeValue<Reader<'a>>>,
    low_pc: Option<AttributeValue<Reader<'a>>>,
    split_name: Option<AttributeValue<Reader<'a>>>,
}

impl<'a> Root<'a> {
    pub fn read(
        view: &View<'a>,
        header: UnitHeader<Reader<'a>>,
        abbreviations: Arc<Abbreviations>,
    ) -> gimli::Result<Root<'a>> {
        let mut root = Root {
            unit: unknown(view, header, abbreviations.clone()),
            code: Code::default(),
            line_table: None,
            split_name: None,
        };
        let mut pending = Pending::default();
        let mut entries = root.unit.header.entries_raw(&abbreviations, None)?;
        let first = entries.read_abbreviation()?;
        let first = first.ok_or(gimli::Error::MissingUnitDie)?;
        for &attribute in first.attributes() {
            let attribute = entries.read_attribute(attribute)?;
            root.code.note(&attribute);
            root.note(&attribute);
            pending.note(&attribute);
        }
        root.understand(view, &pending)?;
        if first.tag() == gimli::DW_TAG_partial_unit {
            // It has names and types. `dwz` gives it the table of a whole program, in which no line is its own.
            root.line_table = None;
        }
        Ok(root)
    }

    pub fn unit_ref<'l>(&'l self, view: &'l View<'a>) -> UnitRef<'l, Reader<'a>> {
        UnitRef::new(view, &self.unit)
    }

    fn note(&mut self, attribute: &Attribute<Reader<'a>>) {
        let unit = &mut self.unit;
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(at)) => {
                self.line_table = Some(at)
            }
            (gimli::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                unit.str_offsets_base = base;
            }
            (
                gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base,
                AttributeValue::DebugAddrBase(base),
            ) => {
                unit.addr_base = base;
            }
            (
                gimli::DW_AT_rnglists_base | gimli::DW_AT_GNU_ranges_base,
                AttributeValue::DebugRngListsBase(base),
            ) => unit.rnglists_base = base,
            (gimli::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) => {
                unit.dwo_id.get_or_insert(id);
            }
            _ => {}
        }
    }

    fn understand(&mut self, view: &View<'a>, pending: &Pending<'a>) -> gimli::Result<()> {
        let text = |value: Option<AttributeValue<Reader<'a>>>, unit: &Unit<Reader<'a>>| {
            value.and_then(|it| view.attr_string(unit, it).ok())
        };
        self.unit.name = text(pending.name, &self.unit);
        self.unit.comp_dir = text(pending.comp_dir, &self.unit);
        self.split_name = text(pending.split_name, &self.unit);
        if let Some(low_pc) = pending.low_pc {
            self.unit.low_pc = view.attr_address(&self.unit, low_pc)?.unwrap_or(0);
        }
        Ok(())
    }
}

impl<'a> Pending<'a> {
    fn note(&mut self, attribute: &Attribute<Reader<'a>>) {
        let place = match attribute.name() {
            gimli::DW_AT_name => &mut self.name,
            gimli::DW_AT_comp_dir => &mut self.comp_dir,
            gimli::DW_AT_low_pc => &mut self.low_pc,
            gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name => &mut self.split_name,
            _ => return,
        };
        *place = Some(attribute.value());
    }
}

/// A unit of which only the header is known.
fn unknown<'a>(
    view: &View<'a>,
    header: UnitHeader<Reader<'a>>,
    abbreviations: Arc<Abbreviations>,
) -> Unit<Reader<'a>> {
    let (encoding, file) = (header.encoding(), view.file_type);
    Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(encoding, file),
        addr_base: DebugAddrBase(0),
        loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, file),
        rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, file),
        line_program: None,
        dwo_id: match header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        },
        header,
    }
}
