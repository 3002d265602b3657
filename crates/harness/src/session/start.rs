//! Starting turns: a new one for a message, or one that was stored.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ostler_domain::id::{AgentId, RunId};
use ostler_domain::memory::MessageOrigin;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::driver::{TurnContext, command_channel};
use ostler_engine::history::Item;
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn};
use ostler_store::{JournalEntry, JournalKind, ThreadCommit};
use tokio::sync::{Notify, watch};

use super::answer::StoredAnswer;
use super::host::{TurnHost, ask_id};
use super::open::StoredTurn;
use super::reservation::held_by;
use super::run::TurnTask;
use super::{Core, QueuedMessage, RunningTurn, Session, TurnOutcome, TurnStatus, lost};
use crate::clock;
use crate::config::Budget;
use crate::error::HarnessError;
use crate::event::{MessageEvent, TurnLifeEvent};
use crate::message::{HarnessMessage, StoredItem};
use crate::request::HarnessRequestContext;

/// The receiver of a turn's outcome.
pub(crate) type Outcome = watch::Receiver<Option<TurnOutcome>>;

impl Core {
    /// Starts a turn that answers a message, which is stored first. Without a message, the
    /// turn answers the last one of the thread.
    pub(crate) async fn start_turn(
        self: &Arc<Self>,
        session: &mut Session,
        mut message: Option<QueuedMessage>,
    ) -> Result<Outcome, HarnessError> {
        let assembled = self.assemble(session)?;
        self.load_permission_files(&assembled.scope)?;
        let thread = session.thread.as_mut().ok_or(HarnessError::NoThread)?;
        let id = clock::fresh_id(RunId::from_u128);
        let request = HarnessRequestContext::new(self, thread.info.id, id);
        let workspace = self.workspace_of(&assembled.agent, &request);
        self.save_files(workspace.clone(), id.to_string()).await;
        self.add_context(thread, workspace, &assembled, message.as_mut()).await;
        if let Some(message) = message.as_mut() {
            self.store_attachments(thread.lease, &mut message.content).await?;
        }
        if let Some(memory) = &thread.window.memory {
            memory.set_default_settings(self.memory_settings(Some(&assembled.agent)));
        }
        let budget = self.fund_turn(id, thread.info.metadata.credits_spent).await?;
        let (now, seq) = (clock::now(), thread.next_seq);
        let stored = message.map(|QueuedMessage { content, origin, .. }| StoredItem {
            item: Item::User { content },
            at: now,
            origin,
        });
        let shown = stored.as_ref().map(|stored| stored.message(id, seq));
        let messages: Vec<String> = stored.iter().map(super::json).collect();
        let kept = thread.window.memory_messages(
            seq,
            stored.iter().map(|stored| &stored.item),
            stored.as_ref().map_or(MessageOrigin::Conversation, |stored| stored.origin),
            Trust::Trusted,
        );
        let mut history = self.take_window(thread);
        history.extend(stored.map(|stored| stored.item));
        let files = match self.config.workspace {
            Some(_) => self.config.workspace_trust,
            None => Trust::Trusted,
        };
        let turn = Turn::new(NewTurn {
            system: thread.context.system(&assembled.system),
            history,
            approved: None,
            trust: thread.trust.after_reading(thread.window.trust()).after_reading(files),
            budget,
            errors: thread.errors.clone(),
            limits: self.config.limits,
            now,
        })
        .with_tools(assembled.own_tools.to_vec());
        let added = i64::from(!messages.is_empty());
        let state = turn.store_without_past()?;
        let change = ThreadCommit {
            messages,
            memory: kept.clone(),
            first_seq: seq,
            journal: vec![JournalEntry { turn: id, kind: JournalKind::State, data: state }],
            follow_ups: Some(super::json(&thread.follow_ups)),
            wait_for_disk: false,
            ..ThreadCommit::new(id)
        };
        if let Err(error) = self.commit(thread.lease, change).await {
            let not_stored = usize::try_from(added).unwrap_or(0);
            if let Some(reservation) = self.reservation(id, held_by(turn.account())) {
                reservation.release().await;
            }
            thread.window.give_back(turn.into_history(), not_stored);
            return Err(lost(error));
        }
        thread.window.stored(&kept);
        thread.next_seq += added;
        thread.info.message_count += added;
        let stored = StoredTurn {
            id,
            turn,
            outcomes: KnownOutcomes::new(),
            answers: Vec::new(),
            first_seq: thread.next_seq,
        };
        self.spawn(session, stored, shown)
    }

