//! Strings and backtraces whose logdefs are lost, contradict each other, or are those of others.

use super::*;

/// An image that has every string that is asked for.
#[derive(Debug)]
struct AllStrings;

impl logdef_resync::Images for AllStrings {
    fn string_at(&mut self, _: &logdef_resync::Image, address: Svma) -> Option<Vec<u8>> {
        Some(format!("string at {address:#x}").into_bytes())
    }

    fn functions(
        &mut self,
        _: &logdef_resync::Image,
        _: Svma,
        _: bool,
    ) -> std::sync::Arc<[logdef_resync::Function]> {
        Default::default()
    }
}

#[test]
fn lost_strings_are_rebuilt_from_the_image_and_then_logged() {
    let mut log = Log::new();
    log.preamble(Run(7), None).data(Run(7), 0, 0, EPOCH, b"x");
    let inputs = [input(&log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let data = synth::data(Run(7), 0, 0, EPOCH);
    let place = logdef_resync::Place {
        input: 0,
        offset: 99,
    };
    let mut without = Resolver::without_images(recovery.tables());
    let mut text = Vec::new();
    without.resolve(&data, place).message(&mut text);
    assert_eq!(text, b"?0x2008");
    let mut with = Resolver::new(recovery.tables(), AllStrings);
    let resolved = with.resolve(&data, place);
    assert_eq!(
        resolved.format.provenance,
        logdef_resync::Provenance::Rebuilt
    );
    let mut text = Vec::new();
    resolved.message(&mut text);
    assert_eq!(text, b"string at 0x2008");

    let mut clean = Vec::new();
    let written = rewrite::recover(&inputs, &recovery, &mut AllStrings, &mut clean).unwrap();
    assert_eq!(written.rebuilt, 2);
    let inputs = [Input::from_bytes("clean", clean.clone())];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut again = Vec::new();
    let written = rewrite::recover(&inputs, &recovery, &mut AllStrings, &mut again).unwrap();
    assert_eq!((written.rebuilt, again), (0, clean));
    let kind = logdef_wire::Tag::NOTE.0 as usize;
    assert_eq!(recovery.accounts()[0].records[kind], 1);
}

#[test]
fn two_magics_in_one_file_keep_their_strings_apart() {
    let mut log = Log::new();
    for (magic, text) in [(Magic(1), &b"one %d"[..]), (Magic(2), b"two %d")] {
        log.record(&Record::StringLogdef(StringLogdef {
            magic: Some(magic),
            address: Some(Svma(0x2008)),
            string: Some(text),
            run: Some(Run(7)),
            ..StringLogdef::default()
        }));
    }
    let recovery = recover(&log);
    let mut resolver = Resolver::without_images(recovery.tables());
    for (magic, text) in [
        (Magic(1), "one %!d(missing)"),
        (Magic(2), "two %!d(missing)"),
    ] {
        let mut data = synth::data(Run(7), 0, 0, EPOCH);
        data.magic = Some(magic);
        let mut message = Vec::new();
        let place = logdef_resync::Place {
            input: 0,
            offset: 0,
        };
        resolver.resolve(&data, place).message(&mut message);
        assert_eq!(String::from_utf8_lossy(&message), text);
    }
}

#[test]
fn a_backtrace_is_named_by_what_the_process_knew() {
    let mut log = Log::new();
    log.preamble(Run(7), None).backtrace(Run(7), Avma(0x7000));
    let objects = [0xcd, 0x70, 0x00, 0x05];
    let addresses = logdef_wire::Array::from_objects(2, &objects).unwrap();
    let recovery = recover(&log);
    let locator = logdef_symbolizer::Locator::new(logdef_symbolizer::Options::default());
    let mut resolver = Resolver::new(recovery.tables(), LocatedImages::new(locator));
    let data = Data {
        backtrace: Some(addresses),
        ..synth::data(Run(7), 0, 0, EPOCH)
    };
    let place = logdef_resync::Place {
        input: 0,
        offset: 9999,
    };
    let stack = resolver.backtrace(&data, place);
    assert_eq!(
        (stack[0].address, stack[1].address),
        (Avma(0x7000), Avma(5))
    );
    let logged = stack[0].logged.as_ref().unwrap();
    assert_eq!(logged.fname.as_deref(), Some(&b"/lib/libexample.so"[..]));
    assert!(stack[1].logged.is_none());
}
