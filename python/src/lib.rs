//! Logs of logdef in Python, as Arrow: records, calls, and what is missing. Every library that
//! knows Arrow reads them without a copy.

mod archived;
mod call;
mod cell;
mod names;
mod opened;
// The very code of the command, so that the same words name the same logs.
#[path = "../../resync/cli/src/paths.rs"]
mod paths;
mod records;
mod stream;
mod table;
mod text;
mod walk;

use crate::call::{Call, Columns};
use crate::opened::{Failure, ImagePlaces, Opened};
use crate::records::Records;
use crate::table::{Batch, Batches, Make, Rows, Table};
use crate::walk::{Filter, Site, walk};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use logdef_archive::Table as Side;
use logdef_wire::Level;
use pyo3::exceptions::{PyLookupError, PyOSError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Logs of logdef, as Arrow.
///
/// `read` gives the records, `sites` the calls that made them, `losses` what is missing.
#[pymodule(name = "logdef")]
mod module {
    #[pymodule_export]
    use super::{Batch, Batches, DamageWarning, Rows, Table, losses, read, sites};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::quiet_what_is_caught();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

pyo3::create_exception!(
    logdef,
    DamageWarning,
    PyUserWarning,
    "Something is missing in a log that was read. `losses` says what."
);

/// Files of archives that come from others may make the library that reads them panic: that becomes
/// an error, and nothing is printed.
fn quiet_what_is_caught() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !logdef_archive::catches_panics() {
            usual(panic);
        }
    }));
}

/// One path, or several.
#[derive(FromPyObject)]
enum Paths {
    One(PathBuf),
    Many(Vec<PathBuf>),
}

impl From<Paths> for Vec<PathBuf> {
    fn from(paths: Paths) -> Self {
        match paths {
            Paths::One(path) => vec![path],
            Paths::Many(paths) => paths,
        }
    }
}

/// Where programs and libraries are: `False` for nowhere, or folders beside the paths in the log.
#[derive(FromPyObject)]
enum Images {
    Any(bool),
    Below(Paths),
}

fn places(images: Option<Images>) -> ImagePlaces {
    let (use_logged, folders) = match images {
        None => (true, Vec::new()),
        Some(Images::Any(any)) => (any, Vec::new()),
        Some(Images::Below(paths)) => (true, paths.into()),
    };
    ImagePlaces {
        use_logged,
        folders,
    }
}

/// A time: `datetime`, of which one without a zone is local, or nanoseconds since 1970.
fn nanoseconds(time: Option<Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(time) = time else {
        return Ok(None);
    };
    if let Ok(nanoseconds) = time.extract::<u64>() {
        return Ok(Some(nanoseconds));
    }
    let seconds: f64 = time.call_method0("timestamp")?.extract()?;
    // A `datetime` knows microseconds, and a double is exact enough for them.
    Ok(Some((seconds * 1e6).round().max(0.0) as u64 * 1000))
}

/// Does what takes long without Python's lock, and notices Ctrl-C meanwhile.
fn off_the_lock<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (to, done) = channel();
    let work = move || {
        // After Ctrl-C the receiver is gone.
        let _ = to.send(work());
    };
    std::thread::Builder::new()
        .name("logdef".into())
        .spawn(work)?;
    let done = std::sync::Mutex::new(done);
    loop {
        let waited = py.detach(|| {
            let done = done.lock();
            let done = done.unwrap_or_else(std::sync::PoisonError::into_inner);
            done.recv_timeout(Duration::from_millis(50))
        });
        match waited {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyOSError::new_err("the reader failed"));
            }
        }
    }
}

fn open(py: Python<'_>, paths: Paths, warns: bool) -> PyResult<Arc<Opened>> {
    let words: Vec<PathBuf> = paths.into();
    if words.is_empty() {
        return Err(PyValueError::new_err("no path is given"));
    }
    let opened = off_the_lock(py, move || Opened::of(&words))?;
    let opened = opened.map_err(|failure| match failure {
        Failure::NoLog(why) => PyValueError::new_err(why),
        Failure::File(path, error) => match error.raw_os_error() {
            // Python chooses the class, such as `FileNotFoundError`, by the number.
            Some(number) => PyOSError::new_err((number, words_of(&error), path.into_os_string())),
            None => PyOSError::new_err(format!("{}: {error}", path.display())),
        },
    })?;
    if let Some(damage) = opened.damage().filter(|_| warns) {
        let kind = py.get_type::<DamageWarning>();
        let damage = CString::new(damage.replace('\0', "?"))?;
        PyErr::warn(py, &kind, &damage, 1)?;
    }
    Ok(Arc::new(opened))
}

