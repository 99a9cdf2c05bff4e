//! The stack frames of a call that are the program's, without those of the logger. A room for
//! unsafe: it names what the linker defines.

use crate::call::site::Meta;
use crate::image::code;
use crate::process::Process;
use core::ops::Range;
use logdef_unwind::modules;

/// Leaves out the logger's own code, of a call in an image: it is the compiler's choice how
/// many of its functions the call came through. By its library, or where that is linked
/// statically by the functions that are an interface.
pub(super) fn callers<'b>(process: &Process, image: u8, addresses: &'b [usize]) -> &'b [usize] {
    let interface = interface();
    let is_interface = |address: &&usize| interface.contains(&code::before(**address));
    let entries = addresses.iter().take_while(is_interface).count();
    let addresses = &addresses[entries..];
    if image == Meta::NO_IMAGE {
        // A site that was made at run time has no image, so which functions are the
        // logger's is not known.
        return addresses;
    }
    let logger = interface.start;
    let first = addresses.first().map(|first| code::before(*first));
    let module = first.and_then(modules::find);
    let Some(module) = module.filter(|module| module.contains(logger)) else {
        return addresses;
    };
    let site = process.images.get(image);
    if site.is_some_and(|image| image.contains(logger)) {
        return addresses;
    }
    let caller = addresses
        .iter()
        .position(|address| !module.contains(code::before(*address)));
    &addresses[caller.unwrap_or(0)..]
}

// A library exports neither: another copy of the logger has a section of its own.
core::arch::global_asm!(
    ".hidden __start_logdef_interface",
    ".hidden __stop_logdef_interface",
);

/// The code of the functions that C programs call to log, by the section that it has.
fn interface() -> Range<usize> {
    unsafe extern "C" {
        #[link_name = "__start_logdef_interface"]
        static START: u8;
        #[link_name = "__stop_logdef_interface"]
        static STOP: u8;
    }
    (&raw const START).addr()..(&raw const STOP).addr()
}
