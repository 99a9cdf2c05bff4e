//! The logdefs of strings: formats with their description, names of files, and what a call site
//! made at run time is called. Knows no thread and no chunk.

use super::Frames;
use crate::call::site::Strings;
use core::ffi::CStr;
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::record::{StringLogdef, TextLogdef};
use logdef_wire::{Description, Magic, Run, Svma};

/// A string, and all that is known of it.
#[derive(Default)]
pub(crate) struct Logged<'s> {
    pub string: &'s [u8],
    /// Grammar and names of a format.
    pub description: Description<'s>,
    /// Module, target and function of the call site with this format. Written if that stands in
    /// no image.
    pub place: [Option<&'s CStr>; 3],
}

impl<'s> Logged<'s> {
    pub(super) fn of_file(strings: Strings<'s>) -> Self {
        Logged {
            string: strings.file().to_bytes(),
            ..Logged::default()
        }
    }

    pub(super) fn of_format(strings: Strings<'s>) -> Self {
        let format = strings.template().unwrap_or(strings.format());
        Logged {
            string: format.to_bytes(),
            description: strings.description(),
            place: strings.place(),
        }
    }
}

/// Writes the logdef of a string: a text logdef, if it has a number and no address.
pub(crate) fn write_string(
    at: Svma,
    magic: Option<Magic>,
    run: Option<Run>,
    logged: &Logged<'_>,
    out: &mut Frames<'_>,
) -> Result<(), OutOfRoom> {
    let is_template = logged.description.grammar().is_template();
    let string = (!is_template).then_some(logged.string);
    let template = is_template.then_some(logged.string);
    let description = logged.description.as_bytes();
    let description = (!description.is_empty()).then_some(description);
    if at.text_number().is_none() {
        let logdef = StringLogdef {
            magic,
            address: Some(at),
            string,
            run,
            description,
            template,
        };
        return out.frame(|e| logdef.encode(e));
    }
    let [module, target, function] = logged.place;
    let logdef = TextLogdef {
        run,
        number: Some(at),
        string,
        module: module.map(CStr::to_bytes),
        description,
        template,
        target: target.map(CStr::to_bytes),
        function: function.map(CStr::to_bytes),
    };
    out.frame(|e| logdef.encode(e))
}
