//! A conversation as people read it: who said what, what was done, and why that
//! was allowed.

use std::collections::BTreeMap;

use ostler_domain::gate::Verdict;
use ostler_domain::id::{AgentId, OrgId, RunId};
use ostler_domain::message::Part;
use ostler_domain::session::key::{ConversationKey, Peer};
use ostler_domain::session::status::SessionStatus;
use ostler_domain::team::TeamSession;
use ostler_domain::time::Timestamp;
use ostler_runtime::operations::Actor;
use ostler_runtime::talk::message::{MessageAuthor, Purpose, ThreadMessage};
use ostler_runtime::talk::run::{RunOutcome, RunRecord};
use ostler_runtime::talk::session::Session;
use ostler_store::{Store, StoredSession, Which};
use serde::Serialize;

/// How many messages and runs are shown.
const SHOWN: u32 = 200;

/// The names of an org's agents.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<AgentId, String>);

impl Names {
    pub(crate) async fn of(store: &Store, org: OrgId) -> anyhow::Result<Self> {
        let agents = store.org(org).agents().await?;
        Ok(Self(agents.into_iter().map(|one| (one.id, one.display_name)).collect()))
    }

    /// The name of an agent.
    pub(crate) fn get(&self, id: AgentId) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.short())
    }
}

/// A line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    /// Somebody said something.
    Said {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        at: String,
        who: String,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        mark: Option<String>,
    },
    /// An agent did something, or it was decided that it may not.
    Did {
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        who: String,
        what: String,
        why: String,
    },
}

impl Line {
    const fn run(&self) -> Option<RunId> {
        match self {
            Self::Said { run, .. } | Self::Did { run, .. } => *run,
        }
    }
}

/// A conversation.
#[derive(Debug, Serialize)]
pub(crate) struct Talk {
    pub(crate) session: Session,
    pub(crate) state: String,
    pub(crate) lines: Vec<Line>,
    pub(crate) runs: Vec<RunRecord>,
}

impl Talk {
    /// What was said and done in a run.
    pub(crate) fn lines_of(&self, run: RunId) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.run() == Some(run))
    }
}

/// The newest session of a conversation, once there is one.
pub(crate) async fn of_conversation(
    store: &Store,
    key: &ConversationKey,
) -> anyhow::Result<Option<Talk>> {
    let of = store.org(key.org);
    for stored in of.sessions(Which::All, None, SHOWN).await? {
        let session: Session = serde_json::from_str(&stored.data)?;
        if session.peer == key.peer && session.binding == key.binding && session.entry == key.entry
        {
            return Ok(Some(of_session(store, key.org, &stored).await?));
        }
    }
    Ok(None)
}

/// A session with its messages and runs.
pub(crate) async fn of_session(
    store: &Store,
    org: OrgId,
    stored: &StoredSession,
) -> anyhow::Result<Talk> {
    let (of, names) = (store.org(org), Names::of(store, org).await?);
    // Runs first: what they said and did to the session is there by then.
    let runs = of.runs(stored.id, None, SHOWN).await?;
    let runs: Vec<RunRecord> =
        runs.iter().rev().map(|one| serde_json::from_str(&one.data)).collect::<Result<_, _>>()?;
    let messages = of.last_messages(stored.thread, SHOWN).await?;
    let messages: Vec<ThreadMessage> =
        messages.iter().map(|one| serde_json::from_str(&one.data)).collect::<Result<_, _>>()?;
    let session: Session = serde_json::from_str(&of.session(stored.id).await?.data)?;
    let lines = lines(&session, &messages, &runs, &names);
    let state = state(&session);
    Ok(Talk { session, state, lines, runs })
}

/// What was said and done, in order.
fn lines(
    session: &Session,
    messages: &[ThreadMessage],
    runs: &[RunRecord],
    names: &Names,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut handoffs = session.team.iter().flat_map(TeamSession::history).zip(1..);
    for (number, message) in messages.iter().enumerate() {
        let ends_run = messages.get(number + 1).is_none_or(|next| next.run != message.run);
        let run = runs.iter().find(|run| Some(run.id) == message.run);
        if let (MessageAuthor::Agent { id }, Some(run)) = (&message.author, run) {
            lines.extend(decisions(run, *id, names));
        }
        let text = shown(message);
        if !text.is_empty() {
            let mark = (message.purpose == Purpose::Transition)
                .then(|| handoffs.next())
                .flatten()
                .map(|(one, count)| format!("handoff {count} → {}", names.get(one.to)));
            let (at, who) = (clock(message.at), who(session, message, names));
            lines.push(Line::Said { run: message.run, at, who, text, mark });
        }
        if let Some(RunOutcome::Escalated { reason }) =
            run.filter(|_| ends_run).map(|run| &run.outcome)
        {
            let who = String::new();
            let what = format!("⚑ escalated to a human: {reason}");
            lines.push(Line::Did { run: message.run, who, what, why: urgency(session) });
        }
    }
    lines
}

