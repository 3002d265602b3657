//! The log of a process that serves or works: one line for each event, on stderr.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// The variable that says what is logged, such as `ostler_runtime=debug,warn`.
const VARIABLE: &str = "OSTLER_LOG";

/// Begins to log: warnings of all, and what the server is asked.
pub(crate) fn begin() -> anyhow::Result<()> {
    let wanted = match std::env::var(VARIABLE) {
        Ok(wanted) => wanted.parse()?,
        Err(_) => Targets::new()
            .with_default(LevelFilter::WARN)
            // What is wrong with a connection is said by those who need it.
            .with_target("deadpool", LevelFilter::OFF)
            .with_target("lapin", LevelFilter::OFF)
            .with_target("ostler_server", LevelFilter::INFO)
            .with_target("ostler_bus", LevelFilter::INFO),
    };
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_filter(wanted);
    tracing_subscriber::registry().with(lines).try_init()?;
    Ok(())
}
