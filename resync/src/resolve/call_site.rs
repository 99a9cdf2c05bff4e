//! A call site as the log itself gives it: its format and its file, and what they say. What an image
//! says is not asked.

use super::names::place_called;
use crate::recover::tables::{Origin, Tables};
use crate::render::CompiledFormat;
use logdef_wire::Description;
use logdef_wire::record::Glance;

/// Format and file of the call site of a record.
#[derive(Clone, Copy, Debug)]
pub struct CallSite<'t> {
    format: &'t [u8],
    file: &'t [u8],
    description: Description<'t>,
    origin: Option<&'t Origin>,
}

impl<'t> CallSite<'t> {
    /// That of a record, by its front: `None` where the log does not say both strings, or the record
    /// brings one of them along.
    pub fn of(front: &Glance, tables: &'t Tables) -> Option<CallSite<'t>> {
        let (format, file) = (front.format?, front.file?);
        let is_numbered = format.text_number().is_some();
        let run = front.run.filter(|_| is_numbered);
        let numbered = run.and_then(|run| tables.numbered(run, format));
        let (format, file) = (
            tables.string_of(front, format)?,
            tables.string_of(front, file)?,
        );
        let text = tables.text(format);
        Some(CallSite {
            format: text,
            file: tables.text(file),
            description: Description::of_format(tables.description(format).as_bytes(), text),
            origin: numbered.map(|(_, origin)| origin),
        })
    }

    /// The format, without its NUL.
    pub fn format(&self) -> &'t [u8] {
        self.format
    }

    /// The source file, as the compiler was given it.
    pub fn file(&self) -> &'t [u8] {
        self.file
    }

    /// See [`Resolved::module`](super::resolved::Resolved::module).
    pub fn module(&self) -> Option<&'t [u8]> {
        let module = self.origin.and_then(|origin| origin.module.as_deref());
        module.or(self.description.module())
    }

    /// See [`Resolved::target`](super::resolved::Resolved::target).
    pub fn target(&self) -> Option<&'t [u8]> {
        let target = self.origin.and_then(|origin| origin.target.as_deref());
        target.or(self.description.target())
    }

    /// The place on the wire of the argument that has a name, given or guessed.
    pub fn argument_called(&self, name: &[u8]) -> Option<usize> {
        place_called(self.format, self.description, name)
    }

    /// The format, taken apart; `None` in a grammar that is not known.
    pub fn compiled(&self) -> Option<CompiledFormat> {
        CompiledFormat::described(self.format, self.description)
    }
}
