//! Bytes as a trace in the Fuchsia trace format: the log that is made of it is whole,
//! whatever they are, and clean unless something of them could not be read or says that it is not.

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
    let damage = (
        account.damage.count,
        account.torn.count,
        account.holes.len(),
    );
    assert_eq!(damage, (0, 0, 0), "{account:?}");
    let losses = recovery.losses();
    if imported.written.records > 0 {
        assert!(losses.damaged >= imported.gap_bytes, "{losses}");
    }
    assert_eq!(account.malformed, 0);
    assert_eq!(account.bytes, imported.written.bytes);
    assert_eq!(account.data(), imported.written.records);
    assert_eq!(recovery.tables().conflicts(), []);
}
