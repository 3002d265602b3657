//! Builds the system prompt of an agent.

use ostler_domain::prompt::{PromptDocument, PromptFacts, system_prompt};
use ostler_domain::scope::ToolScope;
use ostler_domain::session::guided::InterviewStep;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::tool::ToolName;
use ostler_domain::tool::catalogue::ESCALATE_TO_PARENT;

use super::SessionFacts;
use super::briefing::AgentBriefing;
use super::documents::LoadedDocument;
use crate::org_view::{AgentView, OrgView};
use crate::records::session::{Interview, SignUpProgress};

/// What an agent is told that signs up a stranger.
const SIGN_UP: &str = include_str!("prompts/sign_up.md");
/// The most characters of an answer in the prompt.
const MAX_ANSWER_CHARS: usize = 300;

/// Builds the system prompt of an agent in a session.
pub(crate) fn build_prompt(
    view: &OrgView,
    agent: &AgentView,
    session: &SessionFacts<'_>,
    scope: &ToolScope,
    documents: &[LoadedDocument],
    briefing: &AgentBriefing,
) -> String {
    let documents: Vec<PromptDocument<'_>> =
        documents.iter().map(|one| PromptDocument { title: &one.title, text: &one.text }).collect();
    let colleagues = view.colleagues(agent.agent.id);
    let policy = view.settings.errors;
    let degraded = session.errors.degraded(session.budget.spending_mode(), policy).is_some();
    let off: Vec<ToolName> = scope.unavailable_in_session().cloned().collect();
    let (notices, instructions) = (texts(&briefing.notices), texts(&briefing.instructions));
    let waiting = texts(&briefing.waiting);
    let facts = PromptFacts {
        agent: &agent.agent,
        position: &agent.position.facing(session.audience),
        org: &view.org,
        parent: view.parent.as_ref(),
        colleagues: &colleagues,
        soul: &agent.soul,
        documents: &documents,
        team: session.team,
        instructions: &instructions,
        waiting: &waiting,
        notices: &notices,
        unavailable: if degraded { &off } else { &[] },
        resolution: session.resolution,
        previous_summary: session.previous_summary,
        can_escalate: scope.active().any(|tool| tool.name == ESCALATE_TO_PARENT),
        testing: session.entry == ConversationEntry::Testing,
    };
    let mut text = system_prompt(&facts);
    if let Some(interview) = session.interview {
        text.push_str(&interview_section(interview));
    }
    text
}

fn texts(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

/// Returns a customer's answer as one line, so that it cannot look like a part of the prompt.
fn quoted(answer: &str) -> String {
    let words: Vec<&str> = answer.split_whitespace().collect();
    words.join(" ").chars().take(MAX_ANSWER_CHARS).collect()
}

/// Returns the section about the interview that guides the conversation.
fn interview_section(interview: &Interview) -> String {
    let mut text = String::from("\n## The interview you are leading\n\n");
    for (field, value) in interview.state.fields() {
        text.push_str(&format!("- {field}: {}\n", quoted(value)));
    }
    if interview.sign_up == Some(SignUpProgress::Asking) {
        text.push_str(SIGN_UP);
    }
    match interview.state.next(&interview.template) {
        InterviewStep::Ask(question) | InterviewStep::FollowUp(question) => {
            let how = if interview.state.is_follow_up() {
                "Their answer was not clear. Ask again, more closely"
            } else {
                "Ask next, in your own words"
            };
            text.push_str(&format!("{how}: {}\n", question.ask));
        }
        InterviewStep::Complete => text.push_str(
            "All is answered. Thank them and sum it up; if they go on, just help them.\n",
        ),
    }
    text
}
