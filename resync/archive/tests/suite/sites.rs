//! Sites that the shapes of records show are those that a look at each record finds.

use crate::made::{Numbers, push};
use arrow_array::RecordBatch;
use logdef_archive::{Batches, Table, sites};
use logdef_resync::{Input, NoImages, Options, Recovery};
use logdef_wire::msgpack::{Array, Encoder, OutOfRoom};
use logdef_wire::record::{Data, Glance};
use logdef_wire::{Level, Magic, Run, Sequence, Svma, ThreadNumber, Typed};
use std::ops::ControlFlow;

/// Kinds of values that stand at one place of a call. Those of the last two are of another type where others come
/// before them.
const FAMILIES: [&[u8]; 9] = [
    &[0],
    &[1, 2],
    &[3],
    &[4],
    &[5, 6],
    &[7],
    &[8],
    &[5, 0],
    &[1, 9],
];
const CLEAR: u64 = 7;

fn value(kind: u8, out: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
    match kind {
        0 => out.nil(),
        1 => out.uint(5),
        2 => out.int(-5),
        3 => out.float(0.5),
        4 => out.bool(true),
        5 => out.raw(b"text"),
        6 => out.raw(b"\xff"),
        7 => Typed::Printed(b"Some(7)").encode(out),
        8 => Typed::Bytes(b"bytes").encode(out),
        _ => out.uint(u64::MAX),
    }
}

/// A log of calls with two values of the families below one, by two threads whose clocks are set at random.
fn log(numbers: &mut Numbers, families: u64) -> Vec<u8> {
    let calls: Vec<_> = (0..4)
        .map(|_| [0; 2].map(|_| FAMILIES[numbers.next(families) as usize]))
        .collect();
    let mut log = Vec::new();
    for count in 0..60 {
        let call = numbers.next(4);
        let mut buffer = [0; 100];
        let mut args = Encoder::new(&mut buffer);
        for kinds in calls[call as usize] {
            let kind = kinds[numbers.next(kinds.len() as u64) as usize];
            value(kind, &mut args).unwrap();
        }
        let data = Data {
            front: Glance {
                magic: Some(Magic(1)),
                file: Some(Svma(0x2000)),
                line: Some(call),
                level: Some(Level::INFO),
                format: Some(Svma(0x3000 + call)),
                run: Some(Run(7)),
                thread: Some(9),
                sequence: Some(Sequence::new(ThreadNumber(numbers.next(2)), count)),
                time: Some(1_700_000_000_000_000_000 + numbers.next(1000)),
            },
            args: Array::from_objects(2, args.written()).ok(),
            ..Data::default()
        };
        push(&mut log, |out| data.encode(out));
    }
    log
}

/// The table of sites that a look at each record finds.
fn listed(inputs: &[Input], recovery: &Recovery) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    let each = Batches::of(inputs, recovery).with_tables(&[Table::Sites]);
    each.each(NoImages, |_, batch| {
        batches.push(batch);
        ControlFlow::Continue(())
    })
    .unwrap();
    batches
}

/// The rows of sites, in some order.
fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let rows = batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(|row| {
            let columns = batch.columns().iter();
            columns
                .map(|column| format!("{:?}", column.slice(row, 1)))
                .collect()
        })
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

#[test]
fn sites_that_shapes_show_are_those_that_each_record_shows() {
    let (mut shown, mut left) = (0, 0);
    for seed in 0..300 {
        let mut numbers = Numbers(seed);
        let families = if seed % 2 == 0 { CLEAR } else { 9 };
        let bytes = log(&mut numbers, families);
        let mut inputs = vec![Input::from_bytes("log", bytes)];
        // Another of the same calls, whose types may be others.
        if seed % 3 == 0 {
            inputs.push(Input::from_bytes("other", log(&mut numbers, families)));
        }
        let mut options = Options::default();
        options.shapes = true;
        let recovery = Recovery::with(&inputs, &options, |_| {}).unwrap();
        match sites(&inputs, &recovery, NoImages).unwrap() {
            Some(sites) => {
                assert_eq!(rows(&sites), rows(&listed(&inputs, &recovery)), "{seed}");
                shown += 1;
            }
            None => {
                assert!(families > CLEAR || inputs.len() > 1, "{seed}");
                left += 1;
            }
        }
    }
    assert!(shown > 100 && left > 40, "{shown}, {left}");
}

#[test]
fn without_shapes_no_site_is_shown() {
    let inputs = [Input::from_bytes("log", log(&mut Numbers(1), CLEAR))];
    let recovery = Recovery::of(&inputs).unwrap();
    assert!(sites(&inputs, &recovery, NoImages).unwrap().is_none());
}
