//! What holds for the source of the whole workspace: which package uses which, which
//! libraries come with it, how long its functions and files are.

mod arrows;
mod libraries;
mod shape;
mod source;
