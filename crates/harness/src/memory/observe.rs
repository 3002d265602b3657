//! The observer: condenses messages into observations.

use std::fmt::Write as _;

use ostler_domain::memory::answer::{ObservationDraft, parse_observations};
use ostler_domain::memory::observation::Speaker;
use ostler_domain::memory::window::MemoryTask;
use ostler_domain::memory::{MessageOrigin, MessageSpan, Observation};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::tokens;
use ostler_store::{MemoryMessage, MemoryPurpose, ObservationState, StoredObservation};
use serde_json::json;

use super::ask;
use super::state::TaskOutput;
use super::thread::Shared;
use super::worker::{TaskError, TaskResult};

const SYSTEM: &str = include_str!("prompts/observer.md");
/// The most bytes of a message that the observer is shown.
const MAX_MESSAGE_BYTES: usize = 16 * 1024;
/// The most tokens of earlier observations that it is shown.
const MAX_KNOWN_TOKENS: u64 = 6000;

/// Observes the messages of a task. Messages of the harness itself are never shown.
pub(super) async fn run(shared: &Shared, task: &MemoryTask) -> TaskResult {
    let Some(span) = task.span else { return TaskError::new("there is nothing to observe").into() };
    let messages = match read_messages(shared, span).await {
        Ok(messages) => messages,
        Err(error) => return error.into(),
    };
    if messages.is_empty() {
        return TaskResult { output: Ok(TaskOutput::Observed(Vec::new())), call: None };
    }
    let trust = messages.iter().fold(Trust::Trusted, |trust, one| trust.after_reading(one.trust));
    let (known, next_id) = {
        let state = shared.lock();
        (known_observations(state.observations(), trust), state.next_observation)
    };
    let text = request(&messages, &known, shared.now());
    let (answer, call) = ask::for_task(shared, task, MemoryPurpose::Observer, SYSTEM, text).await;
    let output = answer.and_then(|answer| {
        let shown: Vec<(i64, Speaker)> =
            messages.iter().map(|one| (one.seq, one.speaker)).collect();
        let ids: Vec<u64> = known.iter().map(|one| one.id).collect();
        let drafts = parse_observations(&answer, &shown, &ids)?;
        let observations = drafts.into_iter().zip(next_id..);
        let stored = observations.map(|(draft, id)| observation(draft, id, trust));
        Ok(TaskOutput::Observed(stored.collect()))
    });
    TaskResult { output, call }
}

async fn read_messages(
    shared: &Shared,
    span: MessageSpan,
) -> Result<Vec<MemoryMessage>, TaskError> {
    let (org, thread) = (shared.org(), shared.options.thread);
    // These messages leave the prompt soon. A search would index them too, but later.
    if let Err(error) = org.index_memory_messages(thread, span.last).await {
        tracing::warn!(%thread, %error, "messages not indexed, a search will do it");
    }
    let mut messages = org.memory_messages(thread, span).await?;
    messages.retain(|one| one.origin == MessageOrigin::Conversation && !one.text.is_empty());
    Ok(messages)
}

/// Returns the newest observations that the messages may change. An observer that reads
/// trusted messages reads nothing untrusted, so that what it writes can be trusted.
fn known_observations<'a>(
    observations: impl DoubleEndedIterator<Item = &'a Observation>,
    trust: Trust,
) -> Vec<Observation> {
    let mut left = MAX_KNOWN_TOKENS;
    let fits = |one: &&Observation| {
        let tokens = tokens::of_text(&one.text);
        let fits = tokens <= left;
        left = left.saturating_sub(tokens);
        fits
    };
    let readable = observations.rev().filter(|one| one.trust <= trust);
    let mut known: Vec<Observation> = readable.take_while(fits).cloned().collect();
    known.reverse();
    known
}

/// Returns the request to the observer. Messages are lines of JSON, so that no message can
/// pretend to be another one.
fn request(messages: &[MemoryMessage], known: &[Observation], now: Timestamp) -> String {
    let mut text = format!("Today is {}.\n\nObservations so far:\n", now.utc_day().to_iso());
    if known.is_empty() {
        text.push_str("none\n");
    }
    text.extend(known.iter().map(Observation::line));
    text.push_str("\nMessages to observe:\n");
    for message in messages {
        let end = message.text.floor_char_boundary(MAX_MESSAGE_BYTES);
        let (shown, rest) = message.text.split_at(end);
        let speaker = message.speaker.as_str();
        let mut line = json!({ "seq": message.seq, "speaker": speaker, "text": shown });
        if !rest.is_empty() {
            line["bytes_left_out"] = rest.len().into();
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

fn observation(draft: ObservationDraft, id: u64, trust: Trust) -> StoredObservation {
    let ObservationDraft { speaker, kind, completion, text, span, .. } = draft;
    let observation = Observation {
        id,
        speaker,
        kind,
        completion,
        text,
        span,
        valid_from: draft.valid_from,
        valid_until: draft.valid_until,
        supersedes: draft.supersedes,
        superseded_by: None,
        trust,
    };
    let tokens = tokens::of_text(&observation.line());
    StoredObservation { observation, state: ObservationState::Buffered, tokens, generation: 0 }
}
