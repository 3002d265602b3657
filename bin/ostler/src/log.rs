//! The log of `ostler serve` and `ostler worker`: one line per event, on stderr.

use anyhow::Context as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::telemetry::TraceExporter;

/// Starts logging with this filter, such as `ostler_runtime=debug,warn`; by default
/// warnings, and events of the server and the bus. Spans go to the exporter of traces, if there
/// is one.
pub(crate) fn init(filter: Option<&str>, traces: Option<&TraceExporter>) -> anyhow::Result<()> {
    let filter = match filter {
        Some(text) => text.parse().with_context(|| {
            format!("`{text}` is not a log filter; write a level such as debug, or part=level")
        })?,
        None => Targets::new()
            .with_default(LevelFilter::WARN)
            // Connection errors are logged by the code that uses the connection.
            .with_target("deadpool", LevelFilter::OFF)
            .with_target("lapin", LevelFilter::OFF)
            .with_target("ostler_server", LevelFilter::INFO)
            .with_target("ostler_bus", LevelFilter::INFO),
    };
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_filter(filter);
    let traces = traces.map(TraceExporter::layer);
    tracing_subscriber::registry().with(layer).with(traces).try_init()?;
    Ok(())
}
