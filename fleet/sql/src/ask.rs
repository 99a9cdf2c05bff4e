//! Asking: a session over the paths, one question after the other, and the verdict after each answer.

use crate::args::Args;
use crate::cooperative::CooperativeJoins;
use crate::failure::{Asked, Failure};
use crate::output::Output;
use crate::prompt;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::DFParser;
use futures::StreamExt;
use logdef_cluster::{Cluster, Settings};
use logdef_source::{Config, Tables};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Batches that are made before they are asked for.
const AHEAD: usize = 2;

/// What questions are put to.
pub struct Session {
    pub context: SessionContext,
    pub tables: Arc<Tables>,
    /// Memory that a question may take, in MiB.
    memory: u32,
}

/// Answers what the command line asks.
pub async fn run(args: &Args) -> Result<(), Failure> {
    must_be_of_workers(args)?;
    let session = Session::of(args)?.spread(args).await?;
    if args.query.is_none() && args.file.is_none() && prompt::is_possible() {
        return prompt::run(&session, args.output).await;
    }
    let question = question(args)?;
    session
        .answer_all(&question, &mut Output::new(args.output))
        .await
}

/// Workers read files of their machines only.
fn must_be_of_workers(args: &Args) -> Result<(), Failure> {
    let mut paths = args.paths.iter();
    match paths.find(|path| logdef_source::is_remote(path)) {
        Some(path) if args.workers.is_some() => {
            let why =
                format!("{path}: workers (--workers) read files: copy it to them or mount it");
            Err(Failure::Question(why))
        }
        _ => Ok(()),
    }
}

/// The same batches, made by a task of their own: who asks can turn to something else, and drop them.
fn apart(mut batches: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let mut stream = RecordBatchReceiverStreamBuilder::new(batches.schema(), AHEAD);
    let out = stream.tx();
    stream.spawn(async move {
        while let Some(batch) = batches.next().await {
            if out.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    });
    stream.build()
}

fn question(args: &Args) -> Result<String, Failure> {
    if let Some(query) = &args.query {
        return Ok(query.clone());
    }
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let read = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    read.map_err(|error| Failure::Question(format!("{}: {error}", file.display())))
}

impl Session {
    fn of(args: &Args) -> Result<Session, Failure> {
        let mut config = Config::of(args.paths.clone());
        config.split = args.split;
        config.excerpt_from = args.excerpt_from;
        config.image_dirs.clone_from(&args.image_dir);
        config.debug_dirs.clone_from(&args.debug_dir);
        config.no_logged_paths = args.no_logged_paths;
        let failed = |error| Failure::of(&error);
        let tables = Tables::open(config).map_err(failed)?;
        let mut options = SessionConfig::new().with_information_schema(true);
        if let Some(cores) = args.cores {
            options = options.with_target_partitions(cores.max(1));
        }
        // Conditions are looked at while columns are unpacked, and texts asked for in filters first.
        options.options_mut().execution.parquet.pushdown_filters = true;
        for set in &args.set {
            let (name, value) = set
                .split_once('=')
                .ok_or_else(|| Failure::Question(format!("--set {set}: it has no value")))?;
            let options = options.options_mut();
            options.set(name.trim(), value.trim()).map_err(failed)?;
        }
        let bytes = args.memory as usize * (1 << 20);
        let memory = RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0);
        let runtime = memory.build_arc().map_err(failed)?;
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(options)
            .with_runtime_env(runtime)
            .with_physical_optimizer_rule(Arc::new(CooperativeJoins));
        let context = SessionContext::new_with_state(state.build());
        tables.register(&context).map_err(failed)?;
        Ok(Session {
            context,
            tables,
            memory: args.memory,
        })
    }

    /// The same, answered by workers if any are named.
    async fn spread(self, args: &Args) -> Result<Session, Failure> {
        let Some(workers) = &args.workers else {
            return Ok(self);
        };
        let failed = |error| Failure::of(&error);
        let cluster = Cluster::meet(workers, args.timeout).await.map_err(failed)?;
        let mut settings = Settings::default();
        settings.split = args.split;
        settings.stealing = args.work_stealing;
        let context = cluster
            .session(&self.context, &self.tables, settings)
            .map_err(failed)?;
        Ok(Session { context, ..self })
    }

    /// Answers questions with semicolons between.
    pub async fn answer_all(&self, text: &str, output: &mut Output) -> Result<(), Failure> {
        let failed = |error| Failure::of(&error);
        let parsed = DFParser::parse_sql(text).map_err(failed)?;
        if parsed.is_empty() {
            return Err(Failure::Question(
                "no query was given: use --query, or standard input".into(),
            ));
        }
        for statement in parsed {
            let question = statement.to_string();
            let asked = Asked {
                question: &question,
                memory: self.memory,
            };
            let failed = |error| asked.failed(&error);
            let state = self.context.state();
            let plan = state.statement_to_plan(statement).await.map_err(failed)?;
            let (plan, tables) = self.tables.narrowed(plan, &state).map_err(failed)?;
            let frame = self
                .context
                .execute_logical_plan(plan)
                .await
                .map_err(failed)?;
            let mut stream = apart(frame.execute_stream().await.map_err(failed)?);
            output.begin(&stream.schema())?;
            while let Some(batch) = stream.next().await {
                output.batch(&batch.map_err(failed)?)?;
            }
            output.end()?;
            say(&tables)?;
        }
        Ok(())
    }

    /// Says whether the records are complete.
    pub fn verdict(&self) -> Result<(), Failure> {
        say(&self.tables)
    }
}

fn say(tables: &Tables) -> Result<(), Failure> {
    let verdict = tables.verdict().map_err(|error| Failure::of(&error))?;
    let line = crate::escape::line(&verdict.to_string());
    // A closed standard error is no reason to fail.
    let _ = writeln!(io::stderr(), "{line}");
    Ok(())
}
