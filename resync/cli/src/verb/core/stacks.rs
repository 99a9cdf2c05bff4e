//! The stacks of a core dump's threads, with names.

use crate::failure::Failure;
use crate::log;
use crate::verb::core::Stacks;
use crate::verb::core::head::Head;
use crate::verb::core::logs::Bytes;
use crate::verb::view::View;
use logdef_resync::{Function, Image, StackEntry};
use logdef_symbolizer::{CoreDump, CoreImages, Svma, Thread};
use logdef_wire::Avma;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// Addresses of a stack that are shown.
const DEPTH: usize = 256;

/// Shows the stacks that were asked for.
pub fn show(
    core: &CoreDump<Bytes>,
    which: Stacks,
    view: &View,
    head: &Head,
) -> Result<(), Failure> {
    let mut images = CoreImages::new(log::locator(&view.images), core);
    let threads = match which {
        Stacks::All => core.threads(),
        Stacks::Died => &core.threads()[..1],
        Stacks::None => &[],
    };
    for (number, thread) in threads.iter().enumerate() {
        let stack = named(core, thread, &mut images);
        head.stack(
            thread.tid,
            number == 0 && core.process().death.is_some(),
            &stack,
        )?;
    }
    for complaint in images.complaints() {
        log::say(&complaint);
    }
    Ok(())
}

/// What stands in place of the function that a signal's handler returns to, as debuggers have it.
fn signal() -> Arc<[Function]> {
    Arc::from([Function {
        function: Some("<signal handler called>".into()),
        ..Function::default()
    }])
}

fn named(core: &CoreDump<Bytes>, thread: &Thread, images: &mut CoreImages) -> Vec<StackEntry> {
    let (addresses, is_deeper) = images.stack(core, thread, DEPTH);
    let entries = addresses.iter().map(|&at| {
        let mut entry = StackEntry {
            address: at.address,
            ..StackEntry::default()
        };
        // What a call returns to may lie after the end of the code that made it.
        let probe = Avma(at.kind.probe_at(at.address.0));
        let Some(placed) = images.at(core, probe) else {
            return entry;
        };
        let address = Svma(at.address.0.wrapping_sub(placed.load_bias));
        entry.functions = if at.is_signal {
            signal()
        } else {
            placed.image.symbolize(address, at.kind).frames().into()
        };
        let mut image = Image::default();
        image.path = placed.image.path().as_os_str().as_bytes().to_vec();
        entry.image = Some((image, address));
        entry
    });
    let mut stack: Vec<_> = entries.collect();
    if let Some(last) = stack.last_mut() {
        last.is_cut = is_deeper;
    }
    stack
}
