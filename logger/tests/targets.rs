//! A target stands in the place of a call's module, in every macro.

use logdef::testing;
use logdef::*;
use std::time::Duration;

macro_rules! wrapped {
    ($target:literal, $($rest:tt)*) => { logdef!(target: $target, Info, $($rest)*) };
}

fn log_by_each_macro() {
    let target = "argument";
    logdef!(target: "net", Info, "{target}", target = target);
    logdef!(target: concat!("ne", "t"), Info, "%d", 1);
    wrapped!("net", "wrapped {}", 2);
    logdef_at!(target: "net", Level::WARN, "at {}", 3);
    logdef_attach!(target: "net", Info, "shown", "%d", 4);
    logdef_backtrace!(target: "net", Info, "backtrace");
    logdef_once!(target: "net", Info, "once");
    logdef_first_n!(target: "net", 3, Info, "first");
    logdef_every_n!(target: "net", 1, Info, "every");
    logdef_at_most_every!(target: "net", Duration::ZERO, Info, "at most");
    logdef_begin!(target: "net", Info, "begin");
    logdef_end!(target: "net", Info);
    logdef_async_begin!(target: "net", 7, Info, "begin {}", 5);
    logdef_async_end!(target: "net", 7, Info);
    logdef_counter!(target: "net", Info, "depth %d", 6);
    let _span = logdef_span!(target: "net", Info, "span");
}

#[test]
fn a_target_stands_in_the_place_of_the_module() {
    let logged = testing::capture();
    log_by_each_macro();
    let records = logged.records();
    assert_eq!(records.len(), 17, "{records:#?}");
    for record in &records {
        assert_eq!(record.target(), "net", "{record}");
        assert_eq!(record.module(), module_path!(), "{record}");
    }
    drop(logged);
    let logged = testing::capture();
    set_filter("trace,net=off").unwrap();
    log_by_each_macro();
    assert!(!enabled!(target: "net", Fatal) && enabled!(Info));
    logdef!(Info, "no target");
    set_filter("trace").unwrap();
    assert_eq!(logged.messages(), ["no target"]);
    assert_eq!(logged.records()[0].target(), module_path!());
}
