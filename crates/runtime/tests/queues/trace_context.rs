//! A trace goes on across the bus.

use std::sync::Arc;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use ostler_bus::Envelope;
use ostler_runtime::agents::{AgentContext, AgentError, AgentReply, QueueAgent};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::kit::{Backend, eventually};
use crate::support::{Probe, name, say, spec};

/// Passes each message on to an agent.
struct Forwarder;

impl QueueAgent for Forwarder {
    async fn process(
        &self,
        context: &AgentContext,
        _: &Arc<Envelope>,
    ) -> Result<Option<AgentReply>, AgentError> {
        context.send(&name("second"), say(2)).await?;
        Ok(None)
    }
}

/// K08: what an agent does because of a message belongs to the trace of the message, and the
/// next agent's span is below its own.
async fn a_trace_goes_on_across_the_bus(backend: &Backend) {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer);
    let _until_the_end = tracing::subscriber::set_default(subscriber);

    let runtime = backend.runtime().await;
    let second = Probe::silent();
    runtime.start(spec("second"), second.clone()).await.unwrap();
    runtime.start(spec("first"), Forwarder).await.unwrap();
    runtime.send(&name("first"), say(1)).await.unwrap();
    second.wait_for(1).await;
    let of = |span: &str| -> Option<SpanData> {
        let spans = exporter.get_finished_spans().unwrap();
        spans.into_iter().find(|one| one.name == span)
    };
    let both = async || of("process second").is_some() && of("process first").is_some();
    eventually("both spans to end", both).await;
    let (first, second) = (of("process first").unwrap(), of("process second").unwrap());
    assert_eq!(second.span_context.trace_id(), first.span_context.trace_id());
    assert_eq!(second.parent_span_id, first.span_context.span_id());
    runtime.shutdown().await.unwrap();
}

// The subscriber is that of the thread, so everything runs on one.
#[tokio::test]
async fn k08_a_trace_goes_on_across_the_bus_in_memory() {
    a_trace_goes_on_across_the_bus(&Backend::Memory).await;
}

#[tokio::test]
async fn k08_a_trace_goes_on_across_rabbitmq() {
    a_trace_goes_on_across_the_bus(&Backend::rabbitmq()).await;
}
