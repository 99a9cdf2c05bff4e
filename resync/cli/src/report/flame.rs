//! A flame graph of the stacks that logged: a box for each function, as wide as the records that
//! came through it, the outermost below.

use crate::report::redact::Redact;
use crate::show::draw::Svg;
use crate::show::folded::Folded;
use crate::show::losses;
use std::collections::BTreeMap;

const WIDTH: usize = 960;
const ROW: usize = 16;
/// Rows at most; what is above them is left out.
const DEPTH: usize = 48;
/// Functions of all stacks that have a place of their own, and boxes that are drawn.
const NODES: usize = 1 << 16;
const BOXES: usize = 1_500;
/// Units that a character takes; a box has as much of its name as fits.
const CHARACTER: usize = 6;

/// Functions by name, with the records that came through them.
#[derive(Default)]
struct Node {
    records: u64,
    callees: BTreeMap<String, Node>,
}

/// The picture; `None` without stacks.
pub fn svg(stacks: &Folded, redact: &Redact) -> Option<String> {
    let (mut root, mut nodes) = (Node::default(), 0);
    for (stack, records) in stacks.iter() {
        root.records += records;
        let mut node = &mut root;
        for part in stack.split(|byte| *byte == b';').take(DEPTH) {
            let name = String::from_utf8_lossy(&redact.text(part)).into_owned();
            if !node.callees.contains_key(&name) {
                if nodes >= NODES {
                    break;
                }
                nodes += 1;
            }
            node = node.callees.entry(name).or_default();
            node.records += records;
        }
    }
    if root.records == 0 {
        return None;
    }
    let rows = root.depth();
    let svg = Svg::new(WIDTH + 20, rows * ROW + 20, "flame graph of the backtraces");
    let mut picture = Picture {
        rows,
        records: root.records,
        boxes: 0,
        svg,
    };
    picture.draw(&root, 10, 0);
    Some(picture.svg.finish())
}

impl Node {
    fn depth(&self) -> usize {
        let deepest = self.callees.values().map(|node| node.depth() + 1).max();
        deepest.unwrap_or(0)
    }
}

struct Picture {
    rows: usize,
    /// Records of all stacks.
    records: u64,
    boxes: usize,
    svg: Svg,
}

impl Picture {
    /// Draws what `node` calls, above it, from `x` on. [`DEPTH`] bounds the recursion.
    fn draw(&mut self, node: &Node, mut x: usize, row: usize) {
        for (name, callee) in &node.callees {
            let share = u128::from(callee.records) * WIDTH as u128 / u128::from(self.records);
            let width = share as usize;
            if width == 0 || self.boxes >= BOXES {
                continue;
            }
            self.boxes += 1;
            let y = (self.rows - row - 1) * ROW + 10;
            let tip = format!("{name}: {}", losses::count(callee.records, "record"));
            let shown_width = width.saturating_sub(1).max(1);
            self.svg.rect(x, y, shown_width, ROW - 1, fill(name), &tip);
            let fits = width.saturating_sub(6) / CHARACTER;
            if fits > 2 {
                let shown: String = name.chars().take(fits).collect();
                self.svg.dark_label(x + 3, y + 11, &shown);
            }
            self.draw(callee, x, row + 1);
            x += width;
        }
    }
}

/// The same colour for the same name.
fn fill(name: &str) -> &'static str {
    const FILLS: [&str; 6] = [
        "#e8a15c", "#e0b45a", "#d99367", "#e6bd7a", "#dba04a", "#e3a97c",
    ];
    let sum = name.bytes().fold(0_usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    FILLS[sum % FILLS.len()]
}
