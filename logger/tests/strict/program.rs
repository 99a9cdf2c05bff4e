//! A program of the edition before, which takes no warning and no unsafe code of its own, in all
//! macros.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused_qualifications, unreachable_pub, single_use_lifetimes)]

use logdef::*;

fn main() {
    let logged = testing::capture();
    let (n, text, id) = (1, "text", 7u64);
    logdef!(Info, "{n} {} %", text);
    logdef!(Info, "%d %s", n, text);
    logdef!(Info, "keys", n = n, text = text);
    logdef!(target: "net", Info, "up");
    logdef_at!(Level::WARN, "at {}", Level::WARN);
    logdef_attach!(Info, "%s", "%d", text, n);
    logdef_backtrace!(Info, "stack");
    logdef_once!(Info, "once");
    logdef_first_n!(1, Info, "first");
    logdef_every_n!(0, Info, "every");
    logdef_at_most_every!(std::time::Duration::ZERO, Info, "most");
    logdef_begin!(Info, "b");
    logdef_end!(Info, "e");
    logdef_async_begin!(id, Info, "b");
    logdef_async_end!(id, Info, "e");
    drop(logdef_span!(Info, "span {n}"));
    logdef_counter!(Info, "c %d", n);
    assert!(enabled!(Info));
    assert_eq!(logged.messages().len(), 18);
}
