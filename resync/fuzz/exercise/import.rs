//! Bytes as a trace in the Fuchsia trace format: the log that is made of it is clean,
//! whatever they are.

use logdef_resync::import::fxt;
use logdef_resync::{Input, Recovery};

/// Panics if something does not hold.
pub fn exercise(bytes: &[u8]) {
    let trace = Input::from_bytes("trace", bytes.to_vec());
    let mut log = Vec::new();
    let imported = fxt::import(&trace, &mut log).expect("memory can be read and written");
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).expect("memory can be read");
    let account = &recovery.accounts()[0];
    assert!(recovery.is_clean(), "{account:?}");
    assert_eq!(account.malformed, 0);
    assert_eq!(account.bytes, imported.written.bytes);
    assert_eq!(account.data(), imported.written.records);
    assert_eq!(recovery.tables().conflicts(), []);
}
