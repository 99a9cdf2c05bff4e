//! `perf-PID.map`: a line for each function, `START SIZE NAME`, the numbers hexadecimal.
//! Other lines are skipped, as is the end of one that was being written.

use super::{Function, MOST};

/// The functions of a list, in its order.
pub(super) fn parse(bytes: &[u8]) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if functions.len() < MOST
            && let Some(function) = parse_line(line, at, functions.len())
        {
            functions.push(function);
        }
        at += line.len();
    }
    functions
}

fn parse_line(line: &[u8], at: usize, made: usize) -> Option<Function> {
    let line = line.strip_suffix(b"\n")?;
    let (start, rest) = split_at_space(line)?;
    let (size, name) = split_at_space(rest)?;
    let start = hexadecimal(start)?;
    let size = hexadecimal(size)?;
    let end = at + line.len();
    (!name.is_empty()).then_some(Function {
        start,
        size,
        made: made.try_into().ok()?,
        name: u32::try_from(end - name.len()).ok()?..u32::try_from(end).ok()?,
        lines: 0..0,
    })
}

fn split_at_space(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    Some((&bytes[..space], &bytes[space + 1..]))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_contain_anything_and_other_lines_are_passed_over() {
        let text = b"7f00 2a LazyCompile:*f /srv/app.js:12:3\n\
                     nonsense\n\
                     \n\
                     0x10 0x20 with prefix\n\
                     10 20 \n\
                     10 20\n\
                     -1 20 negative\n\
                     ffffffffffffffff ffffffffffffffff \xffend\n\
                     30 10 torn";
        let found: Vec<_> = parse(text)
            .into_iter()
            .map(|it| {
                let name = &text[it.name.start as usize..it.name.end as usize];
                (it.start, it.size, name.to_vec())
            })
            .collect();
        assert_eq!(
            found,
            [
                (0x7f00, 0x2a, b"LazyCompile:*f /srv/app.js:12:3".to_vec()),
                (0x10, 0x20, b"with prefix".to_vec()),
                (u64::MAX, u64::MAX, b"\xffend".to_vec()),
            ]
        );
    }
}
