//! A span names its own end: tasks that take turns on one thread, that move to
//! another, and that are cancelled, each end their own.

use logdef::{logdef, logdef_span};
use logdef_wire::record::{Data, Kind};
use logdef_wire::{Record, Value};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

mod common;

/// A future that is pending this many times, and is woken at once.
struct Turns(u32);

impl Future for Turns {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0 = match self.0 {
            0 => return Poll::Ready(()),
            left => left - 1,
        };
        Poll::Pending
    }
}

async fn request(number: u32, turns: u32) {
    let _span = logdef_span!(Info, "request %u", number);
    Turns(turns).await;
    // An argument may wait too.
    logdef!(Info, "request %u waited %u", number, waited(turns).await);
}

async fn waited(turns: u32) -> u32 {
    Turns(1).await;
    turns
}

fn poll<F: Future>(future: Pin<&mut F>) -> bool {
    future
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

/// Polls requests on four threads, each one on whichever takes it, and cancels every third in its span.
fn crowd(numbers: Range<u32>) {
    let requests = numbers.map(|number| (number, Box::pin(request(number, number % 4 + 1))));
    let waiting = Mutex::new(requests.collect::<VecDeque<_>>());
    let next = || waiting.lock().unwrap().pop_front();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((number, mut request)) = next() {
                    if !poll(request.as_mut()) && number % 3 > 0 {
                        waiting.lock().unwrap().push_back((number, request));
                    }
                }
            });
        }
    });
}

/// The numbers of a record's span and request.
fn of(data: &Data<'_>) -> (u64, Option<u64>) {
    let span = data
        .keys
        .unwrap()
        .iter()
        .find(|(key, _)| *key == Value::Raw(b"span"));
    let request = data.args.unwrap().iter().next().and_then(Value::as_uint);
    (span.unwrap().1.as_uint().unwrap(), request)
}

#[test]
fn each_task_ends_its_own_span() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    logdef::open(&path).unwrap();

    // As a `LocalSet` would: the first to begin is the first to end.
    {
        let (mut a, mut b) = (pin!(request(0, 1)), pin!(request(1, 3)));
        let (mut a_is_done, mut b_is_done) = (false, false);
        while !(a_is_done && b_is_done) {
            a_is_done = a_is_done || poll(a.as_mut());
            b_is_done = b_is_done || poll(b.as_mut());
            assert!(a_is_done || !b_is_done, "a ends first");
        }
    }
    // Begun here, ended on another thread.
    let mut moving = Box::pin(request(2, 2));
    assert!(!poll(moving.as_mut()));
    std::thread::spawn(move || while !poll(moving.as_mut()) {})
        .join()
        .unwrap();
    // Begun and cancelled.
    let mut cancelled = Box::pin(request(3, 100));
    assert!(!poll(cancelled.as_mut()));
    drop(cancelled);
    // Never polled: it never began.
    drop(request(4, 1));
    crowd(10..10_010);
    assert_eq!(logdef::unwritten(), 0);

    // Threads write where they have room, so an end may stand before its begin.
    let (mut begun, mut ended, mut waited) = (HashMap::new(), Vec::new(), 0);
    common::records(&std::fs::read(&path).unwrap(), |record| {
        let Record::Data(data) = record else { return };
        match data.kind {
            Some(Kind::BEGIN) => {
                let (span, request) = of(&data);
                assert_eq!(begun.insert(span, request.unwrap()), None, "a number twice");
            }
            Some(Kind::END) => ended.push(of(&data).0),
            _ => waited += 1,
        }
    });
    let ended = ended.iter().map(|span| begun.remove(span));
    let mut order: Vec<_> = ended
        .map(|begun| begun.expect("an end of nothing"))
        .collect();
    assert!(begun.is_empty(), "{begun:?}");
    order.sort_unstable();
    let crowd = 10..10_010;
    let cancelled = crowd.clone().filter(|number| number % 3 == 0).count() as u64;
    assert_eq!(order, (0..4).chain(crowd).collect::<Vec<_>>());
    assert_eq!(waited, 3 + 10_000 - cancelled);
}
