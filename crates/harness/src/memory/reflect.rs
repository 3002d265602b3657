//! The reflector: merges observations.

use ostler_domain::memory::answer::parse_reflection;
use ostler_domain::memory::reflection::{ReflectionChanges, ReflectionRejected, check_reflection};
use ostler_domain::memory::window::MemoryTask;
use ostler_domain::memory::{Observation, ObservationLog};
use ostler_domain::tool::Trust;
use ostler_engine::tokens;
use ostler_store::MemoryPurpose;

use super::ask;
use super::state::TaskOutput;
use super::thread::Shared;
use super::worker::TaskResult;

const SYSTEM: &str = include_str!("prompts/reflector.md");

/// Reflects on the trusted or on the untrusted observations in the prompt, whichever are
/// longer, so that what it writes of trusted ones can be trusted. An answer that loses
/// something without saying so, or makes nothing shorter, is a failure.
pub(super) async fn run(shared: &Shared, task: &MemoryTask) -> TaskResult {
    let (log, next_id) = {
        let state = shared.lock();
        (state.log.clone(), state.next_observation)
    };
    let (trusted, untrusted) = (log.with_trust(Trust::Trusted), log.with_trust(Trust::Untrusted));
    let log = if trusted.tokens() >= untrusted.tokens() { trusted } else { untrusted };
    let text = request(&log);
    let (answer, call) = ask::for_task(shared, task, MemoryPurpose::Reflector, SYSTEM, text).await;
    let output = answer.and_then(|answer| {
        let reflection = parse_reflection(&answer)?;
        let changes = check_reflection(&log, &reflection, next_id)?;
        if tokens_after(&log, &changes) >= log.tokens() {
            return Err(ReflectionRejected::NotShorter.into());
        }
        Ok(TaskOutput::Reflected(changes))
    });
    TaskResult { output, call }
}

/// Returns the tokens of the observations after these changes.
pub(super) fn tokens_after(log: &ObservationLog, changes: &ReflectionChanges) -> u64 {
    let mut after = log.clone();
    after.remove(&changes.removed());
    let added = changes.added.iter().map(|observation| tokens::of_text(&observation.line()));
    after.tokens() + added.sum::<u64>()
}

fn request(log: &ObservationLog) -> String {
    let lines = log.iter().map(Observation::line);
    std::iter::once("Observations:\n".to_owned()).chain(lines).collect()
}
