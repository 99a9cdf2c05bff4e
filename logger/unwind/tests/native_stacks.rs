//! Backtraces of C and C++ code without frame pointers, compared with libgcc's.

mod compiled;
mod oracle;

use std::cell::Cell;

use compiled::Library;

thread_local! {
    static VISITS: Cell<usize> = const { Cell::new(0) };
}

extern "C" fn visit() {
    VISITS.set(VISITS.get() + 1);
    oracle::assert_same_as_libgcc();
}

fn visits(library: &Library, name: &std::ffi::CStr) -> usize {
    VISITS.set(0);
    library.call(name, visit);
    VISITS.get()
}

#[test]
fn c_functions_of_all_shapes_are_walked_at_every_optimization() {
    for options in [
        ["-O0", "-fomit-frame-pointer"],
        ["-O1", "-fomit-frame-pointer"],
        ["-O2", "-fomit-frame-pointer"],
        ["-O3", "-march=x86-64-v3"],
        ["-Os", "-fno-omit-frame-pointer"],
    ] {
        if cfg!(not(target_arch = "x86_64")) && options[1].contains("x86") {
            continue;
        }
        let library = Library::of("gcc", "shapes.c", &options);
        assert_eq!(visits(&library, c"recursion"), 1);
        assert!(visits(&library, c"everything") > 30, "{options:?}");
    }
}

#[test]
fn c_functions_are_walked_when_clang_compiled_them() {
    if !compiled::skip::has("clang") {
        return;
    }
    // Without this option it compiles for the machine that it was built for.
    let target = format!("--target={}-linux-gnu", std::env::consts::ARCH);
    let options = [&*target, "-O2", "-fomit-frame-pointer"];
    let library = Library::of("clang", "shapes.c", &options);
    assert!(visits(&library, c"everything") > 30);
}

#[test]
fn cpp_destructors_and_handlers_are_walked_while_exceptions_fly() {
    if !compiled::skip::has("g++") {
        return;
    }
    for options in ["-O0", "-O2"] {
        let library = Library::of("g++", "exceptions.cc", &[options, "-fomit-frame-pointer"]);
        assert!(visits(&library, c"exceptions") > 20);
        assert!(visits(&library, c"containers") > 5);
    }
}

#[test]
fn a_function_that_keeps_its_frame_in_rbx_is_walked_from_far_below() {
    extern "C" fn far_below() {
        #[inline(never)]
        fn descend(depth: usize) -> usize {
            let room = std::hint::black_box([depth; 9]);
            if depth == 0 {
                visit();
            } else {
                descend(depth - 1);
            }
            std::hint::black_box(room)[1]
        }
        descend(20);
    }
    let library = Library::of("gcc", "shapes.c", &["-O2", "-fomit-frame-pointer"]);
    VISITS.set(0);
    library.call(c"frames_by_rbx", far_below);
    // There is such a function for x86_64 only.
    assert_eq!(VISITS.get(), 1 + usize::from(cfg!(target_arch = "x86_64")));
}
