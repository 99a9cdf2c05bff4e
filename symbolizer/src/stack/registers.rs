//! The registers of a thread that a stack walk needs, by the numbers that DWARF gives them: those of the
//! System V ABI for x86_64, and of DWARF for the Arm 64-bit architecture.

use crate::names::address::AddressKind;
use crate::stack::{Memory, Step};

/// An architecture whose stacks can be walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Architecture {
    /// x86_64
    X86_64,
    /// aarch64
    Aarch64,
}

/// Registers that are known. An unknown one is not zero.
#[derive(Clone, Debug)]
pub struct Registers {
    architecture: Architecture,
    by_number: [Option<u64>; Registers::COUNT],
    instruction: Option<u64>,
}

/// Where DWARF's registers 0 to 15 of x86_64 stand in the kernel's `user_regs_struct`.
const X86_64: [usize; 16] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];
/// Where the instruction pointer stands there.
const X86_64_RIP: usize = 16;
/// The bits of a pointer of aarch64 that are not a signature, where addresses have 48 bits.
const UNSIGNED: u64 = (1 << 48) - 1;

impl Registers {
    /// Registers with numbers: of aarch64 there are most, 31 and the stack pointer.
    const COUNT: usize = 32;

    /// Registers as the kernel writes them into a core dump: `user_regs_struct`, `user_pt_regs`.
    /// `None` if there are too few bytes.
    pub fn of_kernel(architecture: Architecture, bytes: &[u8]) -> Option<Registers> {
        let word = |index: usize| {
            let bytes = bytes.get(index * 8..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let mut by_number = [None; Registers::COUNT];
        let instruction = match architecture {
            Architecture::X86_64 => {
                for (number, index) in X86_64.into_iter().enumerate() {
                    by_number[number] = Some(word(index)?);
                }
                word(X86_64_RIP)?
            }
            Architecture::Aarch64 => {
                for (number, register) in by_number.iter_mut().enumerate() {
                    *register = Some(word(number)?);
                }
                word(Registers::COUNT)?
            }
        };
        Some(Registers {
            architecture,
            by_number,
            instruction: Some(instruction),
        })
    }

    /// The address of the next instruction.
    pub fn instruction(&self) -> Option<u64> {
        self.instruction
    }

    /// The stack pointer.
    pub fn stack_pointer(&self) -> Option<u64> {
        self.get(self.stack_pointer_number())
    }

    pub(super) fn get(&self, number: u16) -> Option<u64> {
        *self.by_number.get(usize::from(number))?
    }

    pub(super) fn set(&mut self, number: u16, value: Option<u64>) {
        if let Some(register) = self.by_number.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    /// Numbers of all registers that can be restored.
    pub(super) fn numbers() -> impl Iterator<Item = u16> {
        0..Registers::COUNT as u16
    }

    pub(super) fn stack_pointer_number(&self) -> u16 {
        match self.architecture {
            Architecture::X86_64 => 7,
            Architecture::Aarch64 => 31,
        }
    }

    fn frame_pointer_number(&self) -> u16 {
        match self.architecture {
            Architecture::X86_64 => 6,
            Architecture::Aarch64 => 29,
        }
    }

    /// Where the next instruction is, as a return address was found.
    pub(super) fn return_to(&mut self, address: Option<u64>) {
        self.instruction = match self.architecture {
            Architecture::X86_64 => address,
            // Functions may sign the addresses that they return to in their upper bits.
            Architecture::Aarch64 => address.map(|address| address & UNSIGNED),
        };
    }

    /// Whether these are of a frame above that of `inner`. A function that keeps nothing on the stack
    /// has one of no length, which only the innermost can be.
    pub(super) fn is_above(&self, inner: &Registers, is_innermost: bool) -> bool {
        match (self.stack_pointer(), inner.stack_pointer()) {
            (Some(outer), Some(inner)) => outer > inner || is_innermost && outer == inner,
            _ => false,
        }
    }

    /// The caller, where no call frame information is: of the innermost function, which may have been
    /// called at an address without code, the one that the call left behind; of others by the frame
    /// pointer.
    pub(super) fn without_call_frame(
        &self,
        kind: AddressKind,
        memory: &dyn Memory,
    ) -> Option<Step> {
        let has_no_code = kind == AddressKind::Exact && self.instruction.is_none_or(|at| at < 4096);
        let mut registers = self.clone();
        if has_no_code {
            match self.architecture {
                Architecture::X86_64 => {
                    let at = self.stack_pointer()?;
                    registers.return_to(Some(word(memory, at)?));
                    registers.set(self.stack_pointer_number(), Some(at.checked_add(8)?));
                }
                Architecture::Aarch64 => registers.return_to(self.get(30)),
            }
        } else {
            let frame = self.get(self.frame_pointer_number())?;
            if frame < self.stack_pointer()? {
                return None;
            }
            registers.return_to(Some(word(memory, frame.checked_add(8)?)?));
            registers.set(self.frame_pointer_number(), Some(word(memory, frame)?));
            registers.set(self.stack_pointer_number(), Some(frame.checked_add(16)?));
        }
        Some(Step {
            registers,
            interrupted: false,
        })
    }
}

/// The address-sized number at an address.
pub(super) fn word(memory: &dyn Memory, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read(address, &mut bytes)?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers in the order of `struct user_regs_struct` of <sys/user.h>, each the index of it.
    #[test]
    fn registers_of_x86_64_have_the_numbers_of_its_abi() {
        let bytes: Vec<u8> = (0..27u64).flat_map(u64::to_le_bytes).collect();
        let registers = Registers::of_kernel(Architecture::X86_64, &bytes).unwrap();
        let names = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss";
        let index = |name| {
            names
                .split(' ')
                .position(|it| it == name)
                .map(|it| it as u64)
        };
        // Figure 3.36 of the System V ABI.
        let numbered = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15";
        for (number, name) in (0..).zip(numbered.split(' ')) {
            assert_eq!(registers.get(number), index(name), "{name}");
        }
        assert_eq!(registers.instruction(), index("rip"));
        assert_eq!(registers.stack_pointer(), index("rsp"));
        assert!(Registers::of_kernel(Architecture::X86_64, &bytes[..100]).is_none());
    }

    #[test]
    fn registers_of_aarch64_are_in_the_order_of_their_numbers() {
        let bytes: Vec<u8> = (0..34u64).flat_map(u64::to_le_bytes).collect();
        let registers = Registers::of_kernel(Architecture::Aarch64, &bytes).unwrap();
        assert_eq!((registers.get(0), registers.get(30)), (Some(0), Some(30)));
        assert_eq!(registers.stack_pointer(), Some(31));
        assert_eq!(registers.instruction(), Some(32));
    }

    #[test]
    fn a_signature_is_no_part_of_an_address() {
        let bytes = [0; 34 * 8];
        let mut registers = Registers::of_kernel(Architecture::Aarch64, &bytes).unwrap();
        registers.return_to(Some(0x002a_aaaa_1234_5678));
        assert_eq!(registers.instruction(), Some(0x0000_aaaa_1234_5678));
    }
}