    /// Continues the turn of a process that is gone, if the thread has one. On failure it
    /// can be continued later.
    pub(crate) fn continue_interrupted(
        self: &Arc<Self>,
        session: &mut Session,
    ) -> Result<Option<Outcome>, HarnessError> {
        self.assemble(session)?;
        let Some(thread) = session.thread.as_mut() else { return Ok(None) };
        match std::mem::replace(&mut thread.turn, TurnStatus::Idle) {
            TurnStatus::Interrupted(stored) => self.spawn(session, *stored, None).map(Some),
            other => {
                thread.turn = other;
                Ok(None)
            }
        }
    }

    /// Runs a turn in a task of its own.
    fn spawn(
        self: &Arc<Self>,
        session: &mut Session,
        stored: StoredTurn,
        message: Option<HarnessMessage>,
    ) -> Result<Outcome, HarnessError> {
        let assembled = self.assemble(session)?;
        let thread = session.thread.as_mut().ok_or(HarnessError::NoThread)?;
        let StoredTurn { id, turn, outcomes, answers, first_seq } = stored;
        let lease = thread.lease;
        let extensions =
            HarnessRequestContext::extensions(self, &assembled.agent, lease.thread(), id);
        let usage = thread.info.metadata.token_usage;
        let answered = answers.iter().map(|one| ask_id(&one.path, &one.call)).collect();
        let mut host =
            TurnHost::new(self.clone(), id, lease, first_seq, usage, answered, extensions)
                .with_scope(assembled.scope.clone());
        host.reservation = self.reservation(id, held_by(turn.account()));
        let (handle, commands) = command_channel();
        let (done, outcome) = watch::channel(None);
        let answered = Arc::new(Notify::new());
        let waits = Arc::new(AtomicBool::new(false));
        let (asks, mut plan_approved) = (host.asks.clone(), false);
        for StoredAnswer { path, call, answer, approves_plan } in answers {
            plan_approved |= approves_plan;
            // A turn that no longer waits for the answer ignores it.
            let _ = answer.send(&handle, path, call);
        }
        let details = host.details(&Vec::new());
        self.hub.publish(TurnLifeEvent::AgentStart {}.into(), details.clone());
        if let Some(message) = message {
            let start = MessageEvent::MessageStart { message: message.clone() };
            self.hub.publish(start.into(), details.clone());
            self.hub.publish(MessageEvent::MessageEnd { message }.into(), details);
        }
        let context = TurnContext {
            org: self.config.org,
            agent: AgentId::from_u128(0),
            session: None,
            contact: None,
            audience: Audience::Staff,
            idempotency_prefix: id.to_string(),
            timeout: self.config.turn_timeout,
        };
        let task = TurnTask {
            host,
            context,
            assembled: assembled.clone(),
            commands,
            answered: answered.clone(),
            waits: waits.clone(),
            first_seq,
            done,
        };
        // The task cannot end before the caller lets go of the session.
        let task = tokio::spawn(task.run(Box::new(turn), outcomes)).abort_handle();
        thread.turn = TurnStatus::Running(RunningTurn {
            id,
            handle,
            asks,
            answered,
            done: outcome.clone(),
            continue_queue: false,
            plan_approved,
            hold: false,
            assembled,
            task,
            waits,
        });
        Ok(outcome)
    }

    /// Returns what a turn may spend.
    pub(super) fn turn_budget(&self, spent: u64) -> TurnBudget {
        let left = match self.config.budget {
            Budget::Thread(budget) => Credits::new(budget.get().saturating_sub(spent)),
            Budget::Unlimited | Budget::Ledger => Credits::MAX_AMOUNT,
        };
        TurnBudget {
            reserved: left,
            top_up: Credits::ZERO,
            session: left,
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        }
    }
}
