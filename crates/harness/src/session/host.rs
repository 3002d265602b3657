//! The host of a turn: stores what has to survive, and turns the events of the engine into
//! those of the harness.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::gate::permission::PermissionSource;
use ostler_domain::gate::{AskReason, DenyReason, GateDecision};
use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::money::Credits;
use ostler_domain::scope::ToolScope;
use ostler_domain::time::Timestamp;
use ostler_engine::driver::{Host, Intent};
use ostler_engine::extensions::Extensions;
use ostler_engine::history::{CallId, Item};
use ostler_engine::model::StopReason;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::UserQuestion;
use ostler_engine::turn::{AgentPath, GateRecord, QuestionKind, Turn, TurnEvent};
use ostler_store::{JournalEntry, JournalKind, NewSubagentRun, ThreadCommit, ThreadLease};
use serde_json::{Map, Value, json};

use super::open::StoredOutcome;
use super::reservation::TurnReservation;
use super::{Asks, Core, OpenQuestion, lost};
use crate::always::covered_calls;
use crate::clock;
use crate::error::HarnessError;
use crate::event::{
    AskEvent, EventDetails, EventKind, HeldEvent, MessageEvent, SessionEvent, SubagentEvent,
    ToolEvent,
};
use crate::message::{message, message_id};
use crate::usage::TokenUsage;

/// The host of one turn.
pub(super) struct TurnHost {
    pub(super) core: Arc<Core>,
    pub(super) thread: ThreadId,
    pub(super) turn: RunId,
    pub(super) lease: ThreadLease,
    pub(super) asks: Asks,
    pub(super) extensions: Extensions,
    scope: Arc<ToolScope>,
    /// Why calls were refused, until their end is reported.
    refusals: Mutex<BTreeMap<String, DenyReason>>,
    /// What the ledger of the org holds for the turn.
    pub(super) reservation: Option<TurnReservation>,
    progress: Mutex<Progress>,
    /// Whether a question came up that is not stored yet.
    unstored_ask: AtomicBool,
    /// Questions whose answers were stored by another process. They are not asked again.
    answered: BTreeSet<String>,
    /// Subagents that have ended since the turn was stored.
    ended_subagents: Mutex<Vec<NewSubagentRun>>,
}

/// How far the answers of the turn have come.
struct Progress {
    /// The number that the next message will have.
    next_seq: i64,
    /// The answer that streams in.
    draft: Option<DraftMessage>,
    usage: TokenUsage,
}

struct DraftMessage {
    id: String,
    at: Timestamp,
    text: String,
    /// How much of the text was published.
    published: usize,
}

/// A long text is published again only when it has grown by this part, so that the work
/// stays proportional to its length.
const GROWTH: usize = 64;

impl TurnHost {
    pub(super) fn new(
        core: Arc<Core>,
        turn: RunId,
        lease: ThreadLease,
        next_seq: i64,
        usage: TokenUsage,
        answered: BTreeSet<String>,
        extensions: Extensions,
    ) -> Self {
        Self {
            core,
            thread: lease.thread(),
            turn,
            lease,
            asks: Asks::default(),
            extensions,
            scope: Arc::new(ToolScope::unrestricted([])),
            refusals: Mutex::default(),
            reservation: None,
            progress: Mutex::new(Progress { next_seq, draft: None, usage }),
            unstored_ask: AtomicBool::new(false),
            answered,
            ended_subagents: Mutex::default(),
        }
    }

    /// Sets the tools of the turn.
    pub(super) fn with_scope(self, scope: Arc<ToolScope>) -> Self {
        Self { scope, ..self }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusals(&self) -> MutexGuard<'_, BTreeMap<String, DenyReason>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn details(&self, path: &AgentPath) -> EventDetails {
        EventDetails {
            id: None,
            at: clock::now(),
            thread_id: Some(self.thread),
            turn_id: Some(self.turn),
            path: path.iter().map(ToString::to_string).collect(),
            more: Map::new(),
        }
    }

