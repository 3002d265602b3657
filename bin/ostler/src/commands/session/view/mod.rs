//! A conversation as people read it: messages, tool calls, the decision on each call, and
//! what people did.

mod lines;
mod print;

use std::collections::BTreeMap;

use ostler_domain::agent::Agent;
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, OrgId, RunId};
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::time::Timestamp;
use ostler_runtime::operations::{DecidedCall, OrgOperations};
use ostler_runtime::records::message::ThreadMessage;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::session::Session;
use ostler_store::{
    AuditEntry, AuditFilter, OrgStore, SessionFilter, Store, StoreError, StoredSession,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::rule_view::describe_rule;
use crate::screen::count;

pub(crate) use lines::ViewLine;
pub(crate) use print::{CallDetail, print_lines};

/// The most messages, runs or sessions that are read.
const LIMIT: u32 = 200;
/// How many characters of a visitor's identifier are shown.
const VISITOR_CHARS: usize = 6;

/// The display names of an org's agents.
#[derive(Debug, Default)]
pub(crate) struct AgentNames(BTreeMap<AgentId, String>);

impl AgentNames {
    pub(crate) async fn load(store: &Store, org: OrgId) -> anyhow::Result<Self> {
        let agents = store.org(org).agents().await?;
        Ok(Self(agents.into_iter().map(|agent| (agent.id, agent.display_name)).collect()))
    }

    /// Returns the display name of an agent, or its short id if it is unknown.
    pub(crate) fn get(&self, id: AgentId) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.short())
    }
}

/// What a person did with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SessionChange {
    pub(crate) at: Timestamp,
    pub(crate) who: String,
    /// The action in the audit log.
    pub(crate) action: String,
    /// The tool whose call was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl SessionChange {
    /// Returns the change, unless it shows as a message already.
    fn new(entry: AuditEntry) -> Option<Self> {
        let who = match entry.entry.actor {
            AuditActor::Terminal => "a person (terminal)".to_owned(),
            AuditActor::User(user) => format!("a person ({})", user.short()),
            AuditActor::Key(key) => format!("a key ({})", key.short()),
            _ => "ostler".to_owned(),
        };
        let action = entry.entry.action;
        let data: Value = serde_json::from_str(&entry.entry.data).unwrap_or_default();
        let reason = data["reason"].as_str().map(ToOwned::to_owned);
        let change = Self { at: entry.at, who, action, tool: None, reason };
        (change.action != "human_message").then_some(change)
    }

    /// Returns the decisions on calls of a session.
    async fn decisions(store: OrgStore<'_>, runs: &[RunRecord]) -> anyhow::Result<Vec<Self>> {
        let mut changes = Vec::new();
        let turns = runs.iter().flat_map(|run| &run.turns);
        for id in turns.flat_map(|turn| &turn.approvals) {
            let tool = match store.approval(*id).await {
                Ok(stored) => stored.approval.tool.to_string(),
                Err(StoreError::NotFound(_)) => continue,
                Err(other) => return Err(other.into()),
            };
            let filter = AuditFilter { subject: Some(id.to_string()), ..AuditFilter::default() };
            let entries = store.search_audit(&filter, None, LIMIT).await?;
            let decided = entries.into_iter().filter_map(Self::new);
            changes.extend(decided.map(|change| Self { tool: Some(tool.clone()), ..change }));
        }
        Ok(changes)
    }

    /// Describes the change in a few words.
    fn describe(&self) -> String {
        let tool = self.tool.as_deref().unwrap_or("a call");
        match self.action.as_str() {
            "take_over" => "took the conversation over; the agents stop answering".to_owned(),
            "resume" => "handed the conversation back to the agents".to_owned(),
            "dismiss_escalation" => "dismissed the escalation as a false alarm".to_owned(),
            "close_session" => "closed the session".to_owned(),
            "assign_team" => "assigned a team of agents".to_owned(),
            "approve" => format!("approved {tool}"),
            "approve_with_changes" => format!("approved {tool} with other arguments"),
            "refused" => match &self.tool {
                Some(tool) => format!("tried to decide about {tool} and was not allowed to"),
                None => "tried to change the session and was not allowed to".to_owned(),
            },
            "reject" => format!("rejected {tool}: {}", self.reason.as_deref().unwrap_or_default()),
            other => other.replace('_', " "),
        }
    }
}

