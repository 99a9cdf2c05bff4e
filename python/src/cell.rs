//! Values of columns as Python's own: for who has no library for Arrow. Knows no logs.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt8Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// A row as a dictionary. Times are nanoseconds since 1970.
pub fn row<'py>(py: Python<'py>, batch: &RecordBatch, row: usize) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        dict.set_item(field.name(), cell(py, column, row)?)?;
    }
    Ok(dict)
}

fn cell<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        DataType::Int32 => column
            .as_primitive::<Int32Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::UInt8 => column
            .as_primitive::<UInt8Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::UInt32 => column
            .as_primitive::<UInt32Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::UInt64 => column
            .as_primitive::<UInt64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .value(row)
            .into_bound_py_any(py),
        DataType::Timestamp(..) => {
            let times = column.as_primitive::<TimestampNanosecondType>();
            times.value(row).into_bound_py_any(py)
        }
        DataType::Binary => {
            let bytes = column.as_binary::<i32>().value(row);
            Ok(PyBytes::new(py, bytes).into_any())
        }
        DataType::List(_) => {
            let values = column.as_list::<i32>().value(row);
            let values = (0..values.len()).map(|index| cell(py, &values, index));
            let values = values.collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, values)?.into_any())
        }
        DataType::Map(..) => {
            let pairs = column.as_map().value(row);
            let dict = PyDict::new(py);
            for index in 0..pairs.len() {
                let key = cell(py, pairs.column(0), index)?;
                dict.set_item(key, cell(py, pairs.column(1), index)?)?;
            }
            Ok(dict.into_any())
        }
        other => {
            let why = format!("no column of ours is {other}");
            Err(pyo3::exceptions::PyTypeError::new_err(why))
        }
    }
}
