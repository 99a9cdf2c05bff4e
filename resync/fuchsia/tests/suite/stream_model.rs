//! A source and random retrievers in one process, on plain vectors for shared memory: a
//! retriever that stays connected and retires what it read sees every record from its first
//! on, once and in order.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use logdef_fuchsia::stream::{
    Action, BufferHeader, BufferIndex, Closed, Koid, Message, Reservation, Retriever, RetrieverId,
    Source, split_record,
};
use logdef_fuchsia::structured::{Header, RecordWriter, Severity};
use proptest::prelude::*;

const CAPACITY: usize = 128;

struct Memory {
    header: BufferHeader,
    records: Vec<u8>,
}

#[derive(Default)]
struct Reader {
    state: Retriever,
    inbox: VecDeque<(Message, Option<BufferIndex>)>,
    known: BTreeMap<Koid, BufferIndex>,
    seen: Vec<i64>,
}

struct World {
    source: Source,
    memory: Vec<Memory>,
    readers: BTreeMap<RetrieverId, Reader>,
    closed: Vec<(RetrieverId, Closed)>,
    written: i64,
    next_id: u64,
}

impl World {
    fn new(buffers: usize, deadline: Option<Duration>) -> Self {
        let koid = |index: usize| Koid(100 + index as u64);
        let memory = |index| Memory {
            header: BufferHeader {
                koid: koid(index),
                filling: 0,
                committed: 0,
                done: false,
                dropped: 0,
                clock: 1,
            },
            records: vec![0; CAPACITY],
        };
        Self {
            source: Source::new((0..buffers).map(koid), CAPACITY, deadline),
            memory: (0..buffers).map(memory).collect(),
            readers: BTreeMap::new(),
            closed: Vec::new(),
            written: 0,
            next_id: 0,
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.source.next_action() {
            match action {
                Action::Start { buffer, filling } => {
                    let memory = &mut self.memory[buffer.0];
                    memory.header.filling = filling;
                    memory.header.committed = 0;
                    memory.header.done = false;
                    memory.records.fill(0);
                }
                Action::MarkDone(buffer) => self.memory[buffer.0].header.done = true,
                Action::SendInit(to, buffer) => {
                    let message = (Message::OnBufferInit, Some(buffer));
                    self.readers.get_mut(&to).unwrap().inbox.push_back(message);
                }
                Action::SendDone(to, koid) => {
                    let message = (Message::OnBufferDone(koid), None);
                    self.readers.get_mut(&to).unwrap().inbox.push_back(message);
                }
                Action::Close(id, reason) => {
                    self.readers.remove(&id).unwrap();
                    self.closed.push((id, reason));
                }
            }
        }
    }

    /// Writes a record whose timestamp is its number; false if no buffer is free.
    fn write(&mut self, text: usize, now: Duration) -> bool {
        let mut bytes = [0; CAPACITY];
        let mut writer = RecordWriter::new(&mut bytes, self.written, Severity::INFO).unwrap();
        writer.argument("t", "x".repeat(text)).unwrap();
        let record = writer.finish();
        let reservation = self.source.reserve(record.len(), now);
        self.act();
        let Reservation::Slot(slot) = reservation else {
            self.source.drop_record();
            return false;
        };
        let memory = &mut self.memory[slot.buffer.0];
        let room = &mut memory.records[slot.offset..][..record.len()];
        assert!(
            room.iter().all(|byte| *byte == 0),
            "recycled buffers are zero"
        );
        room.copy_from_slice(record);
        memory.header.committed = (slot.offset + record.len()) as u64;
        self.source.commit(slot, record.len());
        self.written += 1;
        true
    }

    fn connect(&mut self, now: Duration) {
        let id = RetrieverId(self.next_id);
        self.next_id += 1;
        self.readers.insert(id, Reader::default());
        self.source.connect(id, now);
        self.act();
    }

    /// The reader takes up to `messages` messages and reads what it can, up to `records`.
    fn read(&mut self, id: RetrieverId, messages: usize, mut records: usize) {
        let reader = self.readers.get_mut(&id).unwrap();
        for _ in 0..messages {
            match reader.inbox.pop_front() {
                Some((Message::OnBufferInit, Some(buffer))) => {
                    let header = self.memory[buffer.0].header;
                    reader.state.on_init(&header, CAPACITY as u64).unwrap();
                    reader.known.insert(header.koid, buffer);
                }
                Some((Message::OnBufferDone(koid), None)) => reader.state.on_done(koid).unwrap(),
                Some(other) => panic!("{other:?}"),
                None => break,
            }
        }
        let mut retired = Vec::new();
        while let Some(koid) = reader.state.current() {
            let memory = &self.memory[reader.known[&koid].0];
            let range = reader.state.readable(&memory.header).unwrap();
            let mut bytes = &memory.records[range.start as usize..range.end as usize];
            while records > 0 && !bytes.is_empty() {
                let (record, rest) = split_record(bytes).unwrap();
                reader.seen.push(Header::parse(record).unwrap().timestamp);
                reader.state.consume(record.len() as u64);
                bytes = rest;
                records -= 1;
            }
            let Some(koid) = reader.state.retire(&memory.header) else {
                break;
            };
            retired.push(koid);
        }
        for koid in retired {
            self.source.retire(id, koid);
        }
        self.act();
    }

    fn any_reader(&self, pick: usize) -> Option<RetrieverId> {
        let count = self.readers.len().max(1);
        self.readers.keys().nth(pick % count).copied()
    }

    fn assert_consecutive(&self) {
        for (id, reader) in &self.readers {
            assert!(
                reader.seen.windows(2).all(|two| two[0] + 1 == two[1]),
                "{id:?}"
            );
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    Connect,
    Disconnect(usize),
    Read(usize, usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        9 => (0..90_usize).prop_map(Step::Write),
        1 => Just(Step::Connect),
        1 => any::<usize>().prop_map(Step::Disconnect),
        6 => (any::<usize>(), 0..4_usize, 0..10_usize).prop_map(|(who, m, r)| Step::Read(who, m, r)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if std::env::var_os("LOGDEF_SLOW").is_some() { 20_000 } else { 400 }) })]

    #[test]
    fn a_retriever_that_stays_sees_every_record_once_and_in_order(
        buffers in 2..6_usize,
        deadline in prop::option::of(1..30_u64),
        steps in prop::collection::vec(step(), 0..150),
    ) {
        let deadline = deadline.map(Duration::from_millis);
        let mut world = World::new(buffers, deadline);
        let mut dropped = 0;
        for (now, step) in steps.into_iter().enumerate() {
            let now = Duration::from_millis(now as u64);
            match step {
                Step::Write(text) => dropped += u64::from(!world.write(text, now)),
                Step::Connect => world.connect(now),
                Step::Disconnect(who) => {
                    if let Some(id) = world.any_reader(who) {
                        world.readers.remove(&id);
                        world.source.disconnect(id);
                    }
                }
                Step::Read(who, messages, records) => {
                    if let Some(id) = world.any_reader(who) {
                        world.read(id, messages, records);
                    }
                }
            }
            world.assert_consecutive();
        }
        // All that are left read to the end.
        let ids: Vec<_> = world.readers.keys().copied().collect();
        for id in ids {
            world.read(id, usize::MAX, usize::MAX);
            let reader = &world.readers[&id];
            if reader.known.is_empty() {
                prop_assert!(world.written == 0, "it was told of nothing");
            } else {
                prop_assert_eq!(reader.seen.last().copied(), Some(world.written - 1));
            }
        }
        world.assert_consecutive();
        let totals = world.source.totals();
        prop_assert_eq!((totals.records, totals.dropped), (world.written as u64, dropped));
        let stalled = |(_, reason): &&(RetrieverId, Closed)| *reason == Closed::Stalled;
        prop_assert_eq!(world.closed.iter().filter(stalled).count(), world.closed.len());
        prop_assert_eq!(totals.stalled as usize, world.closed.len());
    }
}

#[test]
fn a_reader_that_stands_still_costs_the_others_nothing_once_its_deadline_is_over() {
    let mut world = World::new(2, Some(Duration::from_millis(10)));
    world.connect(Duration::ZERO);
    world.connect(Duration::ZERO);
    let live = world.any_reader(0).unwrap();
    let mut lost = 0;
    for now in 0..1000 {
        lost += u32::from(!world.write(20, Duration::from_millis(now)));
        world.read(live, 9, 9);
    }
    assert!(lost <= 10, "{lost} lost in the 10 ms of the deadline");
    assert_eq!(world.closed, [(RetrieverId(1), Closed::Stalled)]);
    assert_eq!(world.readers[&live].seen.len(), 1000 - lost as usize);
    world.assert_consecutive();
}
