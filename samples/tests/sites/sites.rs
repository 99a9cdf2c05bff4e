//! Log calls in all places that Rust has for them. Behind each stands how it is listed.
use logdef::{logdef, logdef_backtrace};

mod depot {
    use logdef::logdef;

    #[inline(always)]
    pub fn inlined(pieces: u64) {
        logdef!(Debug, "%lu inlined", pieces); // DEBUG "%lu inlined" (unsigned) in sites::depot::inlined [sites::depot]
    }

    pub fn generic<T: Copy + Into<f64>>(weight: T) {
        logdef!(Info, "weighs %.1f", weight.into()); // INFO  "weighs %.1f" (double) in sites::depot::generic [sites::depot]
    }
}

struct Clerk;

impl Clerk {
    fn greet(&self, name: &str) {
        logdef_backtrace!(Warn, "%s is here, %c", name, 'x'); // WARN  "%s is here, %c" (string, char) in sites::Clerk::greet [sites], backtrace
    }
}

fn main() {
    let count = std::env::args().count() as u64;
    logdef!(Info, "%d of %p", -1, &raw const count); // INFO  "%d of %p" (int, pointer) in sites::main [sites]
    depot::inlined(count);
    depot::generic(1.0f32);
    depot::generic(7u8);
    Clerk.greet("anna");
    let closure = |width: i32| {
        logdef!(Error, "%*d", width, 5); // ERROR "%*d" (int, int) in sites::main::{{closure}} [sites]
    };
    closure(3);
    if count > 100 {
        logdef!(Fatal, "never reached"); // FATAL "never reached" () in sites::main [sites]
    }
}