/// The words of a message, and what lies beside them.
fn shown(message: &ThreadMessage) -> String {
    let text = message.text().into_owned();
    let words = (!text.is_empty()).then_some(text);
    let files = message.parts.iter().filter_map(|part| {
        let file = part.attachment()?;
        let kind = match part {
            Part::Image(_) => "picture",
            Part::Audio(_) => "recording",
            _ => "file",
        };
        let name = file.name.as_deref().unwrap_or("without a name");
        Some(format!("[{kind} {name}, {}, {}]", file.media_type, size(file.size)))
    });
    words.into_iter().chain(files).collect::<Vec<_>>().join(" ")
}

/// A length in bytes, as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

fn urgency(session: &Session) -> String {
    let urgency = session.escalation.as_ref().map(|one| one.state.request.urgency);
    urgency.map_or_else(String::new, |urgency| format!("urgency {urgency:?}").to_lowercase())
}

/// What the gate decided in the turn of an agent.
fn decisions(run: &RunRecord, agent: AgentId, names: &Names) -> Vec<Line> {
    let turns = run.turns.iter().filter(|turn| turn.agent == agent);
    let decided = turns.flat_map(|turn| {
        let mut approvals = turn.approvals.iter();
        turn.decisions.iter().map(move |one| {
            let who = names.get(agent);
            let tool = &one.tool;
            let (sign, word) = match &one.verdict {
                Verdict::Allow(_) => ("⚙", "allow"),
                Verdict::Ask(_) => ("⏸", "ask"),
                Verdict::Deny(_) => ("✗", "deny"),
            };
            let asked = matches!(one.verdict, Verdict::Ask(_)).then(|| approvals.next()).flatten();
            let asked = asked.map_or_else(String::new, |id| format!(" → {id}"));
            let why = format!("{word}  {}{asked}", one.verdict);
            Line::Did { run: Some(run.id), who, what: format!("{sign} {tool}"), why }
        })
    });
    decided.collect()
}

fn who(session: &Session, message: &ThreadMessage, names: &Names) -> String {
    match &message.author {
        MessageAuthor::Customer { name } => name.clone().unwrap_or_else(|| person(session)),
        MessageAuthor::Agent { id } => names.get(*id),
        MessageAuthor::Human { user } if *user == Actor::Terminal.person() => {
            "a person (terminal)".into()
        }
        MessageAuthor::Human { user } => format!("a person ({})", user.short()),
        MessageAuthor::System => "ostler".into(),
    }
}

/// What the channel calls the person.
pub(crate) fn person(session: &Session) -> String {
    match &session.peer {
        Peer::Person(name) | Peer::Group(name) => name.clone(),
    }
}

/// Where a session stands, in a sentence.
pub(crate) fn state(session: &Session) -> String {
    let spent =
        format!("spent {} of {} credits", session.budget.spent.get(), session.budget.cap.get());
    let state = match (session.status, session.open_escalation()) {
        (SessionStatus::Closed(reason), _) => format!("closed: {reason:?}").to_lowercase(),
        (_, Some(one)) if one.state.human.is_some() => "a person answers".into(),
        (_, Some(_)) => "waits for a human".into(),
        (SessionStatus::HandedOff, None) => "handed off".into(),
        (SessionStatus::Active, None) => "an agent answers".into(),
    };
    let approvals = match session.pending_approvals {
        0 => String::new(),
        1 => " · 1 call waits for approval".into(),
        many => format!(" · {many} calls wait for approval"),
    };
    let unknown = match session.unknown_outcomes {
        0 => String::new(),
        1 => " · nobody knows what became of 1 call".into(),
        many => format!(" · nobody knows what became of {many} calls"),
    };
    format!("{state}{approvals}{unknown} · {spent}")
}

/// The time of day where the reader is, with the day if that is not today.
pub(crate) fn clock(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    let here = moment.to_zoned(jiff::tz::TimeZone::system());
    let today = here.date() == jiff::Zoned::now().date();
    here.strftime(if today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" }).to_string()
}
