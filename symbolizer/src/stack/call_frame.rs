//! The caller of a function by call frame information: `.eh_frame`, which is loaded with the program,
//! or else `.debug_frame`, which debug files have.

use gimli::{
    BaseAddresses, CfaRule, Encoding, EndianSlice, FrameDescriptionEntry, ParsedEhFrameHdr,
    Register, RegisterRule, RunTimeEndian, UnwindContext, UnwindExpression, UnwindSection,
    UnwindTableRow,
};

use crate::image::elf::{Bytes, Elf};
use crate::names::address::AddressKind;
use crate::stack::registers::word;
use crate::stack::{Memory, PlacedImage, Registers, Step, expression};

/// Bytes that compressed call frame information of a file may unpack to.
const UNPACKED: u64 = 1 << 30;

/// What comes after a function.
pub(super) enum Caller {
    /// A function called it.
    At(Box<Step>),
    /// Nothing did: it is where a thread begins.
    Outermost,
}

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The caller of the function that the registers are in. `None` if nothing is known of it.
pub(super) fn caller(
    placed: &PlacedImage,
    registers: &Registers,
    kind: AddressKind,
    memory: &dyn Memory,
) -> Option<Caller> {
    let probe = kind.probe_at(registers.instruction()?);
    let address = probe.wrapping_sub(placed.load_bias);
    let elf = placed.image.elf();
    by_eh_frame(elf, address, registers, memory)
        .or_else(|| by_debug_frame(elf, address, registers, memory))
}

fn by_eh_frame(
    elf: &Elf,
    address: u64,
    registers: &Registers,
    memory: &dyn Memory,
) -> Option<Caller> {
    let bytes = section(elf, ".eh_frame")?;
    let eh_frame = gimli::EhFrame::new(bytes.as_slice(), elf.endian);
    let bases = bases(elf);
    // The index, where there is one, spares a walk over all of it.
    let index = section(elf, ".eh_frame_hdr");
    let index = index
        .as_ref()
        .and_then(|bytes| parsed(bytes, &bases, elf.endian));
    let from_offset = gimli::EhFrame::cie_from_offset;
    let fde = match index.as_ref().and_then(ParsedEhFrameHdr::table) {
        Some(table) => table.fde_for_address(&eh_frame, &bases, address, from_offset),
        None => eh_frame.fde_for_address(&bases, address, from_offset),
    };
    by_entry(&fde.ok()?, &eh_frame, &bases, address, registers, memory)
}

fn parsed<'a>(
    bytes: &'a Bytes,
    bases: &BaseAddresses,
    endian: RunTimeEndian,
) -> Option<ParsedEhFrameHdr<Slice<'a>>> {
    gimli::EhFrameHdr::new(bytes.as_slice(), endian)
        .parse(bases, 8)
        .ok()
}

fn by_debug_frame(
    elf: &Elf,
    address: u64,
    registers: &Registers,
    memory: &dyn Memory,
) -> Option<Caller> {
    let bytes = section(elf, ".debug_frame")?;
    let mut debug_frame = gimli::DebugFrame::new(bytes.as_slice(), elf.endian);
    debug_frame.set_address_size(8);
    let bases = bases(elf);
    let fde = debug_frame.fde_for_address(&bases, address, gimli::DebugFrame::cie_from_offset);
    by_entry(&fde.ok()?, &debug_frame, &bases, address, registers, memory)
}

fn section(elf: &Elf, name: &str) -> Option<Bytes> {
    elf.section(name, &mut { UNPACKED }).ok()?
}

/// What addresses in call frame information count from.
fn bases(elf: &Elf) -> BaseAddresses {
    let at = |name| elf.loaded_section(name).map_or(0, |(address, _)| address.0);
    BaseAddresses::default()
        .set_eh_frame(at(".eh_frame"))
        .set_eh_frame_hdr(at(".eh_frame_hdr"))
        .set_text(at(".text"))
        .set_got(at(".got"))
}

/// Applies the rules that hold at an address.
fn by_entry<'a, S>(
    fde: &FrameDescriptionEntry<Slice<'a>>,
    section: &S,
    bases: &BaseAddresses,
    address: u64,
    registers: &Registers,
    memory: &dyn Memory,
) -> Option<Caller>
where
    S: UnwindSection<Slice<'a>>,
{
    let mut context = UnwindContext::new();
    let row = fde
        .unwind_info_for_address(section, bases, &mut context, address)
        .ok()?;
    let rules = Rules {
        section,
        row,
        encoding: fde.cie().encoding(),
        registers,
        memory,
    };
    let return_address = fde.cie().return_address_register();
    if matches!(row.register(return_address), Some(RegisterRule::Undefined)) {
        return Some(Caller::Outermost);
    }
    let cfa = rules.cfa()?;
    let mut of_caller = registers.clone();
    for number in Registers::numbers() {
        of_caller.set(number, rules.register(Register(number), cfa));
    }
    of_caller.return_to(rules.register(return_address, cfa));
    // Its stack is what the frame's address is named by, unless a rule says where it is: that of a signal has one.
    let stack_pointer = registers.stack_pointer_number();
    if row.register(Register(stack_pointer)).is_none() {
        of_caller.set(stack_pointer, Some(cfa));
    }
    let interrupted = fde.is_signal_trampoline();
    Some(Caller::At(Box::new(Step {
        registers: of_caller,
        interrupted,
    })))
}

/// The rules by which the registers of a caller are had back.
struct Rules<'r, S> {
    section: &'r S,
    row: &'r UnwindTableRow<usize>,
    encoding: Encoding,
    registers: &'r Registers,
    memory: &'r dyn Memory,
}

impl<S> Rules<'_, S> {
    /// The canonical frame address: what the rules of registers count from.
    fn cfa<'a>(&self) -> Option<u64>
    where
        S: UnwindSection<Slice<'a>>,
    {
        match self.row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                let base = self.registers.get(register.0)?;
                Some(base.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.value(expression, None),
        }
    }

    /// What a register was in the caller. One without a rule was kept, or is of no matter.
    fn register<'a>(&self, register: Register, cfa: u64) -> Option<u64>
    where
        S: UnwindSection<Slice<'a>>,
    {
        match self.row.register(register) {
            None | Some(RegisterRule::SameValue) => self.registers.get(register.0),
            Some(RegisterRule::Offset(offset)) => {
                word(self.memory, cfa.wrapping_add_signed(offset))
            }
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => self.registers.get(other.0),
            Some(RegisterRule::Expression(expression)) => {
                word(self.memory, self.value(&expression, Some(cfa))?)
            }
            Some(RegisterRule::ValExpression(expression)) => self.value(&expression, Some(cfa)),
            Some(RegisterRule::Constant(value)) => Some(value),
            Some(_) => None,
        }
    }

    fn value<'a>(&self, expression: &UnwindExpression<usize>, start: Option<u64>) -> Option<u64>
    where
        S: UnwindSection<Slice<'a>>,
    {
        let expression = expression.get(self.section).ok()?;
        expression::value(
            expression,
            self.encoding,
            start,
            self.registers,
            self.memory,
        )
    }
}
