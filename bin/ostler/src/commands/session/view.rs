//! A conversation as people read it: messages, tool calls, and the decision on each call.

use std::collections::BTreeMap;

use ostler_domain::gate::GateDecision;
use ostler_domain::id::{AgentId, OrgId, RunId};
use ostler_domain::message::MessagePart;
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::TeamSession;
use ostler_domain::time::Timestamp;
use ostler_engine::history::{CallId, Item};
use ostler_engine::outcome::OutcomeStatus;
use ostler_runtime::operations::Actor;
use ostler_runtime::records::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::records::run::{RunOutcome, RunRecord};
use ostler_runtime::records::session::Session;
use ostler_store::{SessionFilter, Store, StoredSession};
use serde::Serialize;

/// The most messages, runs or sessions that are read.
const LIMIT: u32 = 200;
/// How much of a failed call's text is shown.
const MAX_PROBLEM_CHARS: usize = 120;

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

/// A line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum ViewLine {
    #[serde(rename = "said")]
    Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        at: String,
        who: String,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        mark: Option<String>,
    },
    /// A tool call with the decision of the gate, or an escalation.
    #[serde(rename = "did")]
    Action {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        who: String,
        what: String,
        why: String,
    },
}

impl ViewLine {
    const fn run(&self) -> Option<RunId> {
        match self {
            Self::Message { run, .. } | Self::Action { run, .. } => *run,
        }
    }
}

/// A session with its messages, decisions and runs.
#[derive(Debug, Serialize)]
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
        let session: Session = serde_json::from_str(&org_store.session(stored.id).await?.data)?;
        let lines = lines(&session, &messages, &runs, &names);
        let state = describe_state(&session);
        Ok(Self { session, state, lines, runs })
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

/// Merges messages, decisions and escalations in the order in which they happened.
fn lines(
    session: &Session,
    messages: &[ThreadMessage],
    runs: &[RunRecord],
    names: &AgentNames,
) -> Vec<ViewLine> {
    let mut lines = Vec::new();
    let mut handoffs = session.team.iter().flat_map(TeamSession::history).zip(1..);
    for (number, message) in messages.iter().enumerate() {
        let ends_run = messages.get(number + 1).is_none_or(|next| next.run != message.run);
        let run = runs.iter().find(|run| Some(run.id) == message.run);
        if let (MessageAuthor::Agent { id }, Some(run)) = (&message.author, run) {
            lines.extend(decisions(run, *id, message, names));
        }
        let text = format_message(message);
        if !text.is_empty() {
            let mark = (message.purpose == Purpose::Transition)
                .then(|| handoffs.next())
                .flatten()
                .map(|(handoff, count)| format!("handoff {count} → {}", names.get(handoff.to)));
            let (at, who) = (format_time(message.at), author_name(session, message, names));
            lines.push(ViewLine::Message { run: message.run, at, who, text, mark });
        }
        if let Some(RunOutcome::Escalated { reason }) =
            run.filter(|_| ends_run).map(|run| &run.outcome)
        {
            let who = String::new();
            let what = format!("⚑ escalated to a human: {reason}");
            lines.push(ViewLine::Action { run: message.run, who, what, why: urgency(session) });
        }
    }
    lines
}

/// Formats the text of a message and its attachments.
fn format_message(message: &ThreadMessage) -> String {
    let text = message.text().into_owned();
    let text = (!text.is_empty()).then_some(text);
    let files = message.parts.iter().filter_map(|part| {
        let file = part.attachment()?;
        let kind = match part {
            MessagePart::Image(_) => "picture",
            MessagePart::Audio(_) => "recording",
            _ => "file",
        };
        let name = file.name.as_deref().unwrap_or("without a name");
        Some(format!("[{kind} {name}, {}, {}]", file.media_type, format_size(file.size)))
    });
    text.into_iter().chain(files).collect::<Vec<_>>().join(" ")
}

/// Formats a number of bytes.
fn format_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

fn urgency(session: &Session) -> String {
    let urgency = session.escalation.as_ref().map(|escalation| escalation.state.request.urgency);
    urgency.map_or_else(String::new, |urgency| format!("urgency {urgency:?}").to_lowercase())
}

/// Returns the decisions of the gate in the turns of an agent.
fn decisions(
    run: &RunRecord,
    agent: AgentId,
    message: &ThreadMessage,
    names: &AgentNames,
) -> Vec<ViewLine> {
    let turns = run.turns.iter().filter(|turn| turn.agent == agent);
    let lines = turns.flat_map(|turn| {
        let mut approvals = turn.approvals.iter();
        turn.decisions.iter().map(move |decision| {
            let who = names.get(agent);
            let tool = &decision.tool;
            let (symbol, word) = match &decision.verdict {
                GateDecision::Allow(_) => ("⚙", "allow"),
                GateDecision::Ask(_) => ("⏸", "ask"),
                GateDecision::Deny(_) => ("✗", "deny"),
            };
            let approval = matches!(decision.verdict, GateDecision::Ask(_))
                .then(|| approvals.next())
                .flatten();
            let approval = approval.map_or_else(String::new, |id| format!(" → {id}"));
            let problem = problem(message, &decision.call).unwrap_or_default();
            let why = format!("{word}  {}{approval}{problem}", decision.verdict);
            ViewLine::Action { run: Some(run.id), who, what: format!("{symbol} {tool}"), why }
        })
    });
    lines.collect()
}

/// Returns why an allowed call did not do what it was made for.
fn problem(message: &ThreadMessage, call: &CallId) -> Option<String> {
    let results = message.work.iter().filter_map(|item| match item {
        Item::Results { results } => Some(results),
        _ => None,
    });
    let outcome = &results.flatten().find(|result| result.call == *call)?.outcome;
    let word = match outcome.status {
        OutcomeStatus::Ok | OutcomeStatus::PendingApproval => return None,
        other => other.description(),
    };
    let text: String = outcome.content.chars().take(MAX_PROBLEM_CHARS).collect();
    Some(format!("  ✗ {word}: {text}"))
}

fn author_name(session: &Session, message: &ThreadMessage, names: &AgentNames) -> String {
    match &message.author {
        MessageAuthor::Customer { name } => name.clone().unwrap_or_else(|| peer_name(session)),
        MessageAuthor::Agent { id } => names.get(*id),
        MessageAuthor::Human { user } if *user == Actor::Terminal.user_id() => {
            "a person (terminal)".into()
        }
        MessageAuthor::Human { user } => format!("a person ({})", user.short()),
        MessageAuthor::System => "ostler".into(),
    }
}

/// Returns the name of the person or group on the channel.
pub(crate) fn peer_name(session: &Session) -> String {
    match &session.peer {
        Peer::Person(name) | Peer::Group(name) => name.clone(),
    }
}

/// Describes the state of a session in a line.
pub(crate) fn describe_state(session: &Session) -> String {
    let spent =
        format!("spent {} of {} credits", session.budget.spent.get(), session.budget.cap.get());
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
    format!("{state}{approvals}{unknown} · {spent}")
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
