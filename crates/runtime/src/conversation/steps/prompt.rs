//! Step 5: builds the system prompt.

use std::sync::Arc;

use crate::assembly::documents::LoadedDocument;
use crate::assembly::{AgentBriefing, AgentHarness, SessionFacts};
use crate::conversation::run::Run;
use crate::conversation::trace::Trace;
use crate::records::run_step::RunStep;

/// Builds the system prompt with the documents and what else the agent is told.
pub(crate) fn run(
    run: &mut Run,
    harness: &AgentHarness<'_>,
    documents: &[LoadedDocument],
    briefing: &AgentBriefing,
) -> Arc<str> {
    let timer = Trace::start(RunStep::Prompt);
    let session = SessionFacts::from(&*run.session);
    let system = harness.system_prompt(&session, documents, briefing).into();
    run.trace.finish(timer);
    system
}
