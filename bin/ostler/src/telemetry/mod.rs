//! What the program tells monitoring: metrics for Prometheus, traces for OpenTelemetry.

mod metrics;
mod process;
mod traces;

pub(crate) use metrics::ProcessMetrics;
pub(crate) use traces::TraceExporter;
