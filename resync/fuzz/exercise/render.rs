//! A format up to the first NUL, then arguments: some text, bounded, and the same the
//! short way and the long way.

use logdef_resync::render::{CompiledFormat, MAX_TEXT, MAX_USES};
use logdef_wire::Value;
use logdef_wire::msgpack::Decoder;
use logdef_wire::printf::{Count, Directives, Flags};

/// Panics if something does not hold.
pub fn exercise(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (format, objects) = bytes.split_at(end.unwrap_or(bytes.len()));
    let mut decoder = Decoder::new(objects.get(1..).unwrap_or(&[]));
    let mut args = Vec::new();
    while let Ok(value) = decoder.value() {
        args.push(value);
    }
    let text = render(format, &args);
    let strings: usize = args
        .iter()
        .filter_map(|arg| arg.as_raw())
        .map(<[u8]>::len)
        .sum();
    let bound = format.len() + MAX_USES * strings + MAX_TEXT + 64;
    assert!(text.len() <= bound, "{} bytes", text.len());

    // Text that is cut is cut between directives, which may be of other lengths then.
    if text.len() < MAX_TEXT / 2 {
        assert_eq!(text, render(&the_long_way(format), &args));
    }
}

fn render(format: &[u8], args: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    CompiledFormat::new(format).render(args, &mut out);
    out
}

/// The format with a width of 1 wherever that changes nothing.
fn the_long_way(format: &[u8]) -> Vec<u8> {
    let mut long = Vec::new();
    let mut from = 0;
    for directive in Directives::new(format) {
        let text = &format[directive.start..directive.end];
        let is_plain = directive.flags == Flags::default()
            && directive.width == Count::None
            && directive.precision == Count::None
            && directive.class().is_some();
        // An empty string has a width too.
        let is_number = matches!(directive.conversion.0, b'd' | b'i' | b'u' | b'f');
        if is_plain && is_number {
            let argument = text.iter().position(|byte| *byte == b'$');
            let at = directive.start + argument.map_or(1, |dollar| dollar + 1);
            long.extend_from_slice(&format[from..at]);
            long.push(b'1');
            from = at;
        }
    }
    long.extend_from_slice(&format[from..]);
    long
}
