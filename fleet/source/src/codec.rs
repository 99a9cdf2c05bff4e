//! Plans on their way to another process: the leaf that reads logs, and the functions that look into
//! the side tables. Both bring along the description of their tables, which a process turns into
//! tables once.

use crate::functions;
use crate::logs::LogScan;
use crate::tables::Tables;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Tables that are kept at hand.
const KEPT: usize = 4;

/// Whether a file may be read.
type May = dyn Fn(&Path) -> Result<()> + Send + Sync;

/// A description, and the tables that were made from it.
type Described = (Arc<[u8]>, Arc<Tables>);

/// Encodes and decodes what is ours in a plan.
#[derive(Default)]
pub struct Codec {
    /// The tables that came last, with their descriptions.
    known: Mutex<Vec<Described>>,
    may: Option<Box<May>>,
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

impl Codec {
    /// One that makes tables only of files that may be read.
    pub fn reading_only(may: impl Fn(&Path) -> Result<()> + Send + Sync + 'static) -> Codec {
        Codec {
            may: Some(Box::new(may)),
            ..Codec::default()
        }
    }

    /// The tables of a description.
    ///
    /// # Errors
    ///
    /// If the bytes are no description, or name a file that may not be read.
    pub fn tables(&self, description: &[u8]) -> Result<Arc<Tables>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tables)) = known.iter().find(|(own, _)| **own == *description) {
            return Ok(Arc::clone(tables));
        }
        let tables = Tables::from_description(description)?;
        if let Some(may) = &self.may {
            let config = tables.config();
            let dirs = config.image_dirs.iter().chain(&config.debug_dirs);
            tables.files().try_for_each(may)?;
            dirs.map(PathBuf::as_path).try_for_each(may)?;
        }
        known.truncate(KEPT - 1);
        known.insert(0, (description.into(), Arc::clone(&tables)));
        Ok(tables)
    }

    /// The description of tables, which is made once.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn description(&self, tables: &Arc<Tables>) -> Result<Arc<[u8]>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((description, _)) = known.iter().find(|(_, own)| Arc::ptr_eq(own, tables)) {
            return Ok(Arc::clone(description));
        }
        let description: Arc<[u8]> = tables.describe()?.into();
        known.truncate(KEPT - 1);
        known.insert(0, (Arc::clone(&description), Arc::clone(tables)));
        Ok(description)
    }
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        buf: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (scan, description) = parts(buf)?;
        Ok(Arc::new(LogScan::decode(scan, self.tables(description)?)?))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(scan) = node.downcast_ref::<LogScan>() else {
            let why = format!("{} cannot be sent to another process", node.name());
            return Err(DataFusionError::NotImplemented(why));
        };
        let encoded = scan.encode()?;
        buf.extend((encoded.len() as u64).to_be_bytes());
        buf.extend(encoded);
        buf.extend_from_slice(&self.description(scan.tables())?);
        Ok(())
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        if let Some(tables) = functions::tables_of(node) {
            buf.extend_from_slice(&self.description(tables)?);
        }
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        functions::named(name, &self.tables(buf)?)
    }
}

/// The scan and the description of its tables.
fn parts(buf: &[u8]) -> Result<(&[u8], &[u8])> {
    let broken = || DataFusionError::Internal("a scan of logs that is cut short".into());
    let (len, rest) = buf.split_first_chunk().ok_or_else(broken)?;
    let len = usize::try_from(u64::from_be_bytes(*len)).map_err(|_| broken())?;
    rest.split_at_checked(len).ok_or_else(broken)
}
