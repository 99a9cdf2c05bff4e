//! What Python holds: a table that is read as often as it is asked for, and the batches of it.
//! Knows no records.

use crate::cell;
use crate::stream::Stream;
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long Ctrl-C may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// Makes all batches, each handed over until no more are wanted.
pub type Make = dyn Fn(&mut dyn FnMut(RecordBatch) -> bool) -> Result<(), ArrowError> + Send + Sync;

/// Rows that are read from logs whenever they are asked for.
///
/// Every library that takes Arrow takes it as it is: ``polars.DataFrame(table)``,
/// ``pyarrow.table(table)``, ``duckdb.from_arrow(table)``. Iterating gives batches; ``rows()`` gives
/// dictionaries.
#[pyclass(frozen, module = "logdef")]
pub struct Table {
    schema: SchemaRef,
    make: Arc<Make>,
}

impl Table {
    pub fn new(schema: SchemaRef, make: Arc<Make>) -> Table {
        Table { schema, make }
    }

    fn stream(&self) -> PyResult<Stream> {
        let make = Arc::clone(&self.make);
        let stream = Stream::start(Arc::clone(&self.schema), move |give| make(give));
        stream.map_err(|error| PyOSError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Table {
    /// The table as a stream of the Arrow C interface, in a capsule.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows that a table ignores the schema that was asked for.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(self.stream()?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema as one of the Arrow C interface, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    fn __iter__(&self) -> PyResult<Batches> {
        Ok(Batches(Mutex::new(self.stream()?)))
    }

    /// Iterates over the rows as dictionaries. Times are integers: nanoseconds since 1970 in UTC.
    fn rows(&self) -> PyResult<Rows> {
        Ok(Rows(Mutex::new((self.__iter__()?, None, 0))))
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        names(&self.schema)
    }

    fn __repr__(&self) -> String {
        format!("<logdef.Table of {}>", names(&self.schema).join(", "))
    }
}

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|it| it.name().clone()).collect()
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(failed)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn failed(error: ArrowError) -> PyErr {
    match error {
        ArrowError::ExternalError(cause) => PyOSError::new_err(cause.to_string()),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// The batches of a table, each read when it is asked for.
#[pyclass(frozen, module = "logdef")]
pub struct Batches(Mutex<Stream>);

impl Batches {
    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let made = py.detach(|| {
                let stream = self.0.lock();
                let stream = stream.unwrap_or_else(std::sync::PoisonError::into_inner);
                stream.next_within(PATIENCE)
            });
            match made {
                Ok(made) => return made.transpose().map_err(failed),
                Err(()) => py.check_signals()?,
            }
        }
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(self.next(py)?.map(Batch))
    }
}

/// Some rows of a table.
#[pyclass(frozen, module = "logdef")]
pub struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    /// The rows as a schema and an array of the Arrow C interface, in capsules.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let rows = StructArray::from(self.0.clone());
        let (array, schema) = to_ffi(&rows.to_data()).map_err(failed)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    /// The schema as one of the Arrow C interface, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    /// The rows as dictionaries. Times are integers: nanoseconds since 1970 in UTC.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = 0..self.0.num_rows();
        rows.map(|row| cell::row(py, &self.0, row)).collect()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        names(&self.0.schema())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<logdef.Batch of {} rows>", self.0.num_rows())
    }
}

/// The rows of a table as dictionaries.
#[pyclass(frozen, module = "logdef")]
pub struct Rows(Mutex<(Batches, Option<RecordBatch>, usize)>);

#[pymethods]
impl Rows {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        // Held by who waits for a batch: no other thread can wait for it with Python's lock.
        let Ok(mut state) = self.0.try_lock() else {
            return Err(PyRuntimeError::new_err("another thread iterates over it"));
        };
        let (batches, batch, next) = &mut *state;
        loop {
            if let Some(batch) = batch.as_ref().filter(|batch| *next < batch.num_rows()) {
                *next += 1;
                return cell::row(py, batch, *next - 1).map(Some);
            }
            *batch = batches.next(py)?;
            *next = 0;
            if batch.is_none() {
                return Ok(None);
            }
        }
    }
}
