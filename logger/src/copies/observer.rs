//! An observer in one copy of the logger that is called with the records of another copy. A
//! room for unsafe.

use crate::copies::crossing::{Crossing, Text};
use crate::observer::{Observed, Observer};
use crate::sys;
use core::ptr;
use logdef_wire::Level;
use logdef_wire::record::Record;

/// An observer on its way: a function that is called for each record, and what it is
/// called with. No function means no observer.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ObserverOfCopy {
    level: u32,
    observe: Option<Observe>,
    context: *const (),
}

/// Called with a record: its body, its file, and its message.
type Observe = unsafe extern "C" fn(*const (), Text<'_>, Text<'_>, Text<'_>);

impl Crossing for Option<(Level, &'static dyn Observer)> {
    type As = ObserverOfCopy;

    fn lower(self) -> ObserverOfCopy {
        let Some((level, observer)) = self else {
            return ObserverOfCopy {
                level: 0,
                observe: None,
                context: ptr::null(),
            };
        };
        // The leader may call `observe` for as long as the process lives.
        sys::keep_loaded(observe as *const ());
        let context: &'static &'static dyn Observer = Box::leak(Box::new(observer));
        ObserverOfCopy {
            level: level.0.into(),
            observe: Some(observe),
            context: ptr::from_ref(context).cast(),
        }
    }

    unsafe fn lift(lowered: ObserverOfCopy) -> Self {
        let observer = Box::new(Foreign {
            observe: lowered.observe?,
            context: lowered.context,
        });
        let level = u8::try_from(lowered.level).unwrap_or(u8::MAX);
        Some((Level(level), Box::leak(observer)))
    }
}

/// Another copy's observer. Never freed: a thread may be telling it something.
struct Foreign {
    observe: Observe,
    context: *const (),
}

// SAFETY: the context leads to a `&'static dyn Observer`, which is `Sync`, and is read
// only.
unsafe impl Sync for Foreign {}

impl Observer for Foreign {
    fn observe(&self, record: &Observed<'_>) {
        let [body, file, message] = [record.body, record.file, record.message].map(Text::of);
        // SAFETY: function and context belong together, as `lower` made them, and what
        // is lent lives until the call is over.
        unsafe { (self.observe)(self.context, body, file, message) }
    }
}

unsafe extern "C" fn observe(
    context: *const (),
    body: Text<'_>,
    file: Text<'_>,
    message: Text<'_>,
) {
    // SAFETY: the context that `lower` made, which is never freed.
    let observer = unsafe { &*context.cast::<&'static dyn Observer>() };
    let body = body.bytes().unwrap_or_default();
    if let Ok(Record::Data(data)) = Record::decode(body) {
        observer.observe(&Observed {
            data,
            body,
            file: file.bytes().unwrap_or_default(),
            message: message.bytes().unwrap_or_default(),
        });
    }
}
