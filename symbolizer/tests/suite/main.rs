//! The symbolizer from outside, in one program: images of every kind, built with the
//! compilers at hand ([`support`]), and what other tools say of them. What counts the
//! bytes that its process reads or allocates is a program of its own.

#[path = "../support/mod.rs"]
mod support;

mod call_sites;
mod debug_files;
mod debuginfod;
mod distribution;
mod filters;
mod languages;
mod locate;
mod names;
mod oracle;
mod strings;
mod tools;
