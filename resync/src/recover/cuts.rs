//! Where inputs had lost bytes when they were recovered: what they lose after that is in no account.
//! Knows offsets only.

use crate::read::input::{Error, Input};
use std::io;

/// The first byte of each input that was gone, if any.
#[derive(Debug, Default)]
pub(crate) struct Cuts(Vec<Option<u64>>);

impl Cuts {
    pub(crate) fn of(inputs: &[Input]) -> Cuts {
        Cuts(inputs.iter().map(Input::gone_from).collect())
    }

    /// An error about the first of the inputs that lost bytes since.
    pub(crate) fn check(&self, inputs: &[Input]) -> Result<(), Error> {
        for (before, input) in self.0.iter().zip(inputs) {
            let Some(now) = input.gone_from() else {
                continue;
            };
            if before.is_none_or(|before| now < before) {
                let why =
                    format!("it was cut while it was read: its bytes from {now:#x} on are gone");
                return Err(Error::new(input.name(), io::Error::other(why)));
            }
        }
        Ok(())
    }
}
