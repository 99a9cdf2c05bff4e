//! `check --map`: a file as a row of cells, each coloured by the worst that
//! stands in its slice.

use crate::failure::Failure;
use crate::log::Log;
use crate::show::draw::Svg;
use crate::show::escape;
use crate::show::losses;
use anstyle::{AnsiColor, Style};
use logdef_resync::{Account, GapKind, Input, Item, Items};
use std::cmp::Reverse;
use std::fmt;
use std::io::Write;

/// Cells of a file: in a row, and rows at most; as few rows as show each frame.
const ROW: usize = 64;
const ROWS: usize = 16;
/// A cell in SVG, in units.
const CELL: usize = 10;

/// What stands in a slice; worse ones are greater.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
enum State {
    #[default]
    Padding,
    Frames,
    Torn,
    Damage,
}

impl State {
    const ALL: [State; 4] = [State::Frames, State::Padding, State::Torn, State::Damage];

    fn of(kind: GapKind) -> State {
        match kind {
            GapKind::Padding => State::Padding,
            GapKind::Torn(_) => State::Torn,
            _ => State::Damage,
        }
    }

    /// Each has a letter too, for pictures without colour.
    fn cell(self) -> char {
        match self {
            State::Padding => '·',
            State::Frames => '█',
            State::Torn => '▒',
            State::Damage => 'X',
        }
    }

    fn style(self) -> Style {
        match self {
            State::Padding => Style::new().dimmed(),
            State::Frames => AnsiColor::Green.on_default(),
            State::Torn => AnsiColor::Yellow.on_default(),
            State::Damage => AnsiColor::Red.on_default().bold(),
        }
    }

    fn fill(self) -> &'static str {
        match self {
            State::Padding => "#dddddd",
            State::Frames => "#4a9c5d",
            State::Torn => "#e0a92e",
            State::Damage => "#c9302c",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Padding => "padding",
            State::Frames => "records",
            State::Torn => "torn",
            State::Damage => "damage",
        })
    }
}

/// The slices of a file, all of one length but for the last.
struct Map {
    slice: u64,
    cells: Vec<State>,
}

impl Map {
    fn of(input: &Input, account: &Account) -> Result<Map, Failure> {
        let slice = account.bytes.div_ceil((ROW * ROWS) as u64).max(1);
        let cells = account.bytes.div_ceil(slice) as usize;
        let mut map = Map {
            slice,
            cells: vec![State::default(); cells],
        };
        if account.gaps_unlisted == 0 {
            let mut at = 0;
            for report in &account.gaps {
                let gap = &report.gap;
                map.mark(at, gap.offset, State::Frames);
                map.mark(gap.offset, gap.end(), State::of(gap.kind));
                at = gap.end();
            }
            map.mark(at, account.bytes, State::Frames);
            return Ok(map);
        }
        // Too many to be listed: they are looked at again.
        let mut items = Items::new(input);
        while let Some(item) = items.next()? {
            let state = match item {
                Item::Gap(gap) => State::of(gap.kind),
                _ => State::Frames,
            };
            map.mark(item.offset(), item.end(), state);
        }
        Ok(map)
    }

    fn mark(&mut self, from: u64, to: u64, state: State) {
        if from >= to {
            return;
        }
        let cells = (from / self.slice) as usize..=((to - 1) / self.slice) as usize;
        for cell in &mut self.cells[cells] {
            *cell = state.max(*cell);
        }
    }
}

/// Draws each file for a terminal.
pub fn text(log: &Log, color: bool, out: &mut Vec<u8>) -> Result<(), Failure> {
    for (input, account) in log.inputs.iter().zip(log.recovery.accounts()) {
        let map = Map::of(input, account)?;
        escape::push(head(account, &map).as_bytes(), out);
        out.push(b'\n');
        for (row, cells) in map.cells.chunks(ROW).enumerate() {
            let offset = (row * ROW) as u64 * map.slice;
            let _ = write!(out, "  {offset:#012x} ");
            for cells in cells.chunk_by(|a, b| a == b) {
                let style = if color {
                    cells[0].style()
                } else {
                    Style::new()
                };
                let run: String = cells.iter().map(|cell| cell.cell()).collect();
                let _ = write!(out, "{style}{run}{style:#}");
            }
            out.push(b'\n');
        }
    }
    let legend = State::ALL.map(|state| format!("{} {state}", state.cell()));
    let _ = writeln!(out, "  {}", legend.join("  "));
    Ok(())
}

/// Draws each file as one picture.
pub fn svg(log: &Log) -> Result<String, Failure> {
    worst_svg(log, usize::MAX, <[u8]>::to_vec)
}

/// Draws `most` of the files, those with the most damaged and torn bytes; `shown` is what is
/// shown of a name.
pub fn worst_svg(
    log: &Log,
    most: usize,
    shown: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<String, Failure> {
    let files = log.inputs.iter().zip(log.recovery.accounts());
    let mut files: Vec<_> = files.collect();
    if files.len() > most {
        files.sort_by_key(|(_, account)| Reverse((account.damage.bytes, account.torn.bytes)));
        files.truncate(most);
    }
    let mut maps = Vec::new();
    for (input, account) in files {
        maps.push((account, Map::of(input, account)?));
    }
    let rows = |map: &Map| map.cells.len().div_ceil(ROW);
    let height: usize = maps.iter().map(|(_, map)| rows(map) * CELL + 30).sum();
    let name = "what is in each slice of each file";
    let mut svg = Svg::new(ROW * CELL + 20, height + 30, name);
    let mut y = 10;
    for (account, map) in &maps {
        let head = shown(head(account, map).as_bytes());
        svg.label(10, y + 10, &String::from_utf8_lossy(&head));
        y += 16;
        for (number, cell) in map.cells.iter().enumerate() {
            let from = number as u64 * map.slice;
            let to = (from + map.slice).min(account.bytes);
            let tip = format!("{from:#x}..{to:#x}: {cell}");
            let (x, y) = (number % ROW * CELL + 10, number / ROW * CELL + y);
            svg.rect(x, y, CELL - 1, CELL - 1, cell.fill(), &tip);
        }
        y += rows(map) * CELL + 14;
    }
    for (number, state) in State::ALL.into_iter().enumerate() {
        let x = 10 + number * 90;
        svg.rect(x, y, CELL - 1, CELL - 1, state.fill(), &state.to_string());
        svg.label(x + 14, y + 9, &state.to_string());
    }
    Ok(svg.finish())
}

fn head(account: &Account, map: &Map) -> String {
    let (bytes, slice) = (account.bytes, map.slice);
    let bytes = losses::count(bytes, "byte");
    format!("{}: {bytes}, a cell is {slice}", account.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_the_worst_of_its_slice() {
        let mut map = Map {
            slice: 10,
            cells: vec![State::default(); 3],
        };
        map.mark(0, 15, State::Damage);
        map.mark(15, 20, State::Frames);
        map.mark(20, 29, State::Frames);
        map.mark(29, 30, State::Torn);
        assert_eq!(map.cells, [State::Damage, State::Damage, State::Torn]);
        map.mark(30, 30, State::Damage);
    }
}
