//! A conversation as people read it, on a screen.

mod print;

use ostler_api::session::{Session, SessionState};
use ostler_domain::id::RunId;
use ostler_domain::session::key::ConversationKey;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::time::Timestamp;
use ostler_runtime::operations::{Actor, Operations};
use ostler_runtime::records::run::RunRecord;
use ostler_server::transcript;
use ostler_store::SessionFilter;

use ostler_api::transcript::{Transcript, TranscriptLine};

use crate::app::App;
use crate::screen::{NextCommand, count};

pub(crate) use print::{CallDetail, print_lines};

/// The most runs or sessions that are read.
const LIMIT: u32 = 200;

/// A conversation that this process answers.
#[derive(Debug)]
pub(crate) struct ConversationView {
    pub(crate) transcript: Transcript,
    pub(crate) runs: Vec<RunRecord>,
}

impl ConversationView {
    /// Returns the lines that belong to a run.
    pub(crate) fn lines_of(&self, run: RunId) -> impl Iterator<Item = &TranscriptLine> {
        self.transcript.lines.iter().filter(move |line| line.run() == Some(run))
    }
}

/// Returns the newest session of a conversation, if there is one.
pub(crate) async fn newest_session(
    app: &App,
    key: &ConversationKey,
) -> anyhow::Result<Option<ConversationView>> {
    let operations = Operations::for_worker(&app.worker);
    let operations = operations.as_actor(Actor::Terminal, key.org);
    let sessions = operations.sessions(SessionFilter::All, None, LIMIT).await?;
    let newest = sessions.into_iter().find(|session| session.key() == *key);
    let Some(session) = newest else { return Ok(None) };
    // The runs first, so that their messages are there when those are read.
    let runs = operations.session(session.id).await?.runs;
    let transcript = transcript::load(&operations, session.id).await?;
    Ok(Some(ConversationView { transcript, runs }))
}

/// Returns the ways out for a session that has spent what it may cost.
pub(crate) fn beyond_the_cap(session: &str, org: &str) -> [NextCommand; 2] {
    [
        NextCommand::new(
            format!("ostler budget set session=N --org {org}"),
            "raise what new sessions may cost, in credits",
        ),
        NextCommand::new(
            format!("ostler session close {session}"),
            "end this one; the next message begins a new session",
        ),
    ]
}

/// Describes the state of a session in a line.
pub(crate) fn describe_state(session: &Session) -> String {
    let spent = format!(
        "this session spent {} of at most {}",
        session.spent.get(),
        count(session.credit_cap.get(), "credit")
    );
    format!("{} · {spent}", describe_status(session))
}

/// Describes who answers in a session and what waits for people.
pub(crate) fn describe_status(session: &Session) -> String {
    let state = match (session.status, session.closed, session.open_escalation()) {
        (SessionState::Closed, Some(reason), _) => format!("closed: {}", close_reason(reason)),
        (SessionState::Closed, None, _) => "closed".into(),
        (_, _, Some(escalation)) if escalation.taken_over_by.is_some() => "a person answers".into(),
        (_, _, Some(_)) => "waits for a person".into(),
        (SessionState::HandedOff, _, None) => "handed off".into(),
        (SessionState::Active, _, None) => "an agent answers".into(),
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
