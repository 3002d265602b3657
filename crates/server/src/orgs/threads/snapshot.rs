//! What is going on in a thread.

use ostler_api::problem::ProblemCode;
use ostler_api::thread::{ThreadMode, ThreadSnapshot};
use ostler_harness::HarnessThread;
use serde::Serialize;
use serde_json::Value;

use crate::error::Result;
use crate::server::Server;
use crate::threads::{LiveThread, ThreadOwner};

/// Returns a snapshot of a thread, which is opened unless another process works on it.
pub(super) async fn read(
    server: &Server,
    owner: &ThreadOwner,
    thread: HarnessThread,
) -> Result<ThreadSnapshot> {
    match server.threads.open(owner, thread.id).await {
        Ok(live) => Ok(of_live(&live, thread).await),
        Err(error) if error.0.code == ProblemCode::InUse => {
            Ok(ThreadSnapshot { held_by: Some(error.0.detail), ..stored(&thread) })
        }
        Err(other) => Err(other),
    }
}

/// Returns what is stored of a thread.
pub(super) fn stored(thread: &HarnessThread) -> ThreadSnapshot {
    ThreadSnapshot {
        held_by: None,
        mode_id: thread.metadata.current_mode_id.clone(),
        model_id: thread.metadata.current_model_id.clone(),
        modes: Vec::new(),
        turn_id: None,
        follow_ups: 0,
        tasks: thread.metadata.tasks.iter().map(json).collect(),
        asks: Vec::new(),
        draft: None,
        thread: json(thread),
    }
}

/// Returns the snapshot of a thread that is open here.
pub(super) async fn of_live(live: &LiveThread, thread: HarnessThread) -> ThreadSnapshot {
    let harness = &live.harness;
    let thread = harness.current_thread().await.unwrap_or(thread);
    let current = harness.current_events();
    let modes = harness.list_modes().iter();
    ThreadSnapshot {
        mode_id: Some(harness.current_mode_id().await),
        model_id: harness.current_model_id(),
        modes: modes
            .map(|mode| ThreadMode { id: mode.id.clone(), name: mode.name.clone() })
            .collect(),
        turn_id: harness.current_turn_id().await,
        follow_ups: harness.follow_up_count().await,
        tasks: harness.tasks().iter().map(json).collect(),
        asks: current.asks.iter().map(json).collect(),
        draft: current.draft.as_ref().map(json),
        ..stored(&thread)
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
