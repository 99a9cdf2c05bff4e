//! Bytes as text with addresses and markup: what has no names stays as it was.
//!
//! ```text
//! symbolizer/fuzz/run.sh 60 text
//! ```

#![no_main]

use logdef_symbolizer::{
    AddressKind, Locator, MappedCode, MarkupFilter, Options, TextFilter, demangle,
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut markup = MarkupFilter::new(Locator::new(Options::default()));
    let mut addresses = TextFilter::new(Vec::new(), AddressKind::ReturnAddress)
        .with_images(Box::new(|path| {
            assert!(!path.is_empty() && !path.contains(char::is_whitespace));
            None
        }));
    for line in text.lines() {
        assert_eq!(addresses.line(line), line);
        markup.line(line);
        demangle(line);
    }
    for mapped in MappedCode::list(&text) {
        assert!(mapped.path.starts_with('/'));
    }
});
