//! Which addresses an entry says that its code is at (DWARF 5, section 2.17).

use gimli::{Attribute, AttributeValue, DwAt, Range, UnitRef};

use crate::names::meter::Reader;

/// What the attributes of one entry say. They are understood only when all of the unit's own are known.
#[derive(Clone, Copy, Default)]
pub(crate) struct Code<'a> {
    low: Option<AttributeValue<Reader<'a>>>,
    high: Option<AttributeValue<Reader<'a>>>,
    ranges: Option<AttributeValue<Reader<'a>>>,
}

impl<'a> Code<'a> {
    /// Whether attributes of this name are about it.
    pub fn is_in(name: DwAt) -> bool {
        matches!(
            name,
            gimli::DW_AT_low_pc | gimli::DW_AT_high_pc | gimli::DW_AT_ranges
        )
    }

    /// Takes note of an attribute if it is one of those.
    pub fn note<R: gimli::Reader<Offset = usize>>(&mut self, attribute: &Attribute<R>) {
        let place = match attribute.name() {
            gimli::DW_AT_low_pc => &mut self.low,
            gimli::DW_AT_high_pc => &mut self.high,
            gimli::DW_AT_ranges => &mut self.ranges,
            _ => return,
        };
        *place = number(attribute.value());
    }

    /// Gives each stretch of addresses that is not empty to `found`.
    pub fn ranges(
        &self,
        unit: UnitRef<'_, Reader<'a>>,
        mut found: impl FnMut(Range),
    ) -> gimli::Result<()> {
        let mut note = |range: Range| {
            if range.begin < range.end {
                found(range);
            }
        };
        let listed = self.ranges.map(|it| unit.attr_ranges(it)).transpose()?;
        if let Some(mut list) = listed.flatten() {
            while let Some(range) = list.next()? {
                note(range);
            }
            return Ok(());
        }
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return Ok(());
        };
        let Some(begin) = unit.attr_address(low)? else {
            return Ok(());
        };
        let end = match unit.attr_address(high)? {
            Some(end) => end,
            // The mark of code that the linker threw away wraps around, to less than it.
            None => begin.wrapping_add(high.udata_value().unwrap_or(0)),
        };
        note(Range { begin, end });
        Ok(())
    }
}

/// A value that is a number of some kind, as any reader has it.
fn number<'a, R: gimli::Reader<Offset = usize>>(
    value: AttributeValue<R>,
) -> Option<AttributeValue<Reader<'a>>> {
    match value {
        AttributeValue::Addr(address) => Some(AttributeValue::Addr(address)),
        AttributeValue::DebugAddrIndex(index) => Some(AttributeValue::DebugAddrIndex(index)),
        AttributeValue::RangeListsRef(at) => Some(AttributeValue::RangeListsRef(at)),
        AttributeValue::DebugRngListsIndex(index) => {
            Some(AttributeValue::DebugRngListsIndex(index))
        }
        other => other.udata_value().map(AttributeValue::Udata),
    }
}
