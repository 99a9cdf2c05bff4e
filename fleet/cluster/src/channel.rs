//! Connections to workers. Every error that comes over one names the worker, and a worker that is silent for too long
//! is given up: one that computes still answers pings, one that hangs does not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::HeaderMap;
use tonic::transport::{Channel, Endpoint};
use url::Url;

/// More workers than this at once are not in one cluster: a plan of a stranger made the addresses up.
const MOST: usize = 4096;

/// The connections of a process, one for each worker.
#[derive(Clone)]
pub(crate) struct Channels {
    patience: Duration,
    open: Arc<Mutex<HashMap<Url, Channel>>>,
}

impl Channels {
    pub(crate) fn new(patience: Duration) -> Channels {
        Channels {
            patience,
            open: Arc::default(),
        }
    }

    /// A connection, which is made when it is first used.
    fn channel(&self, url: &Url) -> Result<Channel> {
        let mut open = self
            .open
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(channel) = open.get(url) {
            return Ok(channel.clone());
        }
        if open.len() >= MOST {
            open.clear();
        }
        let endpoint =
            Endpoint::from_shared(url.to_string()).map_err(|e| exec_datafusion_err!("{e}"))?;
        let half = (self.patience / 2).max(Duration::from_millis(1));
        let channel = endpoint
            .connect_timeout(self.patience)
            .http2_keep_alive_interval(half)
            .keep_alive_timeout(half)
            .keep_alive_while_idle(true)
            .connect_lazy();
        open.insert(url.clone(), channel.clone());
        Ok(channel)
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let worker = Worker {
            name: name(url),
            patience: self.patience,
        };
        let channel = self.channel(url).map_err(|e| worker.blame(e))?;
        let inner = create_worker_client(BoxCloneSyncChannel::new(channel));
        Ok(Box::new(Named { inner, worker }))
    }
}

/// A worker as people write it: host and port.
pub(crate) fn name(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    url.port_or_known_default()
        .map_or(host.to_owned(), |port| format!("{host}:{port}"))
}

/// The worker at the other end, for messages.
#[derive(Clone)]
struct Worker {
    name: String,
    patience: Duration,
}

impl Worker {
    fn blame(&self, error: DataFusionError) -> DataFusionError {
        let name = &self.name;
        if let DataFusionError::ResourcesExhausted(text) = error.find_root() {
            return DataFusionError::ResourcesExhausted(format!("worker {name}: {text}"));
        }
        let text = reason(&error);
        let text = match text {
            text if text.contains("keep-alive timed out") || text.contains("KeepAliveTimedOut") => {
                format!(
                    "did not answer for {} s (--timeout)",
                    self.patience.as_secs_f64()
                )
            }
            text if text.contains("h2 protocol error") || text.contains("missing grpc-status") => {
                format!("the connection broke: {text}")
            }
            text => text,
        };
        DataFusionError::External(format!("worker {name}: {text}").into())
    }
}

/// An error in one line: what the engine wraps around it is left out, causes are kept.
pub fn reason(error: &DataFusionError) -> String {
    let root = error.find_root();
    let mut text = match root {
        DataFusionError::Execution(text) => text.clone(),
        DataFusionError::External(error) => match error.downcast_ref::<tonic::Status>() {
            Some(status) => status.message().to_owned(),
            None => error.to_string(),
        },
        root => root.to_string(),
    };
    let mut cause = match root {
        DataFusionError::External(error) => error.source(),
        _ => None,
    };
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A connection that says whose it is.
struct Named {
    inner: Box<dyn WorkerChannel>,
    worker: Worker,
}

#[async_trait]
impl WorkerChannel for Named {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        plan: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let worker = self.worker.clone();
        let answers = self
            .inner
            .coordinator_channel(headers, plan, messages, metrics, context)
            .await;
        let answers = answers.map_err(|e| worker.blame(e))?;
        Ok(answers
            .map(move |answer| answer.map_err(|e| worker.blame(e)))
            .boxed())
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let streams = self
            .inner
            .execute_task(headers, request, metrics, context)
            .await;
        let streams = streams.map_err(|e| self.worker.blame(e))?;
        let named = |stream: BoxStream<'static, Result<RecordBatch>>| {
            let worker = self.worker.clone();
            stream
                .map(move |batch| batch.map_err(|e| worker.blame(e)))
                .boxed()
        };
        Ok(streams.into_iter().map(named).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.inner
            .get_worker_info(request)
            .await
            .map_err(|e| self.worker.blame(e))
    }
}