/// A session with its messages, decisions and runs.
#[derive(Debug)]
pub(crate) struct ConversationView {
    pub(crate) session: Session,
    pub(crate) state: String,
    pub(crate) lines: Vec<ViewLine>,
    pub(crate) runs: Vec<RunRecord>,
}

impl ConversationView {
    /// Reads a session with its messages and runs.
    pub(crate) async fn load(
        store: &Store,
        org: OrgId,
        stored: &StoredSession,
    ) -> anyhow::Result<Self> {
        let (org_store, names) = (store.org(org), AgentNames::load(store, org).await?);
        // Runs are read first, so that their messages and changes are visible below.
        let runs = org_store.runs(stored.id, None, LIMIT).await?;
        let runs: Vec<RunRecord> = runs
            .iter()
            .rev()
            .map(|run| serde_json::from_str(&run.data))
            .collect::<Result<_, _>>()?;
        let messages = org_store.last_messages(stored.thread, LIMIT).await?;
        let messages: Vec<ThreadMessage> = messages
            .iter()
            .map(|message| serde_json::from_str(&message.data))
            .collect::<Result<_, _>>()?;
        let mut session: Session = serde_json::from_str(&org_store.session(stored.id).await?.data)?;
        session.refresh_counts(org_store).await?;
        let filter = AuditFilter { subject: Some(stored.id.to_string()), ..AuditFilter::default() };
        let changes = org_store.search_audit(&filter, None, LIMIT).await?;
        let mut changes: Vec<_> = changes.into_iter().filter_map(SessionChange::new).collect();
        changes.extend(SessionChange::decisions(org_store, &runs).await?);
        changes.sort_by_key(|change| change.at);
        let lines = lines::build(&session, &messages, &runs, &changes, &names);
        let state = describe_state(&session);
        Ok(Self { session, state, lines, runs })
    }

    /// Returns what people did with the session.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &SessionChange> {
        self.lines.iter().filter_map(|line| match line {
            ViewLine::Change(change) => Some(change),
            _ => None,
        })
    }

    /// Looks up the setting behind each call that waited or was refused: as it was when the
    /// run began.
    pub(crate) async fn find_rules(
        &mut self,
        agents: &[Agent],
        operations: &OrgOperations<'_>,
    ) -> anyhow::Result<()> {
        let mut sources = operations.rule_sources().await?;
        for line in &mut self.lines {
            let ViewLine::Call(call) = line else { continue };
            let agent = agents.iter().find(|agent| agent.id == call.agent);
            let (Some(agent), "ask" | "deny") = (agent, call.decision) else { continue };
            let decided = DecidedCall {
                agent,
                tool: &call.tool,
                decision: &call.verdict,
                arguments: call.arguments.as_ref().unwrap_or(&Value::Null),
                approval: call.approval,
                at: Some(call.at),
            };
            let found = sources.find(&decided).await?;
            call.rule = Some(describe_rule(found.as_ref()));
        }
        Ok(())
    }

    /// Returns the calls that waited or were refused, with the rule that was looked up.
    pub(crate) fn rules(&self) -> Value {
        let calls = self.lines.iter().filter_map(|line| match line {
            ViewLine::Call(call) => Some(call),
            _ => None,
        });
        let stopped = calls.filter(|call| call.rule.is_some());
        stopped
            .map(|call| {
                json!({"run": call.run, "tool": call.tool, "decision": call.decision,
                    "why": call.why, "approval": call.approval, "rule": call.rule})
            })
            .collect()
    }

    /// Returns the lines that belong to a run.
    pub(crate) fn lines_of(&self, run: RunId) -> impl Iterator<Item = &ViewLine> {
        self.lines.iter().filter(move |line| line.run() == Some(run))
    }
}

