//! Step 7: assembles the agent with its tool scope, models and limits.

use crate::assembly::{AgentHarness, SessionFacts};
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::trace::Trace;
use crate::org_view::AgentView;
use crate::records::run_step::RunStep;
use crate::records::session::Session;

/// Assembles the agent for the next turn of the run.
pub(crate) fn run<'c>(
    context: &'c RunContext<'_>,
    run: &mut Run,
    agent: &'c AgentView,
) -> AgentHarness<'c> {
    let timer = Trace::start(RunStep::Tools);
    let harness = assemble(context, &run.session, agent);
    run.trace.finish(timer);
    harness
}

/// Assembles an agent in a session.
pub(crate) fn assemble<'c>(
    context: &'c RunContext<'_>,
    session: &Session,
    agent: &'c AgentView,
) -> AgentHarness<'c> {
    let (deps, view) = (&context.services.deps, &context.view);
    AgentHarness::assemble(deps, view, agent, &SessionFacts::from(session), &view.tools)
}
