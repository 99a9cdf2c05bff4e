//! System calls with safe faces, by what they are about: files, memory, signals, the
//! identity of the process, images. A room for unsafe; knows nothing of logs. All may be
//! called in a signal handler, unless a function says otherwise: none takes a lock or
//! allocates, and none changes more of the process than it says.
//!
//! What a log call may reach goes to the kernel directly: the C library's
//! functions of the same names are cancellation points, and a thread must not
//! be cancelled in the middle of a log call that promised not to unwind.

mod directory;
mod doorbell;
mod errno;
mod exit;
mod file;
mod identity;
mod limit;
mod loader;
mod map;
mod memory;
mod signal;
mod thread;
mod wait;

pub(crate) use directory::*;
pub(crate) use doorbell::*;
pub(crate) use errno::Errno;
use errno::checked;
pub(crate) use exit::at_exit;
pub(crate) use file::*;
pub(crate) use identity::*;
pub(crate) use limit::Limit;
pub(crate) use loader::*;
pub(crate) use map::*;
pub(crate) use memory::*;
pub(crate) use signal::*;
pub(crate) use thread::*;
pub(crate) use wait::*;
