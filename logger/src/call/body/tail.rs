//! The fields at the end of a record that quick records may have too.

use super::InContext;
use super::out::{Out, SCALAR};
use super::pairs::{self, Pairs};
use logdef_wire::msgpack::OutOfRoom;
use logdef_wire::record::field;

/// The last of the optional fields, which records may have that are quick.
#[derive(Clone, Copy)]
pub(crate) struct Tail<'c> {
    pub kind: u8,
    /// The key that the word after the arguments is logged as.
    pub key: Option<(&'static str, u64)>,
    /// Those that the call has of its own.
    pub pairs: Pairs<'c>,
    pub context: InContext<'c>,
}

impl Tail<'_> {
    /// No field.
    pub const NONE: Tail<'static> = Tail {
        kind: 0,
        key: None,
        pairs: Pairs::NONE,
        context: InContext::None,
    };

    /// How many fields there may be.
    pub const MOST_FIELDS: u8 = 3;

    /// How many fields there are.
    #[inline(always)]
    pub fn fields(&self) -> u8 {
        u8::from(self.kind > 0) + u8::from(self.has_pairs()) + u8::from(self.names_context())
    }

    #[inline(always)]
    fn has_pairs(&self) -> bool {
        let is_spelled = matches!(self.context, InContext::Spelled(_));
        self.key.is_some() || self.pairs.len() > 0 || is_spelled
    }

    #[inline(always)]
    fn names_context(&self) -> bool {
        matches!(self.context, InContext::Named(_))
    }

    #[inline(always)]
    pub fn write(&self, out: &mut Out<'_>, bound: usize) -> Result<(), OutOfRoom> {
        if self.kind > 0 {
            out.need(2)?;
            // SAFETY: `need` found the room just above.
            unsafe { out.bytes([field::KIND, self.kind]) };
        }
        if self.has_pairs() {
            pairs::write(out, self, bound)?;
        }
        if let InContext::Named(id) = self.context {
            out.need(1 + SCALAR)?;
            // SAFETY: `need` found the room just above.
            unsafe {
                out.bytes([field::CONTEXT]);
                out.uint(id);
            }
        }
        Ok(())
    }
}
