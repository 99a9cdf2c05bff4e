//! The functions of one unit by address. What was inlined into one is read when one of its addresses is asked for.

use std::cell::OnceCell;

use gimli::{Abbreviation, UnitOffset, UnitRef};

use crate::names::dwarf::code::Code;
use crate::names::dwarf::entries;
use crate::names::dwarf::inlined::Inlined;
use crate::names::meter::Reader;

/// Functions may stand inside others; how many of those to look after.
const NESTED: usize = 16;

/// All functions of a unit that have code.
pub(crate) struct Functions {
    /// In order of their first address.
    spans: Box<[Span]>,
    functions: Box<[Function]>,
}

/// A stretch of a function's code.
struct Span {
    begin: u64,
    end: u64,
    function: usize,
}

/// One function.
pub(crate) struct Function {
    /// Its entry in the unit.
    pub entry: UnitOffset,
    pub inlined: OnceCell<gimli::Result<Inlined>>,
}

impl Functions {
    pub fn read(unit: UnitRef<'_, Reader<'_>>) -> gimli::Result<Functions> {
        let (mut spans, mut functions) = (Vec::new(), Vec::new());
        let (mut entries, bytes) = entries::from(unit, unit.unit.header.root_offset())?;
        bytes.pay_for_all()?;
        while !entries.is_empty() {
            let entry = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if !is_function(abbreviation) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut code = Code::default();
            for attribute in abbreviation.attributes() {
                if Code::is_in(attribute.name()) {
                    code.note(&entries.read_attribute(*attribute)?);
                } else {
                    entries.skip_attributes(std::slice::from_ref(attribute))?;
                }
            }
            let (function, before) = (functions.len(), spans.len());
            code.ranges(unit, |gimli::Range { begin, end }| {
                spans.push(Span {
                    begin,
                    end,
                    function,
                });
            })?;
            if spans.len() > before {
                functions.push(Function {
                    entry,
                    inlined: OnceCell::new(),
                });
            }
        }
        spans.sort_unstable_by_key(|it| (it.begin, it.function));
        Ok(Functions {
            spans: spans.into(),
            functions: functions.into(),
        })
    }

    /// The function around `probe`.
    pub fn at(&self, probe: u64) -> Option<&Function> {
        let after = self.spans.partition_point(|it| it.begin <= probe);
        let mut before = self.spans[..after].iter().rev().take(NESTED);
        let span = before.find(|it| probe < it.end)?;
        self.functions.get(span.function)
    }
}

/// Whether it is that of functions with code. Most are declarations, or were inlined everywhere.
fn is_function(abbreviation: &Abbreviation) -> bool {
    let mut attributes = abbreviation.attributes().iter();
    abbreviation.tag() == gimli::DW_TAG_subprogram
        && attributes.any(|it| matches!(it.name(), gimli::DW_AT_low_pc | gimli::DW_AT_ranges))
}
