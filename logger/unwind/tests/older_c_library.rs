//! Walks by the list of modules, as on musl or a glibc without
//! `_dl_find_object`: the same stacks, as long as the list is up to date.

mod compiled;
mod oracle;

use compiled::{Library, compile};
use logdef_unwind::modules;

extern "C" fn visit() {
    oracle::assert_same_as_libgcc();
}

#[test]
fn stacks_are_walked_by_the_list_of_modules() {
    modules::use_list();
    assert!(modules::find(visit as *const () as usize).is_some());
    let omit = "-fomit-frame-pointer";

    // Not on the list yet: its code is crossed by a guess, or not at all, and
    // nothing is made up.
    let path = compile("gcc", "shapes.c", &["-O2", omit]);
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the library is one of ours, whose constructors do nothing.
    let early = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    // SAFETY: a valid handle and name.
    let inside = unsafe { libc::dlsym(early, c"everything".as_ptr()) } as usize;
    assert!(modules::find(inside).is_none());
    assert!(modules::refresh());
    assert!(modules::find(inside).is_some_and(|module| module.contains(inside)));

    Library::open(&path).call(c"everything", visit);
    if compiled::skip::has("g++") {
        let exceptions = Library::of("g++", "exceptions.cc", &["-O2", omit]);
        exceptions.call(c"exceptions", visit);
        exceptions.call(c"containers", visit);
    }
    std::fs::remove_file(path).unwrap();

    // Another at the same place.
    for room in ["-DROOM=160", "-DROOM=320", "-DROOM=160"] {
        let library = Library::of("gcc", "layout.c", &["-O2", omit, room]);
        assert_eq!(library.call(c"through", visit), 1);
    }

    std::panic::set_hook(Box::new(|_| visit()));
    assert!(std::panic::catch_unwind(|| panic!("seen by the hook")).is_err());
    _ = std::panic::take_hook();
}
