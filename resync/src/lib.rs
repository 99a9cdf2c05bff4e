//! The reader of crash-resilient binary logs: of a damaged log it loses only the records that
//! were hit, reports which bytes and how many records these are, and reads the rest.
//!
//! ```no_run
//! use logdef_resync::Log;
//!
//! let log = Log::open("app.log")?;
//! for record in log.records() {
//!     let record = record?;
//!     if record.get("ms").and_then(|ms| ms.as_f64()) > Some(500.0) {
//!         println!("{}: {record}", record.target().unwrap_or("?"));
//!     }
//! }
//! println!("{} records are missing", log.losses().missing);
//! # Ok::<(), logdef_resync::Error>(())
//! ```
//!
//! [`Log`] is all that most programs need; `examples/` has three of them: records by call site, the last ones
//! that a condition holds for, and what was lost. It is made of these stages, which copy nothing:
//!
//! ```text
//!             Items              Recovery               Merge         Resolver
//! Input ---> frames, gaps ---> accounts, tables ---> one sequence ---> texts ---> render
//!   ^         (scan)              (recover)            (merge)        (resolve)   export
//!   '---- files, streams, compressed or not; not mapped           Images: strings and
//!                                                                  functions of programs
//! ```
//!
//! - [`Items`] walks an input and gives each byte to a frame or a [`Gap`]:
//!   padding, torn, or damage. Work is linear and memory bounded on any input.
//! - [`Recovery`] reads all inputs once: an [`Account`] of each, the [`Tables`]
//!   of all logdefs, what each thread lost, which frames are suspect.
//! - [`Merge`] gives the records of all inputs ordered by time, no thread's order
//!   broken, none twice.
//! - [`Survey`] looks at the heads of chunks only: a [`Merge`] from it gives the first
//!   record of a log of any length at once, and [`BackgroundMerge`] lets a merge run on
//!   another core than what is done with the records.
//! - [`Resolver`] turns a record's numbers into texts, from the tables or, where a
//!   logdef is lost, from the executable ([`Images`]).
//! - [`rewrite`] writes clean or joined logs, [`split`] cuts inputs for parallel
//!   readers, [`Follow`] reads a log that is being written, [`export`] feeds other
//!   tools, [`import`] makes logs of what others wrote, [`render`] is `printf`.
//!
//! Nothing here panics on, hangs on, or takes memory out of proportion to a hostile
//! file. Texts come out unchanged: the caller escapes control characters when it prints them.
//!
//! ```
//! use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
//! use logdef_wire::{Record, frame, record::Data};
//!
//! // Two records, the bytes between them destroyed.
//! let mut bytes = vec![0; 512];
//! let len = frame::encode(&mut bytes, |encoder| {
//!     let data = Data { format_text: Some(b"still here"), ..Data::default() };
//!     data.encode(encoder)
//! });
//! bytes.truncate(len.unwrap());
//! let bytes = [&bytes[..], b"\xff\xff\xff", &bytes].concat();
//!
//! let inputs = [Input::from_bytes("example", bytes)];
//! let recovery = Recovery::of(&inputs)?;
//! assert_eq!(recovery.accounts()[0].damage.bytes, 3);
//!
//! let mut resolver = Resolver::without_images(recovery.tables());
//! let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
//! let mut text = Vec::new();
//! while let Some(event) = merge.next()? {
//!     match event {
//!         Event::Frame(frame) => {
//!             if let Some(Record::Data(data)) = frame.record() {
//!                 resolver.resolve(&data, frame.place).message(&mut text);
//!                 text.push(b'\n');
//!             }
//!         }
//!         Event::Gap(_, report) => text.extend(format!("{}\n", report.gap.kind).bytes()),
//!         _ => {}
//!     }
//! }
//! # assert!(text.ends_with(b"still here\n"));
//! # Ok::<(), logdef_resync::Error>(())
//! ```
#![forbid(unsafe_code)]

// The stages, each of which uses only those before it: tests/suite/stages.rs reads the imports.
mod read;
pub mod render;

mod recover;

mod merge;

mod resolve;

pub mod records;

pub mod export;

pub mod rewrite;

pub mod import;

mod follow;

pub use follow::{Follow, News, begins_as_log, family, is_log, may_be_file};
pub use merge::background::{BackgroundMerge, Batch};
pub use merge::progress::MergedSoFar;
pub use merge::sieve::Sieve;
pub use merge::{Event, Merge, MergeOptions, MergedFrame};
pub use read::compression::SUFFIXES as COMPRESSED;
pub use read::freeze::freeze;
pub use read::gap::{Damage, Gap, GapKind, Torn};
pub use read::input::{Error, Input, Source};
pub use read::item::{FrameItem, Item, Items};
pub use read::moved::move_in_time;
pub use read::scan::Work;
pub use read::split;
pub use read::temporary::Temporary;
pub use read::unmask::{decode, unmasked};
pub use records::{Log, Records};
pub use recover::account::{Account, GapReport, Malformed, Tally, Times};
pub use recover::losses::Losses;
pub use recover::pieces::Piece;
pub use recover::recovery::{Options, Recovery};
pub use recover::standing::{Standing, Standings};
pub use recover::survey::Survey;
pub use recover::tables::{
    BacktraceEntry, Conflict, ContextEntry, ContextKeys, Image, ModuleEntry, Origin, Place,
    Provenance, RunInfo, StringId, StringLookup, Tables, Thread,
};
pub use recover::thread_report::{HoleReport, ThreadReport};
pub use resolve::call_site::CallSite;
pub use resolve::images::{Function, Images, LocatedImages, NoImages};
pub use resolve::resolved::{Resolved, Text, key_of, push_value};
pub use resolve::resolver::Resolver;
pub use resolve::spans::{OpenSpan, Spans, span_id};
pub use resolve::stack::StackEntry;

pub use logdef_wire::record::{Glance, Peek};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
