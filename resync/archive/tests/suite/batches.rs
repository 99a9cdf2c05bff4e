//! A log as batches holds what its archive holds, in the order of the log.

use crate::all_fields::log;
use crate::made::{archive, held};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use logdef_archive::{Batches, Table};
use logdef_resync::{Input, NoImages, Recovery};
use logdef_wire::Record;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::HashSet;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// Records of a batch, and of a row group of the archives that the tests make.
const RECORDS: usize = 1000;

fn batches(log: &[u8], tables: &[Table], most: usize) -> Vec<(Table, RecordBatch)> {
    let inputs = [Input::from_bytes("log 0", log.to_vec())];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut all = Vec::new();
    let batches = Batches::of(&inputs, &recovery).with_records(RECORDS);
    let each = batches.with_tables(tables).each(NoImages, |table, batch| {
        assert!(all.len() < most, "asked for more than was wanted");
        all.push((table, batch));
        if all.len() == most {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    each.unwrap();
    all
}

fn of(table: Table, batches: &[(Table, RecordBatch)]) -> Vec<RecordBatch> {
    let own = batches.iter().filter(|(of, _)| *of == table);
    own.map(|(_, batch)| batch.clone()).collect()
}

/// A table of an archive; records a row group at a time.
fn kept(part: &Path, table: Table) -> Vec<RecordBatch> {
    let file = File::open(part.join(format!("{}.parquet", table.name()))).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let batches = reader.with_batch_size(RECORDS).build().unwrap();
    batches.collect::<Result<_, _>>().unwrap()
}

/// The rows of a batch of records, as text.
fn rows(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    let columns = || schema.fields().iter().zip(batch.columns());
    let shown = |row| {
        columns()
            .filter(|(field, _)| field.name() != "place")
            .map(|(_, column)| format!("{:?}", column.slice(row, 1)))
            .collect()
    };
    (0..batch.num_rows()).map(shown).collect()
}

#[test]
fn batches_hold_what_the_archive_holds() {
    let log = log(4000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    archive(&path, &[&log], None);
    let part = logdef_archive::parts(&path).remove(0);
    let given = batches(&log, &Table::ALL, usize::MAX);
    for table in Table::ALL {
        let (kept, given) = (kept(&part, table), of(table, &given));
        if table == Table::Records {
            assert_eq!(kept.len(), given.len());
            for (kept, given) in kept.iter().zip(&given) {
                assert_eq!(given.schema(), table.schema());
                let (mut kept, mut given) = (rows(kept), rows(given));
                kept.sort();
                given.sort();
                assert_eq!(kept, given);
            }
            continue;
        }
        let schema = table.schema();
        let given = concat_batches(&schema, &given).unwrap();
        // A file says with its columns which of them are lists of what, which is no matter here.
        let kept = concat_batches(&kept.first().map_or(schema, RecordBatch::schema), &kept);
        assert_eq!(kept.unwrap().columns(), given.columns(), "{}", table.name());
    }
}

#[test]
fn records_come_in_the_order_of_the_log_and_after_their_sites() {
    let log = log(4000);
    let (frames, _) = held(&[Input::from_bytes("log", log.clone())]);
    let records = frames
        .iter()
        .filter_map(|(body, _)| match Record::decode(body) {
            Ok(Record::Data(data)) => Some((data.time, data.sequence)),
            _ => None,
        });
    let expected: Vec<_> = records
        .map(|(time, it)| (time, it.map(|it| it.count() as i64)))
        .collect();
    let (mut order, mut sites) = (Vec::new(), HashSet::<u64>::new());
    for (table, batch) in batches(&log, &Table::ALL, usize::MAX) {
        let column = |name| batch.column_by_name(name).unwrap();
        if table == Table::Sites {
            sites.extend(column("site").as_primitive::<UInt64Type>().values().iter());
        }
        if table == Table::Records {
            let own = column("site").as_primitive::<UInt64Type>();
            assert!(own.iter().flatten().all(|site| sites.contains(&site)));
            assert_eq!(column("place").null_count(), batch.num_rows());
            let times = column("time").as_primitive::<TimestampNanosecondType>();
            let times = times.iter().map(|time| time.map(|time| time as u64));
            let counts = column("seq").as_primitive::<Int64Type>();
            order.extend(times.zip(counts));
        }
    }
    assert_eq!(order.len(), expected.len());
    assert_eq!(order, expected);
}

#[test]
fn who_has_enough_is_asked_no_more_and_tables_not_wanted_do_not_come() {
    let log = log(3500);
    let records = batches(&log, &[Table::Records], 2);
    assert_eq!(of(Table::Records, &records).len(), 2);
    let losses = batches(&log, &[Table::Losses], usize::MAX);
    assert_eq!(losses.len(), 1);
    assert!(batches(&[], &[Table::Records, Table::Sites], usize::MAX).is_empty());
}

#[test]
fn the_other_tables_are_the_same_without_records() {
    let log = log(3500);
    let others = Table::ALL.into_iter().filter(|it| *it != Table::Records);
    let others: Vec<_> = others.collect();
    let (all, without) = (
        batches(&log, &Table::ALL, usize::MAX),
        batches(&log, &others, usize::MAX),
    );
    for table in others {
        let rows = |given| concat_batches(&table.schema(), &of(table, given)).unwrap();
        assert_eq!(rows(&all), rows(&without), "{}", table.name());
    }
    assert!(of(Table::Records, &without).is_empty() && !of(Table::Sites, &without).is_empty());
}
