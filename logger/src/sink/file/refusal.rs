//! Why a chunk of a file cannot be had: what the caller does then depends on it. Knows nothing of
//! what is done.

use crate::sys::Errno;

/// Why a chunk cannot be had.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// The file has all the chunks it may have.
    Full,
    /// It was removed or cut short.
    Lost,
    /// This process has no descriptor of the file, and cannot open it by its name.
    OutOfReach,
    /// Another thread was in the way; the next try may succeed.
    Again,
    /// The system says no: no space, no quota, no permission.
    No(Errno),
}

impl Refusal {
    /// Why pages of a file were not made ready.
    pub fn of_pages(errno: Errno) -> Refusal {
        match errno {
            Errno(libc::EFAULT) => Refusal::Lost,
            errno => Refusal::No(errno),
        }
    }
}
