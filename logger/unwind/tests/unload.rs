//! A library is unloaded and another one mapped at its place: what was learned
//! about the first must not be applied to the second. One test, since it counts
//! on where the next library is mapped.

mod compiled;
mod oracle;

use compiled::{Library, compile};

extern "C" fn visit() {
    oracle::assert_same_as_libgcc();
}

#[test]
fn a_library_at_the_place_of_another_is_walked_by_its_own_rules() {
    let options = |room| ["-O2", "-fomit-frame-pointer", room];
    let paths = ["-DROOM=160", "-DROOM=320"].map(|room| compile("gcc", "layout.c", &options(room)));
    let mut places = Vec::new();
    for path in paths.iter().cycle().take(6) {
        let library = Library::open(path);
        places.push(library.address(c"through"));
        assert_eq!(library.call(c"through", visit), 1);
        drop(library);
    }
    for path in paths {
        std::fs::remove_file(path).unwrap();
    }
    let is_reused = places.windows(2).any(|pair| pair[0] == pair[1]);
    // An emulator of another processor may take a new place for each.
    if cfg!(not(target_arch = "x86_64")) && !is_reused {
        return compiled::skip::skip("no place was used twice");
    }
    assert!(is_reused, "no place was used twice: {places:x?}");
}
