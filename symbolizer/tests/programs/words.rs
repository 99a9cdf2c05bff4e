//! Iterator chains and closures, inlined when optimized.
use std::collections::BTreeMap;

#[inline(always)]
fn weight(word: &str) -> usize {
    word.bytes().map(|byte| usize::from(byte) & 7).sum()
}

#[inline(never)]
pub fn count<'a>(text: &'a str) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for word in text.split_whitespace().filter(|word| weight(word) > 2) {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn main() {
    let text = std::env::args().collect::<Vec<_>>().join(" ");
    let mut counts: Vec<_> = count(&text).into_iter().collect();
    counts.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), word.len()));
    for (word, count) in counts {
        println!("{count:5} {word}");
    }
}
