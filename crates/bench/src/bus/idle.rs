//! Memory of registered agents without messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_bus::MemoryBus;
use ostler_runtime::agents::{AgentRecord, AgentRuntime, EchoAgent, HostingOptions, Placement};

use super::agents::name;
use crate::BenchError;
use crate::report::{Measurement, resident_bytes};

/// Numbers of agents at which memory is measured.
const AGENTS: [usize; 2] = [100_000, 1_000_000];
/// With less time than this, only the smaller number is measured.
const TIME_FOR_ALL: Duration = Duration::from_secs(10);

/// Registers agents; `value` is the bytes of each, the rate that of registering.
pub(super) async fn run(
    time: Duration,
    progress: &mut impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    let builder = AgentRuntime::builder(Arc::new(MemoryBus::default()));
    let runtime = builder.hosting(HostingOptions::default()).start().await?;
    let (before, start, mut registered) = (resident_bytes(), Instant::now(), 0);
    let mut results = Vec::new();
    let looks = if time < TIME_FOR_ALL { &AGENTS[..1] } else { &AGENTS };
    for &agents in looks {
        let measured = format!("bus.idle_agent_bytes.{agents}");
        progress(&measured);
        while registered < agents {
            let record = AgentRecord::new(name(registered)?, EchoAgent::TYPE, Placement::Hosted);
            let capabilities = ["echo".into()].into();
            runtime.host(AgentRecord { capabilities, ..record }).await?;
            registered += 1;
        }
        let each = resident_bytes().saturating_sub(before) as f64 / agents as f64;
        let all = start.elapsed();
        results
            .push(Measurement::sampled(measured, agents, Vec::new(), all, None).with_value(each));
    }
    runtime.shutdown().await?;
    Ok(results)
}
