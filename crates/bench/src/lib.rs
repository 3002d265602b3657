//! The suites of `ostler bench`. Each measures Ostler beside the bare driver,
//! channel or broker doing the same work in the same run.
//!
//! On a noisy machine the ratio to that limit says more than the number alone.

mod apply;
mod bus;
mod harness;
mod http;
mod memory;
mod path;
mod pipeline;
mod report;
mod store;
mod tui;
mod turn;
mod workflow;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ostler_engine::model::Model;
pub use report::{Machine, Measurement, Report};

/// Options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time limit of a suite.
    pub time: Duration,
    /// URL of a PostgreSQL server to measure as well.
    pub postgres: Option<String>,
    /// URL of a RabbitMQ broker to measure as well.
    pub amqp: Option<String>,
    /// The model whose observations the memory suite looks at.
    pub model: Option<BenchModel>,
}

/// A model to measure.
#[derive(Clone)]
pub struct BenchModel(pub Arc<dyn Model>);

impl fmt::Debug for BenchModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BenchModel").finish_non_exhaustive()
    }
}

/// A benchmark suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Commits of turns and reads of history.
    Store,
    /// Queue agents: requests, broadcasts, idle agents.
    Bus,
    /// Whole turns, without a store.
    Turn,
    /// Whole turns of customers' conversations.
    Pipeline,
    /// Messages of customers from the webhook to the reply at the gateway.
    Path,
    /// Requests to the HTTP server.
    Http,
    /// Whole turns of interactive harnesses.
    Harness,
    /// The memory of long threads.
    Memory,
    /// World files of many orgs.
    Apply,
    /// Frames of the terminal UI.
    Tui,
    /// Checkpointed steps of workflows.
    Workflow,
}

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Store(#[from] ostler_store::StoreError),
    #[error("the bare database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the bare database failed: {0}")]
    Postgres(#[from] tokio_postgres::Error),
    #[error("no temporary folder for a database: {0}")]
    Folder(#[from] std::io::Error),
    #[error(transparent)]
    Bus(#[from] ostler_bus::BusError),
    #[error("the bare AMQP client failed: {0}")]
    Broker(#[from] lapin::Error),
    #[error(transparent)]
    Agents(#[from] ostler_runtime::agents::QueueError),
    #[error(transparent)]
    Name(#[from] ostler_domain::queue_agent::name::InvalidName),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("unexpected HTTP: {0}")]
    Http(String),
    #[error("an agent stopped without a reply")]
    NoReply,
    #[error("the tool of the benchmark was not called")]
    ToolNotCalled,
    #[error(transparent)]
    Tool(#[from] ostler_engine::tool::ToolSetError),
    #[error(transparent)]
    HarnessConfig(#[from] ostler_harness::ConfigError),
    #[error(transparent)]
    Harness(#[from] ostler_harness::HarnessError),
    #[error(transparent)]
    Operation(#[from] ostler_runtime::operations::OperationError),
    #[error(transparent)]
    Routes(#[from] ostler_server::TableError),
    #[error(transparent)]
    Workspace(#[from] ostler_workspace::error::WorkspaceError),
    #[error("no command can be run in a sandbox: {0}")]
    Command(#[from] ostler_workspace::sandbox::CommandError),
    #[error("the world of the suite is refused: {0}")]
    World(String),
    #[error("the terminal UI cannot start: {0}")]
    Chat(String),
    #[error("a task of the suite failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Runs a suite and reports each measurement's name to `progress` before it starts.
pub async fn run(
    suite: Suite,
    options: &Options,
    progress: impl FnMut(&str),
) -> Result<Report, BenchError> {
    let (suite, results) = match suite {
        Suite::Store => ("store", store::run(options, progress).await?),
        Suite::Bus => ("bus", bus::run(options, progress).await?),
        Suite::Pipeline => ("pipeline", pipeline::run(options, progress).await?),
        Suite::Path => ("path", path::run(options, progress).await?),
        Suite::Http => ("http", http::run(options, progress).await?),
        Suite::Harness => ("harness", harness::run(options, progress).await?),
        Suite::Memory => ("memory", memory::run(options, progress).await?),
        Suite::Apply => ("apply", apply::run(options, progress).await?),
        Suite::Tui => ("tui", tui::run(options, progress)?),
        Suite::Workflow => ("workflow", workflow::run(options, progress).await?),
        Suite::Turn => ("turn", turn::run(options, progress).await?),
    };
    Ok(Report { suite, machine: Machine::read(), results })
}