    fn publish(&self, path: &AgentPath, kind: impl Into<EventKind>) {
        self.core.hub.publish(kind.into(), self.details(path));
    }

    /// Stores the state of the turn, and publishes the questions it waits for.
    pub(super) async fn store_state(&self, turn: &Turn) -> Result<(), HarnessError> {
        let asked = self.unstored_ask.swap(false, Ordering::AcqRel);
        let new = if asked { self.unknown_asks(turn) } else { BTreeMap::new() };
        let events = new.iter().map(|(id, open)| self.ask_event(id, open)).collect();
        let state = turn.store_without_past()?;
        let entry = JournalEntry { turn: self.turn, kind: JournalKind::State, data: state };
        let change = ThreadCommit {
            journal: vec![entry],
            subagent_runs: self.take_ended_subagents(),
            ..ThreadCommit::new(self.turn)
        };
        let stored = self.core.commit_with_events(self.lease, change, events).await;
        let held = stored.map_err(lost)?;
        // Readers of the events can answer at once.
        self.asks().extend(new);
        held.into_iter().for_each(HeldEvent::publish);
        Ok(())
    }

    pub(super) fn asks(&self) -> MutexGuard<'_, BTreeMap<String, OpenQuestion>> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the questions of the turn that were not published yet.
    fn unknown_asks(&self, turn: &Turn) -> BTreeMap<String, OpenQuestion> {
        let known = self.asks();
        let all = turn.questions().into_iter();
        let by_id = all.map(|(path, question)| (ask_id(&path, &question.call.id), path, question));
        by_id
            .filter(|(id, ..)| !known.contains_key(id) && !self.answered.contains(id))
            .map(|(id, path, question)| {
                let past_calls = covered_calls(&question, &self.scope, turn.history());
                (id, OpenQuestion { path, question, past_calls })
            })
            .collect()
    }

    /// Makes the next stored state publish all questions of the turn again.
    pub(super) fn publish_asks_again(&self) {
        self.unstored_ask.store(true, Ordering::Release);
    }

