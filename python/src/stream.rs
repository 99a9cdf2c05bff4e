//! Batches that are made on a thread of their own and pulled from another, a few of them ahead.
//! Knows neither logs nor Python.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Batches that are ready and not taken yet.
const READY: usize = 2;

type Made = Result<RecordBatch, ArrowError>;

/// What is pulled. When it is dropped, no more is made.
pub struct Stream {
    schema: SchemaRef,
    made: Receiver<Made>,
}

impl Stream {
    /// Begins to make batches: `make` hands each over until `false` says that no more are wanted.
    pub fn start<M>(schema: SchemaRef, make: M) -> std::io::Result<Stream>
    where
        M: FnOnce(&mut dyn FnMut(RecordBatch) -> bool) -> Result<(), ArrowError> + Send + 'static,
    {
        let (to, made) = sync_channel(READY);
        let work = move || {
            let mut give = |batch| to.send(Ok(batch)).is_ok();
            let done = catch_unwind(AssertUnwindSafe(|| make(&mut give)));
            let failed = match done {
                Ok(done) => done.err(),
                Err(_) => Some(ArrowError::ExternalError("the reader failed".into())),
            };
            if let Some(error) = failed {
                // The receiver may be gone.
                let _ = to.send(Err(error));
            }
        };
        thread::Builder::new().name("logdef".into()).spawn(work)?;
        Ok(Stream { schema, made })
    }

    /// The next batch, if there is one in time; `Err` if not.
    pub fn next_within(&self, patience: Duration) -> Result<Option<Made>, ()> {
        match self.made.recv_timeout(patience) {
            Ok(made) => Ok(Some(made)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(()),
        }
    }
}

impl Iterator for Stream {
    type Item = Made;

    fn next(&mut self) -> Option<Made> {
        self.made.recv().ok()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}
