//! Records that a log quotes in a string, and which of them damage makes suspect.

use super::*;

/// Run 2's log, logged by run 1 with a writer that masks nothing, laid bare by
/// damage to the frame around it.
fn quoting(inner: &Log) -> Log {
    let mut body = vec![0x63, 0x81, 0x00, 0xdb];
    let tail = b"and more after it";
    body.extend(((inner.bytes.len() + tail.len()) as u32).to_be_bytes());
    body.extend(&inner.bytes);
    body.extend(tail);
    let mut log = Log::new();
    log.preamble(Run(1), None)
        .data(Run(1), 0, 0, EPOCH, b"before");
    let start = log.bytes.len();
    log.unmasked(&body);
    log.bytes[start + 3] ^= 1;
    log.data(Run(1), 0, 1, EPOCH + 1, b"after");
    log
}

#[test]
fn a_quoted_log_is_suspect_and_defines_nothing() {
    let mut inner = Log::new();
    inner
        .preamble(Run(2), None)
        .string(Run(2), Svma(0x2008), b"you are root");
    inner.data(Run(2), 0, 0, EPOCH, b"quoted");
    let log = quoting(&inner);
    let recovery = recover(&log);
    assert_eq!(recovery.accounts()[0].suspect, 3);
    assert_eq!(merged(&[&log]), [(1, 0, 0), (1, 0, 1)]);
    let found = recovery.tables().string(MAGIC, Svma(0x2008), Some(Run(1)));
    assert_eq!(found, StringLookup::Missing);
    let mut clean = Vec::new();
    let written = rewrite::recover(&[input(&log)], &recovery, &mut NoImages, &mut clean).unwrap();
    assert_eq!(written.left_out, 3);
}

#[test]
fn a_run_that_is_vouched_for_elsewhere_is_recovered() {
    let mut inner = Log::new();
    inner
        .preamble(Run(2), None)
        .data(Run(2), 0, 0, EPOCH, b"quoted");
    let quoting = quoting(&inner);
    let mut other = Log::new();
    other
        .preamble(Run(2), None)
        .data(Run(2), 0, 5, EPOCH, b"own");
    let inputs = [input(&quoting), input(&other)];
    let recovery = Recovery::of(&inputs).unwrap();
    assert_eq!(recovery.accounts()[0].suspect, 0);
    assert_eq!(merged(&[&quoting, &other]).len(), 4);
}

/// A quotation touches the damage that laid it bare: what stands between two frames of a
/// run that is vouched for is not a quotation.
#[test]
fn a_run_between_others_is_recovered_and_one_beside_damage_is_suspect() {
    let mut log = Log::new();
    log.data(Run(1), 0, 0, EPOCH, b"a").raw(b"?");
    log.data(Run(2), 0, 0, EPOCH, b"b");
    log.data(Run(3), 0, 0, EPOCH, b"c").raw(b"?");
    log.data(Run(1), 0, 1, EPOCH, b"d");
    log.data(Run(3), 0, 1, EPOCH, b"e");
    log.data(Run(1), 0, 2, EPOCH, b"f").raw(b"?");
    log.data(Run(4), 0, 0, EPOCH, b"g").raw(b"?");
    log.data(Run(1), 0, 3, EPOCH, b"h");
    // 1 vouches for 3, which then stands alone between two damages; 2 touches one of
    // them, and 4 both.
    assert_eq!(recover(&log).accounts()[0].suspect, 2);
    assert_eq!(merged(&[&log]).len(), 6);
}

#[test]
fn what_is_longer_than_a_frame_between_two_damages_is_recovered() {
    let between = |len: usize| {
        let mut log = Log::new();
        log.data(Run(1), 0, 0, EPOCH, b"a").raw(b"?");
        let end = log.bytes.len() + len;
        let mut records = 0;
        while log.bytes.len() < end {
            log.data(Run(2), 0, records, EPOCH, &[b'x'; 1000]);
            records += 1;
        }
        log.raw(b"?").data(Run(1), 0, 1, EPOCH, b"b");
        (records, recover(&log).accounts()[0].suspect)
    };
    let (records, suspect) = between(frame::MAX_BODY - 5000);
    assert_eq!(suspect, records);
    let (_, suspect) = between(frame::MAX_BODY + 1);
    assert_eq!(suspect, 0);
}

#[test]
fn where_no_run_is_vouched_for_all_are_recovered() {
    let mut log = Log::new();
    log.raw(b"?")
        .data(Run(1), 0, 0, EPOCH, b"a")
        .raw(b"??")
        .data(Run(2), 0, 0, EPOCH, b"b");
    log.raw(b"???").data(Run(1), 0, 1, EPOCH, b"c").raw(b"?");
    assert_eq!(recover(&log).accounts()[0].suspect, 0);
    assert_eq!(merged(&[&log]).len(), 3);
    // A record without a run belongs to no run, and no writer of ours wrote it.
    let mut log = Log::new();
    log.data(Run(1), 0, 0, EPOCH, b"a").raw(b"?");
    log.record(&Record::Data(Data::default()))
        .raw(b"?")
        .data(Run(1), 0, 1, EPOCH, b"b");
    assert_eq!(recover(&log).accounts()[0].data(), 2);
    assert_eq!(recover(&log).accounts()[0].suspect, 1);
}
