//! What is ours in a plan, as bytes and back: guarded scans, and what `logdef_source` adds to the engine. A worker
//! takes nothing from a plan that would make it read outside of its folders.

use std::sync::Arc;

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};

use crate::folders::{self, Folders};
use crate::guard::Guarded;

const GUARDED: u8 = 0;
const SOURCE: u8 = 1;

/// The codec of either side.
#[derive(Debug)]
pub(crate) struct Codec {
    source: logdef_source::Codec,
    /// Those of a worker.
    folders: Option<Arc<Folders>>,
}

impl Codec {
    pub(crate) fn source(&self) -> &logdef_source::Codec {
        &self.source
    }

    pub(crate) fn of_coordinator() -> Codec {
        Codec {
            source: logdef_source::Codec::default(),
            folders: None,
        }
    }

    pub(crate) fn of_worker(folders: Arc<Folders>) -> Codec {
        let own = Arc::clone(&folders);
        let source = logdef_source::Codec::reading_only(move |path| {
            own.check(path)
                .map_err(|e| exec_datafusion_err!("{}", folders::said(&e)))
        });
        Codec {
            source,
            folders: Some(folders),
        }
    }
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (bytes.split_first(), &self.folders) {
            (Some((&GUARDED, bytes)), Some(folders)) => Guarded::admit(bytes, inputs, folders),
            (Some((&SOURCE, bytes)), _) => {
                self.source.try_decode(bytes, inputs, context, converter)
            }
            _ => exec_err!("a part of a plan that this version does not know"),
        }
    }

    fn try_encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(guarded) = plan.downcast_ref::<Guarded>() {
            bytes.push(GUARDED);
            bytes.extend(guarded.encode());
            return Ok(());
        }
        bytes.push(SOURCE);
        self.source.try_encode(plan, bytes, converter)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.source.try_decode_udf(name, bytes)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.source.try_encode_udf(function, bytes)
    }
}
