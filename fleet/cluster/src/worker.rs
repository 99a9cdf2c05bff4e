//! The side that works: a process that runs plans over files of its own machine until it is stopped.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::SessionState;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_distributed::{DistributedExt, Worker, WorkerQueryContext, WorkerSessionBuilder};
use logdef_source::Tables;
use tokio::net::TcpListener;
use tonic::transport::Server;

use crate::channel::Channels;
use crate::codec::Codec;
use crate::folders::{Folders, Store};
use crate::{described, listener, settings, split, version};

/// The longest plan, in bytes: room for 100,000 pieces of files.
const LONGEST_PLAN: usize = 16 << 20;
/// Requests at once on one connection.
const STREAMS: u32 = 256;
/// Memory that the process needs whatever it is asked, in bytes; the rest is for queries.
const BASE: usize = 128 << 20;

/// How a worker is started.
pub struct WorkerOptions {
    /// Where it listens; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The folders it may read.
    pub data: Vec<PathBuf>,
    /// Bytes of memory, about.
    pub memory: usize,
    /// How long a peer may be silent.
    pub patience: Duration,
}

/// Listens, calls `ready` with the address, and runs plans until the process ends.
///
/// A panic ends the process: the engine takes a task that panicked for one that has finished, and the answer would be
/// short.
///
/// # Errors
///
/// A folder is not there, or the address cannot be listened at.
pub async fn serve(options: WorkerOptions, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        before(panic);
        std::process::abort();
    }));
    let folders = Arc::new(Folders::new(&options.data)?);
    let listener = TcpListener::bind(options.listen).await?;
    ready(listener.local_addr()?);
    let pool = options.memory.saturating_sub(BASE).max(options.memory / 4);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(pool)))
        .with_object_store_registry(Arc::new(Store(Arc::clone(&folders))))
        .build_arc()
        .map_err(io::Error::other)?;
    let sessions = Sessions {
        codec: Arc::new(Codec::of_worker(folders)),
        channels: Channels::new(options.patience),
    };
    let worker = Worker::from_session_builder(sessions)
        .with_runtime_env(runtime)
        .with_version(version());
    Server::builder()
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(described::MOST)
        .http2_keepalive_interval(Some(options.patience))
        .http2_keepalive_timeout(Some(options.patience))
        .add_service(
            worker
                .into_worker_server()
                .max_decoding_message_size(LONGEST_PLAN),
        )
        .serve_with_incoming(listener::connections(listener))
        .await
        .map_err(io::Error::other)
}

/// Makes the session of a task.
struct Sessions {
    /// One for all tasks, since it keeps what it has read about the tables that plans name.
    codec: Arc<Codec>,
    channels: Channels,
}

#[async_trait]
impl WorkerSessionBuilder for Sessions {
    async fn build_session_state(
        &self,
        query: WorkerQueryContext,
    ) -> Result<SessionState, DataFusionError> {
        let WorkerQueryContext {
            builder: mut session,
            headers,
        } = query;
        let theirs = headers
            .get(version::HEADER)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if let Some(why) = version::refuse("the coordinator", theirs) {
            return exec_err!("{why}");
        }
        settings::apply(
            &headers,
            session.config().get_or_insert_default().options_mut(),
        )?;
        if let Some(description) = described::find(&headers)? {
            let tables = self.tables(description).await?;
            let known = tables
                .functions()
                .into_iter()
                .filter(|function| function.name() != split::AT_HOME);
            session
                .scalar_functions()
                .get_or_insert_default()
                .extend(known.map(Arc::new));
        }
        let session = session
            .with_distributed_user_codec_arc(Arc::clone(&self.codec) as _)
            .with_distributed_channel_resolver(self.channels.clone());
        Ok(session.build())
    }
}

impl Sessions {
    /// The tables of a description, whose files are looked at where that may take its time.
    async fn tables(&self, description: Bytes) -> Result<Arc<Tables>> {
        let codec = Arc::clone(&self.codec);
        let tables = tokio::task::spawn_blocking(move || codec.source().tables(&description)).await;
        tables.map_err(|e| DataFusionError::External(e.into()))?
    }
}
