//! The table.

use crate::Result;
use crate::child::Mode;
use crate::peers::Peer;
use std::path::Path;

/// A peer's results.
pub struct Row {
    pub peer: &'static Peer,
    results: Vec<(Mode, usize, Result)>,
    lost: Vec<(usize, u64)>,
}

impl Row {
    pub fn new(peer: &'static Peer) -> Row {
        Row {
            peer,
            results: Vec::new(),
            lost: Vec::new(),
        }
    }

    pub fn add(&mut self, mode: Mode, threads: usize, result: Result) {
        self.results.push((mode, threads, result));
    }

    pub fn lost(&mut self, threads: usize, records: u64) {
        self.lost.push((threads, records));
    }

    /// The median of a figure over the rounds.
    fn median(&self, mode: Mode, threads: usize, figure: impl Fn(&Result) -> f64) -> String {
        let of = self
            .results
            .iter()
            .filter(|(m, t, _)| (*m, *t) == (mode, threads));
        let mut figures: Vec<f64> = of.map(|(_, _, result)| figure(result)).collect();
        figures.sort_by(f64::total_cmp);
        match figures.get(figures.len() / 2) {
            Some(figure) => grouped(figure.round() as u64),
            None => "-".into(),
        }
    }

    /// Median and range of what kills cost.
    fn kills(&self, threads: usize) -> String {
        let of = self.lost.iter().filter(|(t, _)| *t == threads);
        let mut lost: Vec<u64> = of.map(|(_, lost)| *lost).collect();
        lost.sort_unstable();
        match (lost.first(), lost.last()) {
            (Some(0), Some(0)) => "0".into(),
            (Some(least), Some(most)) => format!(
                "{} ({} to {})",
                grouped(lost[lost.len() / 2]),
                grouped(*least),
                grouped(*most)
            ),
            _ => "-".into(),
        }
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

type Column<'c> = (&'c str, &'c dyn Fn(&Row) -> String);

pub fn print(rows: &[Row], directory: &Path, size: u64) {
    let (kernel, file_system) = (read("/proc/sys/kernel/osrelease"), file_system(directory));
    println!("Linux {kernel}, {file_system}, {} MiB a run.\n", size >> 20);
    let at = |mode, threads, part: usize| {
        move |row: &Row| row.median(mode, threads, |result| result.latency[part])
    };
    let columns: &[Column] = &[
        ("peer", &|row| row.peer.name.into()),
        ("mean", &|row| row.median(Mode::Doubles, 1, |r| r.mean)),
        ("CPU", &|row| row.median(Mode::Doubles, 1, |r| r.cpu)),
        ("mean, 2 threads", &|row| {
            row.median(Mode::Doubles, 2, |r| r.mean)
        }),
        ("CPU, 2 threads", &|row| {
            row.median(Mode::Doubles, 2, |r| r.cpu)
        }),
        ("mean, string", &|row| {
            row.median(Mode::Strings, 1, |r| r.mean)
        }),
        ("CPU, string", &|row| {
            row.median(Mode::Strings, 1, |r| r.cpu)
        }),
        ("CPU, paced", &|row| row.median(Mode::Paced, 1, |r| r.cpu)),
        ("p50", &at(Mode::Latency, 1, 0)),
        ("p99", &at(Mode::Latency, 1, 1)),
        ("p99.9", &at(Mode::Latency, 1, 2)),
        ("p99.99", &at(Mode::Latency, 1, 3)),
        ("max", &at(Mode::Latency, 1, 4)),
        ("bytes", &|row| row.median(Mode::Doubles, 1, |r| r.bytes)),
        ("lost, 1 thread", &|row| row.kills(1)),
        ("lost, 4 threads", &|row| row.kills(4)),
    ];
    let line = |cells: Vec<String>| println!("| {} |", cells.join(" | "));
    line(columns.iter().map(|(name, _)| (*name).into()).collect());
    let rule = columns.iter().enumerate();
    line(
        rule.map(|(at, _)| if at == 0 { "---" } else { "--:" }.into())
            .collect(),
    );
    for row in rows {
        line(columns.iter().map(|(_, cell)| cell(row)).collect());
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .into()
}

/// The file system of a folder: that of the longest mount point above it.
fn file_system(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap();
    let mounts = read("/proc/self/mounts");
    let fields = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let above = fields.filter(|fields| directory.starts_with(fields[1]));
    let nearest = above.max_by_key(|fields| fields[1].len());
    nearest.map_or("an unknown file system".into(), |fields| fields[2].into())
}
