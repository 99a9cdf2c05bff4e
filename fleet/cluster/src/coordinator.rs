//! The side that asks: meets its workers, and makes a session plan for them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::ipc::CompressionType;
use datafusion::common::{DataFusionError, Result, config_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    ChannelResolver, DesiredTaskCountEvent, DistributedExt, GetWorkerInfoRequest,
    ScaleUpLeafNodeEvent, SessionStateBuilderExt, WorkerResolver,
};
use http::HeaderValue;
use logdef_source::Tables;
use url::{Host, Url};

use crate::channel::{Channels, name};
use crate::codec::Codec;
use crate::split::Split;
use crate::{described, settings, version};

/// Bytes of answers that are kept for each connection until they are used.
const BUFFERED: usize = 8 << 20;

/// How work is dealt out.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Bytes of a piece of an archive's file; by default, a piece for each slot. Logs have been cut before.
    pub split: Option<u64>,
    /// Whether scans of one process take files from each other, for tests that it does no harm.
    pub stealing: bool,
}

/// Workers that were met and are of this version.
pub struct Cluster {
    workers: Vec<Url>,
    channels: Channels,
}

impl Cluster {
    /// Meets workers at `HOST:PORT` each.
    ///
    /// # Errors
    ///
    /// One of them is not reached, is silent for `patience`, or is of another version; the error names it.
    pub async fn meet(addresses: &[String], patience: Duration) -> Result<Cluster> {
        let workers = addresses
            .iter()
            .map(|address| parse(address))
            .collect::<Result<Vec<_>>>()?;
        let mut seen = HashSet::new();
        if let Some(twice) = workers.iter().find(|url| !seen.insert(*url)) {
            return config_err!("worker {} is named twice", name(twice));
        }
        if workers.is_empty() {
            return config_err!("no worker is named");
        }
        let cluster = Cluster {
            workers,
            channels: Channels::new(patience),
        };
        let met = cluster
            .workers
            .iter()
            .map(|url| cluster.greet(url, patience));
        futures::future::try_join_all(met).await?;
        Ok(cluster)
    }

    /// How batches are packed on their way: between processes of one machine not at all.
    fn compression(&self) -> Option<CompressionType> {
        let is_spread = !self.workers.iter().all(is_of_this_machine);
        is_spread.then_some(CompressionType::LZ4_FRAME)
    }

    async fn greet(&self, url: &Url, patience: Duration) -> Result<()> {
        let mut worker = self.channels.get_worker_client_for_url(url).await?;
        let info =
            tokio::time::timeout(patience, worker.get_worker_info(GetWorkerInfoRequest {})).await;
        let name = name(url);
        let Ok(info) = info else {
            let text = format!(
                "worker {name}: did not answer for {} s (--timeout)",
                patience.as_secs_f64()
            );
            return Err(DataFusionError::External(text.into()));
        };
        match version::refuse(&format!("worker {name}"), &info?.version) {
            Some(why) => Err(DataFusionError::External(why.into())),
            None => Ok(()),
        }
    }

    /// The same session over these tables, whose plans run on the workers.
    ///
    /// # Errors
    ///
    /// A setting of the session, or what was found of the tables, cannot be sent.
    pub fn session(
        &self,
        context: &SessionContext,
        tables: &Arc<Tables>,
        settings: Settings,
    ) -> Result<SessionContext> {
        let split = Split {
            bytes: settings.split,
            workers: self.workers.len(),
        };
        let mut state = SessionStateBuilder::new_from_existing(context.state());
        let options = state.config().get_or_insert_default().options_mut();
        options.execution.enable_file_stream_work_stealing = settings.stealing;
        // Only a scan of several partitions is sent to workers, whatever its size.
        options.optimizer.repartition_file_min_size = 0;
        options.execution.target_partitions = options.execution.target_partitions.max(2);
        let mut headers = settings::headers(options)?;
        let version = HeaderValue::from_str(&version());
        headers.insert(
            version::HEADER,
            version.map_err(|e| DataFusionError::External(e.into()))?,
        );
        let codec = Codec::of_coordinator();
        described::insert(&codec.source().description(tables)?, &mut headers)?;
        let state = state
            .with_distributed_user_codec(codec)
            .with_distributed_worker_resolver(Addresses(self.workers.clone()))
            .with_distributed_channel_resolver(self.channels.clone())
            .with_distributed_planner()
            .with_distributed_passthrough_headers(headers)?
            .with_distributed_metrics_collection(false)?
            .with_distributed_compression(self.compression())?
            .with_distributed_max_tasks_per_stage(self.workers.len().max(2))?
            .with_distributed_worker_connection_buffer_budget_bytes(BUFFERED)?
            .with_distributed_desired_task_count_handler(move |event: DesiredTaskCountEvent<'_>| {
                split.tasks(event)
            })
            .with_distributed_scale_up_leaf_node_handler(move |event: ScaleUpLeafNodeEvent<'_>| {
                split.plans(event)
            });
        Ok(SessionContext::new_with_state(state.build()))
    }
}

fn is_of_this_machine(worker: &Url) -> bool {
    match worker.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn parse(address: &str) -> Result<Url> {
    match Url::parse(&format!("http://{address}")) {
        Ok(url)
            if url.port_or_known_default().is_some()
                && url.path() == "/"
                && url.host().is_some() =>
        {
            Ok(url)
        }
        _ => config_err!(
            "\"{}\" is not the address of a worker, HOST:PORT",
            address.escape_default()
        ),
    }
}

struct Addresses(Vec<Url>);

impl WorkerResolver for Addresses {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.clone())
    }
}
