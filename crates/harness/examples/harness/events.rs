//! Events: one stream, which a reader that was away continues without a gap.

use ostler_harness::{EventKind, TurnLifeEvent};

use super::{Printed, harness};

pub(super) async fn run() -> Printed {
    let harness = harness("default: Hello!").await?.build()?;
    harness.init().await?;
    let mut events = harness.subscribe();
    harness.send_message("Hi").await?;
    let mut seen = Vec::new();
    let mut last = 0;
    loop {
        let event = events.next().await;
        seen.push(serde_json::to_value(&*event)?["type"].to_string());
        last = event.ext.id.unwrap_or(last);
        if matches!(event.kind, EventKind::Turn(TurnLifeEvent::AgentEnd { .. })) {
            break;
        }
    }
    // The reader goes away; its successor begins after the last event that it has seen.
    drop(events);
    harness.send_message("Hi again").await?;
    let thread = harness.current_thread().await.ok_or("no thread")?.id;
    let mut later = harness.subscribe_after(thread, last);
    let first = serde_json::to_value(&*later.next().await)?["type"].to_string();
    Ok(format!("{}\nthen {first}", seen.join(" ")))
}