    /// Returns the subagents that have ended since the turn was stored.
    pub(super) fn take_ended_subagents(&self) -> Vec<NewSubagentRun> {
        std::mem::take(&mut self.ended_subagents.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn subagent_ended(
        &self,
        path: &AgentPath,
        agent_type: &str,
        duration_ms: u64,
        messages: &[Item],
    ) {
        let run = clock::fresh_id(RunId::from_u128);
        let ended = NewSubagentRun {
            run,
            path: super::json(path),
            agent_type: agent_type.to_owned(),
            messages: super::json(&messages),
        };
        self.ended_subagents.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        let mut details = self.details(path);
        details.more.insert("runId".into(), json!(run));
        let agent_type = agent_type.to_owned();
        let kind = SubagentEvent::SubagentEnd { agent_type, duration_ms };
        self.core.hub.publish(kind.into(), details);
    }

    fn ask_event(&self, id: &str, open: &OpenQuestion) -> (EventKind, EventDetails) {
        let question = &open.question;
        let mut details = self.details(&open.path);
        let kind = match &question.kind {
            QuestionKind::Approval { why, risk, arguments } => {
                details
                    .more
                    .insert("why".into(), json!(GateDecision::Ask(why.clone()).to_string()));
                details.more.insert("reason".into(), json!(why));
                if let AskReason::Permission(source) = why {
                    add_rule(&mut details, source);
                }
                if let Some(proposal) = self.core.propose_rule(open, &self.scope) {
                    details.more.insert("always".into(), json!(proposal));
                }
                details.more.insert("risk".into(), json!(risk));
                details.more.insert("argumentsHash".into(), json!(arguments));
                AskEvent::ToolApprovalRequired {
                    tool_call_id: id.to_owned(),
                    tool_name: question.call.name.clone(),
                    args: question.call.arguments.clone(),
                }
            }
            QuestionKind::Ask(UserQuestion::Question { question, options }) => {
                AskEvent::AskQuestion {
                    question_id: id.to_owned(),
                    question: question.clone(),
                    options: (!options.is_empty()).then(|| options.clone()),
                }
            }
            QuestionKind::Ask(UserQuestion::Plan { title, plan }) => {
                AskEvent::PlanApprovalRequired {
                    plan_id: id.to_owned(),
                    title: title.clone(),
                    plan: plan.clone(),
                }
            }
        };
        (kind.into(), details)
    }

    fn text(&self, path: &AgentPath, text: &str) {
        if !path.is_empty() {
            return self.publish(path, SubagentEvent::SubagentText { text: text.to_owned() });
        }
        let mut progress = self.progress();
        let next_seq = progress.next_seq;
        let draft = progress.draft.get_or_insert_with(|| {
            let (id, at) = (message_id(self.turn, next_seq), clock::now());
            let empty = message(id.clone(), &Item::assistant(""), at);
            self.publish(path, MessageEvent::MessageStart { message: empty });
            DraftMessage { id, at, text: String::new(), published: 0 }
        });
        draft.text.push_str(text);
        if draft.text.len() - draft.published < draft.text.len() / GROWTH {
            return;
        }
        let mut details = self.details(path);
        details.more.insert("delta".into(), draft.text[draft.published..].into());
        draft.published = draft.text.len();
        let item = Item::assistant(draft.text.clone());
        let message = message(draft.id.clone(), &item, draft.at);
        self.core.hub.publish(MessageEvent::MessageUpdate { message }.into(), details);
    }

    /// Publishes the complete answer.
    fn answered(&self, calls: &[ostler_engine::history::ToolCall], stop: StopReason) {
        let mut progress = self.progress();
        let draft = progress.draft.take();
        if draft.is_none() && calls.is_empty() {
            return;
        }
        let seq = progress.next_seq;
        progress.next_seq += if calls.is_empty() { 1 } else { 2 };
        drop(progress);
        let (id, at, text) = match draft {
            Some(draft) => (draft.id, draft.at, draft.text),
            None => (message_id(self.turn, seq), clock::now(), String::new()),
        };
        let item = Item::Assistant { text, calls: calls.to_vec(), partial: false };
        let mut details = self.details(&AgentPath::new());
        details.more.insert("stop".into(), json!(stop));
        let message = message(id, &item, at);
        self.core.hub.publish(MessageEvent::MessageEnd { message }.into(), details);
    }

    /// Publishes the end of an answer that was stopped; its text is kept.
    pub(super) fn end_partial(&self) {
        if let Some(draft) = self.progress().draft.take() {
            let item = Item::Assistant { text: draft.text, calls: Vec::new(), partial: true };
            let message = message(draft.id, &item, draft.at);
            self.publish(&AgentPath::new(), MessageEvent::MessageEnd { message });
        }
    }
}

/// Names the rung and the rule that decided about a call.
fn add_rule(details: &mut EventDetails, source: &PermissionSource) {
    details.more.insert("rung".into(), json!(source.rung()));
    if let Some(rule) = source.rule() {
        details.more.insert("rule".into(), json!(rule));
    }
}

/// Returns the id of a call that is unique in a turn: with the calls that lead to it.
pub(super) fn ask_id(path: &AgentPath, call: &CallId) -> String {
    let mut id = String::new();
    for call in path {
        id.push_str(&call.0);
        id.push('/');
    }
    id + &call.0
}

impl Host for TurnHost {
    type Error = HarnessError;

    async fn checkpoint(&self, turn: &Turn, _: &[Intent]) -> Result<(), HarnessError> {
        self.store_state(turn).await
    }

    fn wants_checkpoint(&self) -> bool {
        self.unstored_ask.load(Ordering::Acquire)
    }

    async fn store_outcome(
        &self,
        path: &AgentPath,
        call: &CallId,
        outcome: &ToolOutcome,
    ) -> Result<(), HarnessError> {
        let stored =
            StoredOutcome { path: path.clone(), call: call.clone(), outcome: outcome.clone() };
        let entry = JournalEntry {
            turn: self.turn,
            kind: JournalKind::Outcome,
            data: super::json(&stored),
        };
        let change = ThreadCommit { journal: vec![entry], ..ThreadCommit::new(self.turn) };
        self.core.commit(self.lease, change).await.map_err(lost)
    }

    async fn top_up(&self, more: Credits) -> Credits {
        match &self.reservation {
            Some(reservation) => reservation.top_up(more).await,
            None => Credits::ZERO,
        }
    }

    fn on_event(&self, path: &AgentPath, event: &TurnEvent) {
        match event {
            TurnEvent::Text { text } => self.text(path, text),
            TurnEvent::DraftDiscarded if path.is_empty() => self.progress().draft = None,
            TurnEvent::Restarted(restart) => {
                let error =
                    format!("{}: {}; trying {}", restart.failed, restart.why, restart.model);
                self.publish(path, SessionEvent::Error { error, retryable: Some(true) });
            }
            TurnEvent::Answered { usage, stop, calls } => {
                if path.is_empty() {
                    self.answered(calls, *stop);
                }
                let mut progress = self.progress();
                progress.usage.add(*usage);
                let usage = progress.usage;
                drop(progress);
                self.publish(path, SessionEvent::UsageUpdate { usage });
            }
            TurnEvent::CallStarted { call } => self.publish(
                path,
                ToolEvent::ToolStart {
                    tool_call_id: ask_id(path, &call.id),
                    tool_name: call.name.clone(),
                    args: call.arguments.clone(),
                },
            ),
            TurnEvent::CallEnded { call, tool, status, content } => {
                let mut details = self.details(path);
                details.more.insert("toolName".into(), Value::from(tool.as_str()));
                details.more.insert("status".into(), json!(status));
                if let Some(why) = self.refusals().remove(&ask_id(path, call)) {
                    let decision = GateDecision::Deny(why.clone());
                    details.more.insert("why".into(), json!(decision.to_string()));
                    details.more.insert("reason".into(), json!(why));
                    if let DenyReason::Permission(source) = &why {
                        add_rule(&mut details, source);
                    }
                }
                let kind = ToolEvent::ToolEnd {
                    tool_call_id: ask_id(path, call),
                    result: content.clone(),
                    is_error: *status != OutcomeStatus::Ok,
                };
                self.core.hub.publish(kind.into(), details);
            }
            TurnEvent::Asked(_) => self.unstored_ask.store(true, Ordering::Release),
            TurnEvent::SubagentStarted { agent_type, task } => {
                let (agent_type, task) = (agent_type.clone(), task.clone());
                self.publish(path, SubagentEvent::SubagentStart { agent_type, task });
            }
            TurnEvent::SubagentEnded { agent_type, duration_ms, messages } => {
                self.subagent_ended(path, agent_type, *duration_ms, messages);
            }
            TurnEvent::ToolDisabled { tool } => {
                let error = format!("the tool {tool} has failed too often and is off for now");
                self.publish(path, SessionEvent::Error { error, retryable: Some(false) });
            }
            TurnEvent::Decided(GateRecord { call, verdict: GateDecision::Deny(why), .. }) => {
                self.refusals().insert(ask_id(path, call), why.clone());
            }
            // The harness has a queue of its own, reports the end once it is stored, and
            // shows what the gate decided by what follows.
            TurnEvent::DraftDiscarded
            | TurnEvent::Decided(_)
            | TurnEvent::Deferred(_)
            | TurnEvent::FollowUpQueued { .. }
            | TurnEvent::Ended(_) => {}
        }
    }

    fn extensions(&self) -> Extensions {
        self.extensions.clone()
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }
}
