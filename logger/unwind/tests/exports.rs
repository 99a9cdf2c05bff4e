//! Names of exported symbols, before and after they are indexed. One test: what is
//! indexed stays so for the process.

use logdef_unwind::modules;

#[test]
fn nothing_is_known_before_indexing_and_dladdrs_answer_after() {
    let address = libc::getpid as *const () as usize;
    let module = modules::find(address).unwrap();
    assert_eq!(module.exported_symbol(address), None);
    assert!(module.index_exports());
    let symbol = module.exported_symbol(address).unwrap();
    assert_eq!(symbol.address, address);
    assert!(symbol.name == c"getpid" || symbol.name == c"__getpid");
    // Again, and from another copy of the module.
    assert!(modules::find(address + 1).unwrap().index_exports());
    assert_eq!(module.exported_symbol(address + 1), Some(symbol));
}
