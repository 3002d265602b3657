//! A recorded run, as it is run again: its input, and what each of its turns did.

use ostler_domain::gate::GateDecision;
use ostler_domain::id::{RunId, SessionId};
use ostler_domain::run_diff::{PathCall, TurnPath};
use ostler_engine::history::{Item, ToolCall};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::turn::{GateRecord, TurnEnd};
use ostler_store::OrgStore;

use super::super::{OperationError, Result};
use super::recording::calls;
use crate::assembly::history::{HISTORY_MESSAGES, history_items};
use crate::records::decode;
use crate::records::message::{MessageAuthor, Purpose, ThreadMessage};
use crate::records::run::{RunRecord, TurnRecord};
use crate::records::session::Session;

/// How many of the last messages of a session are searched for those of a run.
const MAX_MESSAGES: u32 = 1000;

/// A stored run with the conversation around it.
pub(super) struct RecordedRun {
    pub(super) run: RunRecord,
    pub(super) session: Session,
    /// The conversation before the run.
    pub(super) history: Vec<Item>,
    /// The messages of the run.
    messages: Vec<ThreadMessage>,
}

impl RecordedRun {
    /// Loads a run. Fails for one that answered no message, and for one whose messages are
    /// too old to be found.
    pub(super) async fn load(store: OrgStore<'_>, id: RunId) -> Result<Self> {
        let run = RunRecord::from_stored(&store.run(id).await?)?;
        let session: Session = decode("session", &store.session(run.session).await?.data)?;
        let stored = store.last_messages(session.thread, MAX_MESSAGES).await?;
        let all = stored.iter().map(|one| decode("message", &one.data));
        let all: Vec<ThreadMessage> = all.collect::<std::result::Result<_, _>>()?;
        let refused = |why| OperationError::NotReplayable { run: id, why };
        let first = all.iter().position(|one| one.run == Some(id));
        let first = first.ok_or(refused("its messages are not among the last of its session"))?;
        let is_input = |one: &ThreadMessage| {
            one.run == Some(id) && matches!(one.author, MessageAuthor::Customer { .. })
        };
        if run.turns.is_empty() || !all.iter().any(is_input) {
            return Err(refused("no agent answered a message of a customer in it"));
        }
        let from = first.saturating_sub(HISTORY_MESSAGES as usize);
        let history = history_items(&all[from..first]);
        let messages = all.into_iter().filter(|one| one.run == Some(id)).collect();
        Ok(Self { run, session, history, messages })
    }

    pub(super) const fn session_id(&self) -> SessionId {
        self.session.id
    }

    /// Returns what a turn read: the conversation, the messages, and what the agents before
    /// it said.
    pub(super) fn input_of(&self, turn: usize) -> Vec<Item> {
        let mut items = self.history.clone();
        let customer = self.messages.iter();
        let customer = customer.filter(|one| matches!(one.author, MessageAuthor::Customer { .. }));
        let mut content: Vec<_> = customer
            .flat_map(|one| crate::assembly::history::message_content(&one.parts))
            .collect();
        for earlier in 0..turn {
            let said = self.items_of(earlier).into_iter().find_map(|item| match item {
                Item::Assistant { text, .. } if !text.trim().is_empty() => Some(text),
                _ => None,
            });
            content.extend(said.map(|text| {
                let text = format!("[your colleague said: {}]", text.trim());
                ostler_engine::history::Content::text(text)
            }));
        }
        items.push(Item::User { content });
        items
    }

    /// Returns what a turn added to the conversation. Agents take turns, so the messages of
    /// one agent up to those of the next are those of a turn.
    pub(super) fn items_of(&self, turn: usize) -> Vec<Item> {
        let (mut at, mut items) = (0, Vec::new());
        for message in &self.messages {
            let MessageAuthor::Agent { id } = message.author else { continue };
            while self.run.turns.get(at).is_some_and(|one| one.agent != id) {
                at += 1;
            }
            if at == turn {
                items.extend(message.work.iter().cloned());
                let text = message.text();
                if !text.trim().is_empty() && message.purpose != Purpose::Notice {
                    items.push(Item::assistant(text));
                }
            }
        }
        items
    }

    /// Returns what a turn did.
    pub(super) fn path_of(&self, turn: usize) -> TurnPath {
        let Some(record) = self.run.turns.get(turn) else { return TurnPath::default() };
        let TurnRecord { decisions, end, charges, .. } = record;
        TurnPath {
            calls: path_calls(&self.items_of(turn), decisions),
            words: words_of(end),
            end: end_of(end),
            credits: charges.iter().map(|charge| charge.amount).sum(),
        }
    }
}

/// Returns the calls of a turn with their decisions.
pub(super) fn path_calls(items: &[Item], decisions: &[GateRecord]) -> Vec<PathCall> {
    let made = calls(items);
    let find = |record: &GateRecord| made.iter().find(|(call, _)| call.id == record.call);
    decisions.iter().map(|record| path_call(record, find(record).copied())).collect()
}

fn path_call(record: &GateRecord, made: Option<(&ToolCall, Option<&ToolOutcome>)>) -> PathCall {
    let decision = match &record.verdict {
        GateDecision::Allow(_) => "allow",
        GateDecision::Ask(_) => "ask",
        GateDecision::Deny(_) => "deny",
    };
    let outcome = made.and_then(|(_, outcome)| outcome);
    PathCall {
        tool: record.tool.clone(),
        arguments: made.map(|(call, _)| (*call.arguments).clone()).unwrap_or_default(),
        decision: decision.to_owned(),
        why: record.verdict.to_string(),
        outcome: outcome.map(|outcome| match super::recording::is_not_recorded(outcome) {
            true => "not recorded".to_owned(),
            false => outcome.status.description().to_owned(),
        }),
    }
}

/// Returns what an agent said at the end of a turn.
pub(super) fn words_of(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Answer { text, .. } => text.clone(),
        _ => String::new(),
    }
}

/// Describes how a turn ended.
pub(super) fn end_of(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Answer { .. } => "answered".to_owned(),
        TurnEnd::Aborted => "stopped".to_owned(),
        TurnEnd::TimedOut => "timed out".to_owned(),
        TurnEnd::StepLimit { limit } => format!("stopped after {limit} model calls"),
        TurnEnd::Loop { tool } => format!("kept calling {tool}"),
        TurnEnd::CreditsExhausted(_) => "not enough credits".to_owned(),
        TurnEnd::ModelFailed(error) => format!("the model failed: {error}"),
    }
}
