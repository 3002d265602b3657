//! Step 5: what the model is told.

use ostler_domain::notice::NoticeKind;
use ostler_domain::prompt::{PromptDocument, PromptFacts, system};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::guided::NextStep;
use ostler_domain::session::key::Entry;
use ostler_domain::tool::ToolName;

use crate::library::Read;
use crate::org_view::{AgentView, OrgView};
use crate::talk::session::{Interview, Session};

/// The system prompt of an agent in a session.
pub(crate) fn build(
    view: &OrgView,
    agent: &AgentView,
    session: &Session,
    scope: &ToolScope,
    documents: &[Read],
    notices: &[NoticeKind],
) -> String {
    let documents: Vec<PromptDocument<'_>> =
        documents.iter().map(|one| PromptDocument { title: &one.title, text: &one.text }).collect();
    let colleagues = view.colleagues(agent.agent.id);
    let policy = view.settings.errors;
    let degraded = session.errors.degraded(session.budget.spending(), policy).is_some();
    let off: Vec<ToolName> = scope.unavailable_in_session().cloned().collect();
    let mut notices: Vec<&str> = notices.iter().map(|kind| kind.for_agent()).collect();
    notices.dedup();
    let facts = PromptFacts {
        agent: &agent.agent,
        standing: &agent.standing,
        org: &view.org,
        parent: view.parent.as_ref(),
        colleagues: &colleagues,
        soul: &agent.soul,
        documents: &documents,
        team: session.team.as_ref(),
        instructions: &[],
        notices: &notices,
        unavailable: if degraded { &off } else { &[] },
        resolution: session.resolution.as_deref(),
        previous_summary: session.previous.as_ref().and_then(|one| one.summary.as_deref()),
        testing: session.entry == Entry::Testing,
    };
    let mut text = system(&facts);
    if let Some(interview) = &session.interview {
        text.push_str(&guide(interview));
    }
    text
}

/// What an agent is told of the interview that guides its conversation.
fn guide(interview: &Interview) -> String {
    let mut text = String::from("\n## The interview you are leading\n\n");
    for (field, value) in interview.state.fields() {
        text.push_str(&format!("- {field}: {value}\n"));
    }
    match interview.state.next(&interview.template) {
        NextStep::Ask(question) | NextStep::FollowUp(question) => {
            let how = if interview.state.asks_again() {
                "Their answer was not clear. Ask again, more closely"
            } else {
                "Ask next, in your own words"
            };
            text.push_str(&format!("{how}: {}\n", question.ask));
        }
        NextStep::Complete => text.push_str(
            "All is answered. Thank them and sum it up; if they go on, just help them.\n",
        ),
    }
    text
}
