//! Which worker reads what. A scan is cut into pieces, which are dealt out to the tasks of its stage; each task gets a
//! plan of its own that has only its pieces. No two tasks ever share a plan, so that the engine has nothing to take from
//! one and give to another.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::catalog::memory::DataSourceExec;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec,
    ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse,
};
use logdef_source::LogScan;
use object_store::local::LocalFileSystem;

use crate::guard::{Guarded, Mark};

/// The function that looks for programs anywhere on its machine. The coordinator calls it, workers must not.
pub(crate) const AT_HOME: &str = "stack";

/// Pieces are not smaller than this unless a size is asked for: to send a task and to begin it takes some 6 ms of a
/// processor, and a question to this much of an archive 20 ms and more.
const SMALLEST: u64 = 8 << 20;

/// How scans are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// Bytes of a piece of an archive; by default a piece for each slot. Pieces of logs are made by the scan.
    pub(crate) bytes: Option<u64>,
    /// How many workers there are.
    pub(crate) workers: usize,
}

impl Split {
    /// How many tasks read a scan: two at least, so that a worker does it and not the coordinator.
    pub(crate) fn tasks(
        self,
        event: DesiredTaskCountEvent<'_>,
    ) -> Option<Result<DesiredTaskCountEventResponse>> {
        if calls(event.plan, AT_HOME) {
            return Some(Ok(DesiredTaskCountEventResponse::maximum(1)));
        }
        let pieces = if let Some(scan) = file_scan(event.plan) {
            let slots = self.workers.max(1) * scan.file_groups.len().max(1);
            self.pieces(scan, slots).len()
        } else {
            let scan = event.plan.downcast_ref::<LogScan>()?;
            scan.partitions().iter().map(Vec::len).sum()
        };
        Some(Ok(DesiredTaskCountEventResponse::desired(
            pieces.clamp(2, self.workers.max(2)),
        )))
    }

    /// A plan for each task.
    pub(crate) fn plans(
        self,
        event: ScaleUpLeafNodeEvent<'_>,
    ) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
        let plans = match file_scan(event.plan) {
            Some(scan) => self.dealt(scan, event.task_count),
            None => dealt_log(event.plan.downcast_ref::<LogScan>()?, event.task_count),
        };
        let leaf =
            plans.and_then(|plans| DistributedLeafExec::try_new(Arc::clone(event.plan), plans));
        Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
    }

    fn dealt(self, scan: &FileScanConfig, tasks: usize) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        let slots = scan.file_groups.len().max(1);
        let mut groups = vec![Vec::new(); tasks * slots];
        for (i, piece) in self.pieces(scan, tasks * slots).into_iter().enumerate() {
            groups[i % (tasks * slots)].push(piece);
        }
        let mut known = HashMap::new();
        let mut plans: Vec<Arc<dyn ExecutionPlan>> = Vec::with_capacity(tasks);
        for task in 0..tasks {
            let own: Vec<Vec<PartitionedFile>> =
                groups.iter().skip(task).step_by(tasks).cloned().collect();
            let marks = marks_of(own.iter().flatten(), &mut known)?;
            let mut scan = scan.clone();
            scan.file_groups = own.into_iter().map(FileGroup::new).collect();
            plans.push(Arc::new(Guarded {
                scan: DataSourceExec::from_data_source(scan),
                marks,
            }));
        }
        Ok(plans)
    }

    /// All of a scan, in pieces.
    fn pieces(self, scan: &FileScanConfig, slots: usize) -> Vec<PartitionedFile> {
        let files: Vec<_> = scan.file_groups.iter().flat_map(FileGroup::iter).collect();
        let total: u64 = files.iter().map(|file| file.effective_size()).sum();
        let whole =
            !scan.file_source().supports_repartitioning() || !scan.output_ordering.is_empty();
        let bytes = self
            .bytes
            .unwrap_or_else(|| total.div_ceil(slots as u64).max(SMALLEST))
            .max(1);
        let cut = |file: &PartitionedFile| {
            if whole {
                return vec![file.clone()];
            }
            let (from, to) = file.range();
            let starts = (from..to).step_by(usize::try_from(bytes).unwrap_or(usize::MAX));
            let piece = |start: u64| {
                let mut piece = file.clone();
                let end = to.min(start.saturating_add(bytes));
                piece.range = Some(FileRange {
                    start: offset(start),
                    end: offset(end),
                });
                piece
            };
            starts.map(piece).collect::<Vec<_>>()
        };
        files.into_iter().flat_map(cut).collect()
    }
}

/// A log scan for each task; some may have nothing to read.
fn dealt_log(scan: &LogScan, tasks: usize) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
    let mut scans = scan.dealt(tasks)?;
    while scans.len() < tasks {
        scans.push(scan.with_partitions(vec![Vec::new(); scan.partitions().len()])?);
    }
    let files = scan.files()?.into_iter();
    let marks = files
        .map(|(path, size)| Mark::of_log(&path, size))
        .collect::<Result<Vec<_>>>()?;
    let guarded = |scan: LogScan| -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Guarded {
            scan: Arc::new(scan),
            marks: marks.clone(),
        }))
    };
    scans.into_iter().map(guarded).collect()
}

fn offset(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// The marks of the files of some pieces, each once. `known` keeps them for the next task.
fn marks_of<'a>(
    pieces: impl Iterator<Item = &'a PartitionedFile>,
    known: &mut HashMap<String, Mark>,
) -> Result<Vec<Mark>> {
    let mut marks = HashMap::new();
    for piece in pieces {
        let key = piece.object_meta.location.to_string();
        if marks.contains_key(&key) {
            continue;
        }
        let mark = match known.get(&key) {
            Some(mark) => mark.clone(),
            None => {
                let path: PathBuf =
                    LocalFileSystem::new().path_to_filesystem(&piece.object_meta.location)?;
                Mark::of_archive(&path)?
            }
        };
        known.insert(key.clone(), mark.clone());
        marks.insert(key, mark);
    }
    Ok(marks.into_values().collect())
}

/// Whether a part of a plan calls a function.
fn calls(plan: &Arc<dyn ExecutionPlan>, name: &str) -> bool {
    let mut found = false;
    let _ = plan.apply_expressions(&mut |expression| {
        expression.apply(|part| {
            found |= part
                .downcast_ref::<ScalarFunctionExpr>()
                .is_some_and(|call| call.name() == name);
            Ok(TreeNodeRecursion::Continue)
        })
    });
    found
}

fn file_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    plan.downcast_ref::<DataSourceExec>()?
        .data_source()
        .downcast_ref::<FileScanConfig>()
}
