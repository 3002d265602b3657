//! The suites of `ostler bench`: what Ostler does, beside the bare part doing
//! the same work in the same run.
//!
//! A number alone says little on a noisy machine; the ratio to the limit that
//! was measured a moment before says how much is lost on the way.

mod pipeline;
mod report;
mod store;
mod turn;

use std::time::Duration;

pub use report::{Machine, Measurement, Report};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long a suite may take.
    pub time: Duration,
    /// A PostgreSQL server to measure, too.
    pub postgres: Option<String>,
}

/// A suite by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Commits of turns and reads of history.
    Store,
    /// Whole turns, without a store.
    Turn,
    /// Whole turns of customers' conversations.
    Pipeline,
}

/// A measurement that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] ostler_store::StoreError),
    /// The bare SQLite refused.
    #[error("the bare database refused: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The bare PostgreSQL refused.
    #[error("the bare database refused: {0}")]
    Postgres(#[from] tokio_postgres::Error),
    /// There is no room for a database.
    #[error("no temporary folder for a database: {0}")]
    Folder(#[from] std::io::Error),
    /// A tool of the suite cannot be offered.
    #[error(transparent)]
    Tool(#[from] ostler_engine::tool::BadTool),
    /// A part of the suite fell over.
    #[error("a part of the suite stopped: {0}")]
    Stopped(#[from] tokio::task::JoinError),
}

/// Runs a suite; `progress` is told what is measured next.
pub async fn run(
    suite: Suite,
    options: &Options,
    progress: impl FnMut(&str),
) -> Result<Report, BenchError> {
    let (suite, results) = match suite {
        Suite::Store => ("store", store::run(options, progress).await?),
        Suite::Pipeline => ("pipeline", pipeline::run(options, progress).await?),
        Suite::Turn => ("turn", turn::run(options, progress).await?),
    };
    Ok(Report { suite, machine: Machine::read(), results })
}
