//! Heartbeats: work that is repeated in the background. They do not keep a program alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ostler_harness::HeartbeatHandler;

use super::{Printed, harness};

pub(super) async fn run() -> Printed {
    let beats = Arc::new(AtomicU32::new(0));
    let counted = beats.clone();
    let pulse = HeartbeatHandler::new("pulse", Duration::from_millis(5), move || {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    });
    let harness = harness("default: Hello!").await?.heartbeat(pulse).build()?;
    harness.init().await?;
    while beats.load(Ordering::Relaxed) < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let removed = harness.remove_heartbeat("pulse").await;
    let again = HeartbeatHandler::new("pulse", Duration::from_secs(60), || async { Ok(()) });
    harness.register_heartbeat(&again)?;
    Ok(format!("three beats, removed: {removed}; the second one is left running"))
}
