//! The three ways one and the same record can name things. Every record type is
//! written down once, generic over a [`Layer`]:
//!
//! | layer | strings, threads | times | made by |
//! |---|---|---|---|
//! | [`Raw`] | references as they stand in the bytes | ticks | decoding |
//! | [`Resolved`] | looked up in the tables of the provider | ticks and nanoseconds | [`Resolver`](super::Resolver) |
//! | [`Plain`] | spelled out | ticks | the caller of a [`Writer`](super::Writer), which chooses the references |

use core::fmt::Debug;
use core::marker::PhantomData;
use std::borrow::Cow;

use super::argument::{Argument, Arguments};
use super::string::StringRef;
use super::thread::{Koid, ProcessRef, Thread, ThreadRef};
use super::time::{Ticks, Time};

/// How a record names strings, threads and times. Sealed by its use: the codec knows
/// the layers of this module only.
pub trait Layer: Clone + Debug + PartialEq {
    /// A string that the format lets a record refer to by index.
    type Text: Clone + Debug + PartialEq;
    /// A string that the format always spells out in its record.
    type Spelled: Clone + Debug + PartialEq;
    /// A thread and its process.
    type Thread: Clone + Debug + PartialEq;
    /// A process alone.
    type Process: Clone + Debug + PartialEq;
    /// A point in time.
    type Time: Clone + Debug + PartialEq;
    /// Uninterpreted bytes.
    type Bytes: Clone + Debug + PartialEq + Default;
    /// The arguments of a record, 15 at most.
    type Args: Clone + Debug + PartialEq + Default;
}

/// One step from a layer to another: what becomes of each thing that a record names.
/// [`Record::map`](super::Record) calls these methods in the order in which the format
/// lists the parts of a record.
///
/// `what` names the part for a warning.
pub(crate) trait Layers<From: Layer> {
    /// The layer that it leads to.
    type To: Layer;
    /// Why a record cannot be mapped.
    type Error;

    fn text(
        &mut self,
        text: From::Text,
        what: &'static str,
    ) -> Result<<Self::To as Layer>::Text, Self::Error>;

    /// The name of a kernel object, which may be any bytes.
    fn object_name(&mut self, name: From::Text) -> Result<<Self::To as Layer>::Text, Self::Error> {
        self.text(name, "object name")
    }

    fn spelled(&mut self, text: From::Spelled, what: &'static str) -> <Self::To as Layer>::Spelled;

    fn thread(&mut self, thread: From::Thread) -> Result<<Self::To as Layer>::Thread, Self::Error>;

    fn process(&mut self, process: From::Process) -> <Self::To as Layer>::Process;

    fn time(&mut self, time: From::Time) -> <Self::To as Layer>::Time;

    fn bytes(&mut self, bytes: From::Bytes) -> <Self::To as Layer>::Bytes;

    /// Called at most once for a record: each has one list of arguments.
    fn args(&mut self, args: From::Args) -> Result<<Self::To as Layer>::Args, Self::Error>;
}

/// Nothing is kept: where a step leads that only looks at a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nothing;

impl Layer for Nothing {
    type Text = ();
    type Spelled = ();
    type Thread = ();
    type Process = ();
    type Time = ();
    type Bytes = ();
    type Args = ();
}

/// As it stands in the bytes, borrowing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(PhantomData<&'a [u8]>);

impl<'a> Layer for Raw<'a> {
    type Text = StringRef<'a>;
    type Spelled = &'a [u8];
    type Thread = ThreadRef;
    type Process = ProcessRef;
    type Time = Ticks;
    type Bytes = &'a [u8];
    type Args = Arguments<'a>;
}

/// With every reference looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'a>(PhantomData<&'a [u8]>);

impl<'a> Layer for Resolved<'a> {
    type Text = Cow<'a, str>;
    type Spelled = Cow<'a, str>;
    type Thread = Thread;
    type Process = Koid;
    type Time = Time;
    type Bytes = &'a [u8];
    type Args = Vec<Argument<'a, Cow<'a, str>>>;
}

/// With everything spelled out, for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<'a>(PhantomData<&'a str>);

impl<'a> Layer for Plain<'a> {
    type Text = &'a str;
    type Spelled = &'a str;
    type Thread = Thread;
    type Process = Koid;
    type Time = Ticks;
    type Bytes = &'a [u8];
    type Args = &'a [Argument<'a, &'a str>];
}
