//! What an address of code stands for. Load biases belong to the callers, who know which run an
//! address came from.

use logdef_wire::Svma;

/// What an address of code says about where the program was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressKind {
    /// The address an instruction was at: the innermost stack frame of a signal, or a symbol.
    Exact,
    /// The address a call returns to. The call itself ends one byte before, and after a call that
    /// never returns the next byte may already belong to another line or another function.
    ReturnAddress,
}

impl AddressKind {
    /// The address to look up: one byte back for a return address.
    pub(crate) fn probe(self, address: Svma) -> Svma {
        Svma(self.probe_at(address.0))
    }

    /// The same in a process.
    pub fn probe_at(self, address: u64) -> u64 {
        match self {
            AddressKind::Exact => address,
            AddressKind::ReturnAddress => address.saturating_sub(1),
        }
    }
}
