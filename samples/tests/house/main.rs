//! What holds for the source of the whole workspace: which package uses which, which
//! libraries come with it, how long its functions and files are, and its words.

mod arrows;
mod comments;
mod language;
mod libraries;
mod packages;
mod shape;
mod source;