/// Returns the newest session of a conversation, if there is one.
pub(crate) async fn newest_session(
    store: &Store,
    key: &ConversationKey,
) -> anyhow::Result<Option<ConversationView>> {
    let org = store.org(key.org);
    for stored in org.sessions(SessionFilter::All, None, LIMIT).await? {
        let session: Session = serde_json::from_str(&stored.data)?;
        if session.peer == key.peer && session.binding == key.binding && session.entry == key.entry
        {
            return Ok(Some(ConversationView::load(store, key.org, &stored).await?));
        }
    }
    Ok(None)
}

/// Returns the name of the person or group on the channel.
pub(crate) fn peer_name(session: &Session) -> &str {
    match &session.peer {
        Peer::Person(name) | Peer::Group(name) => name,
    }
}

/// Returns the name of the contact: as the channel knows it, or a short one for visitors
/// without a name.
pub(crate) fn contact_name(session: &Session) -> String {
    let identifier = peer_name(session);
    match &session.name {
        Some(name) => name.clone(),
        None if is_random(identifier) => {
            let start: String = identifier.chars().take(VISITOR_CHARS).collect();
            format!("visitor {start}")
        }
        None => identifier.to_owned(),
    }
}

/// Returns whether an identifier was made up for a visitor: a long row of hexadecimal digits.
fn is_random(identifier: &str) -> bool {
    identifier.len() >= 24 && identifier.chars().all(|c| c.is_ascii_hexdigit())
}

/// Describes the state of a session in a line.
pub(crate) fn describe_state(session: &Session) -> String {
    let spent = format!(
        "this session spent {} of at most {}",
        session.budget.spent.get(),
        count(session.budget.cap.get(), "credit")
    );
    format!("{} · {spent}", describe_status(session))
}

/// Describes who answers in a session and what waits for people.
pub(crate) fn describe_status(session: &Session) -> String {
    let state = match (session.status, session.open_escalation()) {
        (SessionStatus::Closed(reason), _) => format!("closed: {}", close_reason(reason)),
        (_, Some(escalation)) if escalation.state.human.is_some() => "a person answers".into(),
        (_, Some(_)) => "waits for a person".into(),
        (SessionStatus::HandedOff, None) => "handed off".into(),
        (SessionStatus::Active, None) => "an agent answers".into(),
    };
    let approvals = match session.pending_approvals {
        0 => String::new(),
        1 => " · 1 call waits for approval".into(),
        count => format!(" · {count} calls wait for approval"),
    };
    let unknown = match session.unknown_outcomes {
        0 => String::new(),
        1 => " · 1 call has an unknown outcome".into(),
        count => format!(" · {count} calls have an unknown outcome"),
    };
    format!("{state}{approvals}{unknown}")
}

const fn close_reason(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::IdleTimeout => "nobody wrote for too long",
        CloseReason::Expired => "it reached its maximum age",
        CloseReason::ClosedByOperator => "by an operator",
        CloseReason::Completed => "complete",
    }
}

/// Formats a time in the time zone of this machine: the time of day, or the date and
/// the minute if it is not today.
pub(crate) fn format_time(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    let local = time.to_zoned(jiff::tz::TimeZone::system());
    let today = local.date() == jiff::Zoned::now().date();
    local.strftime(if today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::is_random;

    #[test]
    fn identifiers_of_visitors_are_rows_of_digits() {
        for (identifier, expected) in [
            ("9f86d081884c7d659a2feaa0c55ad015", true),
            ("rosa", false),
            ("+39061234567", false),
            ("rosa.bianchi@a-long-domain.example", false),
        ] {
            assert_eq!(is_random(identifier), expected, "{identifier}");
        }
    }
}
