//! The stack of a thread that stands still: from its registers and the memory of its process to the
//! addresses it would return to. The call frame information of the images says how, and frame
//! pointers where there is none. Nothing here knows where registers and memory come from.

mod call_frame;
mod expression;
mod registers;

use std::sync::Arc;

use logdef_wire::Avma;

use crate::image::Image;
use crate::names::address::AddressKind;
use crate::stack::call_frame::Caller;
pub use registers::{Architecture, Registers};

/// Reads the memory of a process: fills the buffer from an address on, or says that it cannot.
pub trait Memory {
    /// Fills all of `buffer` with what stands at `address`; `None` if that is not known.
    fn read(&self, address: u64, buffer: &mut [u8]) -> Option<()>;
}

/// An address of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackAddress {
    /// The address in the process.
    pub address: Avma,
    /// Whether it is that of an instruction, or one that a call returns to.
    pub kind: AddressKind,
    /// Whether it is where a signal handler returns to: the kernel put it there, and what comes next
    /// was interrupted.
    pub is_signal: bool,
}

/// An image of a process, and its address there minus its address in the file.
#[derive(Clone, Debug)]
pub struct PlacedImage {
    /// The program or library that is placed.
    pub image: Arc<Image>,
    /// What to add to an address in the file to have the one in the process.
    pub load_bias: u64,
}

/// The addresses of a thread's stack, innermost first: at most `most`, and whether it was deeper.
/// `image_at` says which image has the code at an address. Whatever the memory holds, it ends.
pub fn walk(
    registers: Registers,
    memory: &dyn Memory,
    mut image_at: impl FnMut(Avma) -> Option<PlacedImage>,
    most: usize,
) -> (Vec<StackAddress>, bool) {
    let mut stack = Vec::new();
    let mut registers = registers;
    let mut kind = AddressKind::Exact;
    while let Some(address) = registers.instruction() {
        // Only the innermost function can have been called at no address at all.
        if address == 0 && !stack.is_empty() {
            break;
        }
        if stack.len() == most {
            return (stack, true);
        }
        let image = image_at(Avma(kind.probe_at(address)));
        let next = step(image.as_ref(), &registers, kind, memory);
        stack.push(StackAddress {
            address: Avma(address),
            kind,
            is_signal: next.as_ref().is_some_and(|next| next.interrupted),
        });
        // A caller's frame lies above; but a signal's handler may have had a stack of its own.
        let is_innermost = stack.len() == 1;
        let is_caller =
            |next: &Step| next.interrupted || next.registers.is_above(&registers, is_innermost);
        let Some(next) = next.filter(is_caller) else {
            break;
        };
        kind = if next.interrupted {
            AddressKind::Exact
        } else {
            AddressKind::ReturnAddress
        };
        registers = next.registers;
    }
    (stack, false)
}

/// One step outwards; `None` where the stack ends, or what comes next is not known.
fn step(
    image: Option<&PlacedImage>,
    registers: &Registers,
    kind: AddressKind,
    memory: &dyn Memory,
) -> Option<Step> {
    match image.and_then(|image| call_frame::caller(image, registers, kind, memory)) {
        Some(Caller::At(next)) => Some(*next),
        Some(Caller::Outermost) => None,
        None => registers.without_call_frame(kind, memory),
    }
}

/// The registers of a caller.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub registers: Registers,
    /// Whether a signal interrupted it, so that it stands at an instruction and not after a call.
    pub interrupted: bool,
}
