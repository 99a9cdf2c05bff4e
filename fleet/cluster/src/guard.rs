//! Whether a worker has the files that a plan was made for. A scan travels with marks of its files; a worker
//! compares them when it takes the plan, and what it then runs is the scan alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use prost::Message;

use crate::folders::{self, Folders};

/// Bytes at either end of an archive's file that its mark depends on. The end of a Parquet file has the place and the
/// size of everything in it.
const ENDS: u64 = 4096;
/// Bytes at the front of a log that its mark depends on. They hold the checksum of its first frame, and the random
/// number of the run; they do not change while it is written.
const FRONT: u64 = 64;

/// What a file is known by.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Mark {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(uint64, tag = "2")]
    size: u64,
    /// Nanoseconds since 1970; 0 for a log, which may be written while it is read, and may be longer than its mark says.
    #[prost(int64, tag = "3")]
    changed: i64,
    #[prost(uint32, tag = "4")]
    checksum: u32,
}

impl Mark {
    /// The mark of a file that does not change.
    pub(crate) fn of_archive(path: &Path) -> Result<Mark> {
        let mark = File::open(path).and_then(|file| {
            let about = file.metadata()?;
            let changed = about.mtime().saturating_mul(1_000_000_000) + about.mtime_nsec();
            let checksum = checksum(&file, about.len(), ENDS, true)?;
            Ok(Mark {
                path: text(path)?,
                size: about.len(),
                changed,
                checksum,
            })
        });
        mark.map_err(|e| exec_datafusion_err!("{}: {e}", path.display()))
    }

    /// The mark of a log of which `size` bytes are read.
    pub(crate) fn of_log(path: &Path, size: u64) -> Result<Mark> {
        let mark = File::open(path).and_then(|file| {
            Ok(Mark {
                path: text(path)?,
                size,
                changed: 0,
                checksum: checksum(&file, size, FRONT, false)?,
            })
        });
        mark.map_err(|e| exec_datafusion_err!("{}: {e}", path.display()))
    }

    /// Compares the mark with the file of its path here.
    fn check(&self, folders: &Folders) -> Result<()> {
        let (path, size) = (&self.path, self.size);
        let file = folders
            .open(Path::new(path))
            .map_err(|e| exec_datafusion_err!("{}", folders::said(&e)))?;
        let about = file.metadata().map_err(DataFusionError::IoError)?;
        let (is_log, here) = (self.changed == 0, about.len());
        if here < size || (here > size && !is_log) {
            return exec_err!(
                "{path} has {here} bytes here, and the one that was asked about has {size}"
            );
        }
        let changed = about.mtime().saturating_mul(1_000_000_000) + about.mtime_nsec();
        let ends = if is_log { FRONT } else { ENDS };
        let same = checksum(&file, size, ends, !is_log).map_err(DataFusionError::IoError)?
            == self.checksum;
        match (same, is_log || changed == self.changed) {
            (true, true) => Ok(()),
            (false, _) => {
                exec_err!("{path} is another file here than the one that was asked about")
            }
            (true, false) => exec_err!(
                "{path} was changed at another time here than the one that was asked about"
            ),
        }
    }
}

fn checksum(file: &File, size: u64, ends: u64, both: bool) -> io::Result<u32> {
    let mut checksum = crc32fast::Hasher::new();
    let mut end = vec![0; usize::try_from(ends.min(size)).unwrap_or(0)];
    file.read_exact_at(&mut end, 0)?;
    checksum.update(&end);
    if both {
        let tail = size - end.len() as u64;
        file.read_exact_at(&mut end, tail)?;
        checksum.update(&end);
    }
    Ok(checksum.finalize())
}

fn text(path: &Path) -> io::Result<String> {
    let path = std::path::absolute(path)?;
    let text = path.into_os_string().into_string();
    text.map_err(|_| io::Error::other("a worker can only be asked for files whose names are UTF-8"))
}

/// A scan on its way to a worker.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) scan: Arc<dyn ExecutionPlan>,
    pub(crate) marks: Vec<Mark>,
}

#[derive(Clone, PartialEq, Message)]
struct Marks {
    #[prost(message, repeated, tag = "1")]
    marks: Vec<Mark>,
}

impl Guarded {
    /// What travels besides the scan itself.
    pub(crate) fn encode(&self) -> Vec<u8> {
        Marks {
            marks: self.marks.clone(),
        }
        .encode_to_vec()
    }

    /// The scan, if this worker has its files.
    pub(crate) fn admit(
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        folders: &Folders,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Marks { marks } =
            Marks::decode(bytes).map_err(|e| exec_datafusion_err!("a guard of a scan: {e}"))?;
        let [scan] = inputs else {
            return exec_err!("a guard of {} scans", inputs.len());
        };
        marks.iter().try_for_each(|mark| mark.check(folders))?;
        Ok(Arc::clone(scan))
    }
}

impl DisplayAs for Guarded {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scan.fmt_as(kind, f)
    }
}

impl ExecutionPlan for Guarded {
    fn name(&self) -> &'static str {
        "Guarded"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [scan] = children.as_slice() else {
            return internal_err!("one scan has one guard");
        };
        Ok(Arc::new(Guarded {
            scan: Arc::clone(scan),
            marks: self.marks.clone(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.scan.execute(partition, context)
    }
}
