//! The columns of a row group on their way into its file: each is encoded and packed by itself, two at a
//! time where there are two cores. Knows neither what stands in them nor how it was put together.

use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn};
use parquet::errors::{ParquetError, Result};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Most columns that are encoded at a time: each takes the memory of its values, and some more.
const AT_ONCE: usize = 2;

/// A column, and its number among all.
type Job = (usize, ArrowColumnWriter, ArrowLeafColumn);
type Done = Result<(usize, ArrowColumnChunk)>;

/// Encodes the columns that `give` gives to what it is called with, in the order of the writers, and
/// returns them in that order. Who gives one waits until a core has time for it.
pub(crate) fn encoded(
    writers: Vec<ArrowColumnWriter>,
    cores: usize,
    give: impl FnOnce(&mut dyn FnMut(ArrowLeafColumn) -> Result<()>) -> Result<()>,
) -> Result<Vec<ArrowColumnChunk>> {
    let mut writers = writers.into_iter().enumerate();
    let mut next = |leaf| -> Result<Job> {
        let (index, writer) = writers.next().ok_or_else(|| wrong("a column too many"))?;
        Ok((index, writer, leaf))
    };
    let mut chunks = Vec::new();
    if cores < 2 {
        give(&mut |leaf| {
            chunks.push(encode(next(leaf)?)?);
            Ok(())
        })?;
    } else {
        chunks = thread::scope(|scope| {
            let (jobs, queue) = sync_channel(0);
            let (done, results) = channel();
            // When no encoder holds it any more, none is left to wait for.
            let queue = Arc::new(Mutex::new(queue));
            for _ in 0..cores.min(AT_ONCE) {
                let (queue, done) = (Arc::clone(&queue), done.clone());
                scope.spawn(move || work(&queue, &done));
            }
            drop((queue, done));
            let given = give(&mut |leaf| {
                let job = next(leaf)?;
                jobs.send(job)
                    .map_err(|_| wrong("a column without an encoder"))
            });
            drop(jobs);
            given.and_then(|()| results.iter().collect::<Result<Vec<_>>>())
        })?;
        chunks.sort_by_key(|(index, _)| *index);
    }
    Ok(chunks.into_iter().map(|(_, chunk)| chunk).collect())
}

/// Encodes one column after the other until the queue is closed.
fn work(queue: &Mutex<Receiver<Job>>, done: &Sender<Done>) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let is_wanted = done.send(encode(job)).is_ok();
        if !is_wanted {
            return;
        }
    }
}

fn encode((index, mut column, leaf): Job) -> Done {
    column.write(&leaf)?;
    Ok((index, column.close()?))
}

fn wrong(why: &str) -> ParquetError {
    ParquetError::General(why.into())
}
