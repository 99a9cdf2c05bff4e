//! What holds for the source of the whole workspace: which package uses which, which
//! libraries come with it, what its libraries offer, how long its functions and files are, and
//! its words.

mod api;
mod arrows;
mod comments;
mod language;
mod libraries;
mod packages;
mod paths;
mod shape;
mod skips;
mod source;
mod sources;
mod unsafe_code;