/// What the system says, without the number that `io::Error` adds.
fn words_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Reads the records of logs: files, folders, patterns, compressed logs and archives, one path or
/// a list of them.
///
/// All logs become one table in the order of time. With `site`, such as ``"server.c:74"``, only the
/// records of that call are read, with a typed column for each argument. `since` and `until` are
/// ``datetime`` objects or nanoseconds since 1970, `level` is the lowest level that is wanted.
/// `images` are folders with the programs that logged, beside the paths in the log; ``False`` opens
/// none. Without `message`, messages are not rendered, which is faster.
///
/// What is missing in the logs is a `DamageWarning`; see `losses`.
#[pyfunction]
#[pyo3(signature = (paths, *, site=None, since=None, until=None, level=None, images=None, message=true))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
fn read(
    py: Python<'_>,
    paths: Paths,
    site: Option<&str>,
    since: Option<Bound<'_, PyAny>>,
    until: Option<Bound<'_, PyAny>>,
    level: Option<&str>,
    images: Option<Images>,
    message: bool,
) -> PyResult<Table> {
    let level = level.map(|name| {
        let level = Level::parse(name);
        level.ok_or_else(|| PyValueError::new_err(format!("{name:?} is not a level: try \"warn\"")))
    });
    let filter = Filter {
        since: nanoseconds(since)?,
        until: nanoseconds(until)?,
        level: level.transpose()?,
        site: site.map(Site::parse),
    };
    let images = places(images);
    let opened = open(py, paths, true)?;
    let Some(place) = filter.site.clone() else {
        let make = move |give: &mut dyn FnMut(RecordBatch) -> bool| {
            let mut rows = Records::new(message);
            walk(&opened, &filter, images.images(), &mut rows, give)
        };
        return Ok(Table::new(records::schema(message), Arc::new(make)));
    };
    let columns = {
        let (opened, images) = (Arc::clone(&opened), images.clone());
        off_the_lock(py, move || {
            let mut columns = Columns::default();
            let done = side(&opened, &images, Side::Sites, &mut |sites| {
                columns.add(&sites, &place);
                true
            });
            done.map(|()| columns)
        })?
    };
    let columns = columns.map_err(|error| PyOSError::new_err(error.to_string()))?;
    let site = site.unwrap_or_default();
    if !columns.has_calls {
        let why = format!("no record comes from a call at {site}: sites() lists the calls");
        return Err(PyLookupError::new_err(why));
    }
    if columns.is_cut {
        let why = format!(
            "the calls at {site} have too many different values for columns: name a line too"
        );
        return Err(PyValueError::new_err(why));
    }
    let schema = columns.schema(message);
    let make = move |give: &mut dyn FnMut(RecordBatch) -> bool| {
        let mut rows = Call::new(columns.clone(), message);
        walk(&opened, &filter, images.images(), &mut rows, give)
    };
    Ok(Table::new(schema, Arc::new(make)))
}

/// Lists the calls that made the records of logs: format, file, line, level, function, and the names
/// and types of their values. The columns are those of `sites.parquet` in an archive.
#[pyfunction]
#[pyo3(signature = (paths, *, images=None))]
fn sites(py: Python<'_>, paths: Paths, images: Option<Images>) -> PyResult<Table> {
    let opened = open(py, paths, true)?;
    Ok(side_table(opened, places(images), Side::Sites))
}

/// Lists what is missing in logs, as ``logdef check`` finds it: ranges of bytes, records of threads,
/// times. The last row is the verdict. The columns are those of `losses.parquet` in an archive.
#[pyfunction]
fn losses(py: Python<'_>, paths: Paths) -> PyResult<Table> {
    let opened = open(py, paths, false)?;
    Ok(side_table(opened, places(None), Side::Losses))
}

fn side_table(opened: Arc<Opened>, images: ImagePlaces, table: Side) -> Table {
    // Fields of a list are called as in the files of an archive.
    let schema = Arc::new(Schema::new(table.schema().fields().clone()));
    let make: Arc<Make> = Arc::new(move |give: &mut dyn FnMut(RecordBatch) -> bool| {
        side(&opened, &images, table, give)
    });
    Table::new(schema, make)
}

fn side(
    opened: &Opened,
    images: &ImagePlaces,
    table: Side,
    give: &mut dyn FnMut(RecordBatch) -> bool,
) -> Result<(), ArrowError> {
    let batches = logdef_archive::Batches::of(&opened.inputs, &opened.recovery);
    let each = batches
        .with_tables(&[table])
        .each(images.images(), |_, batch| {
            if give(batch) {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(())
        });
    each.map_err(|error| ArrowError::ExternalError(Box::new(error)))
}
