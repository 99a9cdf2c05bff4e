//! Records with every field and every kind of value, and such as no writer of ours makes, come back
//! as they were and in their order.

use crate::made::{Numbers, archive, held, opened, push, standing};
use logdef_resync::Input;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::record::{Data, Record};
use logdef_wire::{Typed, Value};

/// Writes a random value that a call may have.
fn value(numbers: &mut Numbers, out: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
    match numbers.next(14) {
        0 => out.nil(),
        1 => out.bool(numbers.next(2) == 0),
        2 => out.uint(u64::MAX - numbers.next(3)),
        3 => out.int(-(numbers.next(1 << 31) as i64) << numbers.next(30)),
        4 => out.float(f64::from_bits(numbers.next(1 << 31) << 33)),
        5 => out.raw(b"text \xff that is none"),
        6 => out.raw(&vec![b'a'; numbers.next(700) as usize]),
        7 => Typed::Printed(b"Some(7)").encode(out),
        8 => Typed::Int128(-(1 << 100)).encode(out),
        9 => Typed::Bytes(&[0, 0xc1, 0xce]).encode(out),
        10 => out
            .array(2)
            .and_then(|()| out.uint(99))
            .and_then(|()| out.nil()),
        // It looks like a frame, so that the record is written masked.
        11 => out.raw(b"\xc1\xce\xac\x61\x91\xdf\xc1\xa2\x00\x80"),
        _ => out.uint(numbers.next(1 << 20)),
    }
}

/// Writes a random record.
fn record(seed: u64, out: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 5);
    let numbers = &mut numbers;
    let thread = numbers.next(3);
    let fields: Vec<u8> = (0..19)
        .filter(|field| match field {
            0..=8 => numbers.next(60) > 0,
            9 => numbers.next(8) > 0,
            17.. => numbers.next(90) == 0,
            _ => numbers.next(9) == 0,
        })
        .collect();
    out.uint(127)?;
    out.map(fields.len() as u32)?;
    let site = numbers.next(5);
    for field in fields {
        out.uint(field.into())?;
        match field {
            1 | 4 if site == 4 => out.uint(1 << 63 | site)?,
            0..=4 => out.uint((u64::from(field) + 1) * 16 + site)?,
            5 => out.uint64(7)?,
            6 => out.uint(0x7f00 + thread + numbers.next(100) / 99)?,
            7 => out.uint64((thread << 40) | ((seed >> 3) + numbers.next(2)))?,
            8 => out.uint64(1_700_000_000_000_000_000 + (seed << 8) - numbers.next(2000))?,
            9 => {
                let len = [0, 1, 2, 2, 3, 3, 1, 1, 2, 20][numbers.next(10) as usize];
                out.array(len)?;
                (0..len).try_for_each(|_| value(numbers, out))?;
            }
            10 => {
                let len = numbers.next(5) as u32;
                out.array(len)?;
                (0..len).try_for_each(|at| match numbers.next(8) {
                    0 if at + 1 == len => out.nil(),
                    1 if at == 0 => out.raw(b"no address"),
                    _ => out.uint(numbers.next(1 << 40)),
                })?;
            }
            11 | 12 => out.raw([&b"spelled %d"[..], b"out\xff.c"][numbers.next(2) as usize])?,
            15 => {
                let len = numbers.next(3) as u32;
                out.map(len)?;
                for _ in 0..len {
                    out.raw([&b"request"[..], b"user", b"\xff"][numbers.next(3) as usize])?;
                    value(numbers, out)?;
                }
            }
            // 17 and 18 are of a later version.
            _ => out.uint(numbers.next(70))?,
        }
    }
    Ok(())
}

pub fn log(records: u64) -> Vec<u8> {
    let mut log = Vec::new();
    push(&mut log, |out| {
        out.uint(0)?;
        out.map(1)?;
        out.uint(5)?;
        out.uint64(7)
    });
    for seed in 0..records {
        push(&mut log, |out| record(seed * 8, out));
        if seed % 50 == 7 {
            // A note, and a frame of a kind that is not known.
            push(&mut log, |out| {
                out.uint([6, 77][seed as usize / 50 % 2])?;
                out.map(1)?;
                out.uint(3)?;
                out.raw(b"between")
            });
        }
    }
    log
}

/// What a record says, whatever form its numbers are in.
fn said(body: &[u8]) -> String {
    match Record::decode(body) {
        Ok(Record::Data(data)) => known(&data),
        other => format!("{other:?} {body:x?}"),
    }
}

/// All fields that this version knows. One that is added to `Data` does not compile until it is compared here too.
fn known(data: &Data<'_>) -> String {
    let Data {
        front,
        args,
        backtrace,
        format_text,
        file_text,
        dropped,
        kind,
        keys,
        context,
    } = data;
    let values = |values: &Option<logdef_wire::msgpack::Array<'_>>| {
        values.map(|values| values.iter().map(shown).collect::<Vec<_>>())
    };
    let (args, backtrace) = (values(args), values(backtrace));
    let keys = keys.map(|keys| {
        let pairs = keys.iter().map(|(key, value)| (shown(key), shown(value)));
        pairs.collect::<Vec<_>>()
    });
    let front = format!("{front:?} {args:?} {backtrace:?} {format_text:?} {file_text:?}");
    format!("{front} {dropped:?} {kind:?} {keys:?} {context:?}")
}

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Float(value) => format!("float {:x}", value.to_bits()),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_is_archived_is_read_back_with_every_field() {
    let log = log(4000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let written = archive(&path, &[&log], None);
    assert!(written.records > 3000, "{written:?}");
    // Both ways are taken.
    assert!(
        written.whole > 300 && written.whole < written.records / 2,
        "{written:?}"
    );
    // In the order in which a merge gives them.
    let (before, verdict) = held(&[Input::from_bytes("log", log)]);
    let kept = opened(&path);
    let after = standing(&kept[0]);
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(said(&before.0), said(after), "frame {at}");
    }
    assert_eq!(before.len(), after.len());
    assert_eq!(verdict, held(&kept).1);
}

#[test]
fn a_field_that_is_not_known_comes_back() {
    let mut log = Vec::new();
    push(&mut log, |out| {
        out.uint(127)?;
        out.map(4)?;
        out.uint(5)?;
        out.uint64(7)?;
        out.uint(7)?;
        out.uint64(0)?;
        out.uint(8)?;
        out.uint64(1_700_000_000_000_000_000)?;
        out.uint(99)?;
        out.raw(b"of a later version")
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    assert_eq!(archive(&path, &[&log], None).whole, 1);
    let (before, _) = held(&[Input::from_bytes("log", log)]);
    assert_eq!(held(&opened(&path)).0, before);
}
