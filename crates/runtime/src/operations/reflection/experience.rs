//! What an agent can learn from: conversations in which a person had to step in.

use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{AgentId, ApprovalId};
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::time::Timestamp;
use ostler_store::{OrgStore, SessionFilter, StoreError};
use serde::Serialize;

use super::super::levels::is_taken_over_at_once;
use crate::records::decode;
use crate::records::message::{MessageAuthor, ThreadMessage};
use crate::records::run::RunRecord;
use crate::records::session::Session;

/// The most sessions of an org that are looked at, the newest ones.
const MAX_SESSIONS: usize = 500;
/// The most conversations that a model reads.
const MAX_EXPERIENCES: usize = 12;
/// The most messages that are quoted of a conversation.
const MAX_MESSAGES: usize = 8;
/// The most characters that are quoted of a message or a reason.
const MAX_CHARS: usize = 300;
/// How many rows are read at once.
const PAGE: u32 = 200;

/// A conversation in which a person had to step in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Experience {
    /// What the person did.
    what: Vec<String>,
    /// The last messages.
    messages: Vec<String>,
}

/// Returns the newest conversations of an agent with customers in which a person had to step
/// in, if anything was said in them after `since`.
pub(super) async fn collect(
    store: OrgStore<'_>,
    agent: AgentId,
    since: Timestamp,
) -> Result<Vec<Experience>, StoreError> {
    let (mut found, mut before, mut seen) = (Vec::new(), None, 0);
    while seen < MAX_SESSIONS && found.len() < MAX_EXPERIENCES {
        let page = store.sessions(SessionFilter::All, before, PAGE).await?;
        for stored in &page {
            let Ok(session) = decode::<Session>("session", &stored.data) else { continue };
            let with_customer =
                session.entry == ConversationEntry::Customer && session.bus_request.is_none();
            if session.agent == Some(agent) && with_customer {
                found.extend(experience(store, &session, agent, since).await?);
            }
        }
        seen += page.len();
        match page.last() {
            Some(last) if page.len() == PAGE as usize => before = Some(last.id),
            _ => break,
        }
    }
    found.truncate(MAX_EXPERIENCES);
    Ok(found)
}

async fn experience(
    store: OrgStore<'_>,
    session: &Session,
    agent: AgentId,
    since: Timestamp,
) -> Result<Option<Experience>, StoreError> {
    let stored = store.last_messages(session.thread, PAGE).await?;
    let messages: Vec<ThreadMessage> =
        stored.iter().filter_map(|one| decode("message", &one.data).ok()).collect();
    if messages.last().is_none_or(|last| last.at <= since) {
        return Ok(None);
    }
    let mut what = Vec::new();
    for stored in store.runs(session.id, None, PAGE).await? {
        let Ok(run) = RunRecord::from_stored(&stored) else { continue };
        for id in run.turns.iter().filter(|one| one.agent == agent).flat_map(|one| &one.approvals) {
            what.extend(correction(store, *id).await?);
        }
    }
    if let Some(escalation) = &session.escalation {
        what.push(format!(
            "The conversation was escalated: {}",
            cut(&escalation.state.request.reason)
        ));
    }
    if is_taken_over_at_once(&messages) {
        what.push("A person answered instead of the agent.".to_owned());
    }
    let quoted = messages.iter().filter(|one| !one.text().trim().is_empty());
    let quoted: Vec<String> = quoted.map(quote).collect();
    let messages = quoted.iter().rev().take(MAX_MESSAGES).rev().cloned().collect();
    Ok((!what.is_empty()).then_some(Experience { what, messages }))
}

/// Describes what a person changed about a call, if they did.
async fn correction(store: OrgStore<'_>, id: ApprovalId) -> Result<Option<String>, StoreError> {
    let approval = match store.approval(id).await {
        Ok(stored) => stored.approval,
        Err(StoreError::NotFound(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    if let ApprovalStatus::Rejected { reason, .. } = &approval.status {
        return Ok(Some(format!("A person refused a call of {}: {}", approval.tool, cut(reason))));
    }
    let entries = store.audit_entries(Some(&id.to_string()), None, 10).await?;
    let changed = entries.iter().any(|one| one.entry.action == "approve_with_changes");
    Ok(changed.then(|| format!("A person changed a call of {} before it was made.", approval.tool)))
}

fn quote(message: &ThreadMessage) -> String {
    let who = match message.author {
        MessageAuthor::Customer { .. } => "customer",
        MessageAuthor::Agent { .. } => "agent",
        MessageAuthor::Human { .. } => "person",
        MessageAuthor::System => "system",
    };
    format!("{who}: {}", cut(&message.text()))
}

fn cut(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_CHARS).collect()
}
