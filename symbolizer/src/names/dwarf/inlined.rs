//! What was inlined into one function, and where (DWARF 5, section 3.3.8). Names are read only when one is shown.

use gimli::{AttributeValue, UnitOffset, UnitRef};

use crate::names::dwarf::code::Code;
use crate::names::dwarf::entries::{self, Entries};
use crate::names::meter::Reader;

/// All calls that were inlined into one function, also those inside of others.
pub(crate) struct Inlined {
    calls: Box<[Call]>,
    /// In order of depth, then of their first address.
    spans: Box<[Span]>,
}

/// A call that was inlined.
pub(crate) struct Call {
    /// Its entry in the unit.
    pub entry: UnitOffset,
    /// The file that it stands in, in the unit's line table.
    pub file: Option<u64>,
    /// From 1, or 0.
    pub line: u32,
    pub column: u32,
}

/// A stretch of an inlined call's code.
struct Span {
    /// In how many others the call stands.
    depth: usize,
    begin: u64,
    end: u64,
    call: usize,
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    calls: Vec<Call>,
    spans: Vec<Span>,
    /// How deep the calls stand that the next entry may be inside of.
    around: Vec<isize>,
}

impl Inlined {
    /// Reads what is below the function's `entry`.
    pub fn read(unit: UnitRef<'_, Reader<'_>>, entry: UnitOffset) -> gimli::Result<Inlined> {
        let (mut entries, bytes) = entries::from(unit, entry)?;
        let function = entries.read_abbreviation()?;
        entries.skip_attributes(function.map_or(&[][..], |it| it.attributes()))?;
        let mut inlined = Reading::default();
        // How deep a function stands that is inside of this one, while its entries are passed over.
        let mut other = None;
        while entries.next_depth() > 0 && !entries.is_empty() {
            let (depth, at) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            other = other.filter(|it| depth > *it);
            inlined.leave(depth);
            let attributes = abbreviation.attributes();
            match abbreviation.tag() {
                gimli::DW_TAG_inlined_subroutine if other.is_none() => {
                    let mut call = Call::new(at, unit.unit.header.version());
                    let code = call.note(&mut entries, attributes, unit)?;
                    inlined.note(call, &code, depth, unit)?;
                    continue;
                }
                gimli::DW_TAG_subprogram => other = other.or(Some(depth)),
                _ => {}
            }
            entries.skip_attributes(attributes)?;
        }
        bytes.pay_for(entries.next_offset().0 - entry.0)?;
        Ok(inlined.finish())
    }

    /// The calls around `probe`, each inside of the one before.
    pub fn around(&self, probe: u64, most: usize) -> Vec<&Call> {
        let mut around = Vec::new();
        let mut spans = &self.spans[..];
        while around.len() < most {
            let depth = around.len();
            let after = spans.partition_point(|it| (it.depth, it.begin) <= (depth, probe));
            let Some(span) = after.checked_sub(1).map(|last| &spans[last]) else {
                break;
            };
            if span.depth != depth || probe >= span.end {
                break;
            }
            around.push(&self.calls[span.call]);
            spans = &spans[after..];
        }
        around
    }
}

impl Reading {
    /// An entry at `depth` is inside of none that stand as deep.
    fn leave(&mut self, depth: isize) {
        while self.around.last().is_some_and(|it| *it >= depth) {
            self.around.pop();
        }
    }

    /// Takes note of a call, whose entry stands at `depth`. One without code counts for nothing.
    fn note<'a>(
        &mut self,
        call: Call,
        code: &Code<'a>,
        depth: isize,
        unit: UnitRef<'_, Reader<'a>>,
    ) -> gimli::Result<()> {
        let before = self.spans.len();
        code.ranges(unit, |gimli::Range { begin, end }| {
            self.spans.push(Span {
                depth: self.around.len(),
                begin,
                end,
                call: self.calls.len(),
            });
        })?;
        if self.spans.len() > before {
            self.calls.push(call);
            self.around.push(depth);
        }
        Ok(())
    }

    fn finish(mut self) -> Inlined {
        self.spans.sort_unstable_by_key(|it| (it.depth, it.begin));
        Inlined {
            calls: self.calls.into(),
            spans: self.spans.into(),
        }
    }
}

impl Call {
    /// A call of which only the entry is known. Zig leaves out the file if it is the first, which the unit was
    /// compiled of; before DWARF 5 that has no number.
    fn new(entry: UnitOffset, version: u16) -> Call {
        Call {
            entry,
            file: (version >= 5).then_some(0),
            line: 0,
            column: 0,
        }
    }

    /// Reads where the call stands, and returns where its code is.
    fn note<'a>(
        &mut self,
        entries: &mut Entries<'_, 'a>,
        attributes: &[gimli::AttributeSpecification],
        unit: UnitRef<'_, Reader<'a>>,
    ) -> gimli::Result<Code<'a>> {
        let mut code = Code::default();
        for attribute in attributes {
            let name = attribute.name();
            let is_call = matches!(
                name,
                gimli::DW_AT_call_file | gimli::DW_AT_call_line | gimli::DW_AT_call_column
            );
            if !is_call && !Code::is_in(name) {
                entries.skip_attributes(std::slice::from_ref(attribute))?;
                continue;
            }
            let attribute = entries.read_attribute(*attribute)?;
            code.note(&attribute);
            let number = || attribute.udata_value().unwrap_or(0) as u32;
            match (name, attribute.value()) {
                // Before DWARF 5 there is no file 0.
                (gimli::DW_AT_call_file, AttributeValue::FileIndex(file)) => {
                    self.file = Some(file).filter(|&it| it > 0 || unit.header.version() >= 5);
                }
                (gimli::DW_AT_call_line, _) => self.line = number(),
                (gimli::DW_AT_call_column, _) => self.column = number(),
                _ => {}
            }
        }
        Ok(code)
    }
}
