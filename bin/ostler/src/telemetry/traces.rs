//! Exports traces to an OpenTelemetry collector (OTLP over HTTP). The spans and their names come
//! from the code that works; see `ostler_engine::driver` and `docs/MONITORING.md`.

use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use ostler_engine::driver::TRACE_TARGET;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::config::Config;

/// How long sending a batch of spans may take.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Exports the spans of this process.
pub(crate) struct TraceExporter {
    provider: SdkTracerProvider,
}

impl TraceExporter {
    /// Returns the configured exporter; `None` if no collector is configured.
    pub(crate) fn of(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(endpoint) = &config.otlp_endpoint else { return Ok(None) };
        ostler_http::set_default_ciphers();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .with_context(|| format!("`otlp_endpoint` cannot be used: {endpoint}"))?;
        let percent = config.trace_percent.unwrap_or(100).min(100);
        let sampler = Sampler::TraceIdRatioBased(f64::from(percent) / 100.0);
        let resource = Resource::builder()
            .with_service_name("ostler")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(sampler)))
            .with_resource(resource)
            .build();
        Ok(Some(Self { provider }))
    }

    /// Returns the layer that hands spans to the exporter.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let tracer = self.provider.tracer("ostler");
        let filter = Targets::new().with_target(TRACE_TARGET, LevelFilter::INFO);
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_filter(filter)
    }

    /// Sends what is left.
    pub(crate) async fn finish(self) {
        let flushed = tokio::task::spawn_blocking(move || self.provider.shutdown()).await;
        if let Ok(Err(error)) = flushed {
            tracing::warn!(%error, "the last traces were not exported");
        }
    }
}
