//! The stored form of run records: short, because there is one for every answer. What the
//! harnesses of a run have in common with those of other runs is a text of its own, which the
//! store keeps once. Neither repeats what the other, or the row of the run, says.
//!
//! Runs that older programs stored are the record itself as JSON, without such a text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ostler_domain::agent::limits::{AgentLimits, DailyUsage};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, ApprovalId, ContactId, DocumentId, InboxId, SessionId};
use ostler_domain::money::caps::{BudgetView, TurnBudget};
use ostler_domain::money::ledger::Charge;
use ostler_domain::money::{Credits, Usd};
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_domain::tool::{Integration, ToolName};
use ostler_engine::model::{Restart, Usage};
use ostler_engine::turn::{AgentUsage, GateRecord, ROOT_AGENT, TurnEnd};
use ostler_store::{NewRun, StoredRun};
use serde::{Deserialize, Serialize};

use super::run::{RunOutcome, RunRecord, StepRecord, TurnRecord};
use super::run_step::RunStep;
use super::snapshot::{
    Autonomy, BudgetGroup, Errors, EscalationView, Identity, RateLimits, ScopeView, SessionContext,
    SessionMode, Snapshot, SoulRef,
};
use super::{UnreadableRecord, decode, encode};

impl RunRecord {
    /// Returns what the store keeps of the record.
    pub(crate) fn to_stored(&self) -> NewRun {
        let turns = self.turns.iter().chain(&self.side_turns);
        let shared: Vec<SharedHarness<'_>> = turns.map(SharedHarness::of).collect();
        NewRun { id: self.id, data: encode(&RunData::of(self)), harness: Some(encode(&shared)) }
    }

    /// Reads a stored record.
    pub fn from_stored(stored: &StoredRun) -> Result<Self, UnreadableRecord> {
        let Some(shared) = &stored.harness else { return decode("run", &stored.data) };
        let data: RunData<'_> = decode("run", &stored.data)?;
        let shared: Vec<SharedHarness<'_>> = decode("run", shared)?;
        if shared.len() != data.turns.len() + data.side_turns.len() {
            let why = "it has another number of turns than of harnesses".to_owned();
            return Err(UnreadableRecord { what: "run", why });
        }
        Ok(data.record(stored, shared))
    }
}

/// A run without what its row says and what [`SharedHarness`] holds.
#[derive(Serialize, Deserialize)]
struct RunData<'r> {
    v: u32,
    at: Timestamp,
    input: Cow<'r, [InboxId]>,
    outcome: Cow<'r, RunOutcome>,
    steps: Vec<StepData<'r>>,
    turns: Vec<TurnData<'r>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    side_turns: Vec<TurnData<'r>>,
    credits: Credits,
}

/// The number of a step, its beginning and its duration in microseconds, and its note.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StepData<'r> {
    Plain(Cow<'r, str>, u64, u64),
    Noted(Cow<'r, str>, u64, u64, Cow<'r, str>),
}

/// A turn.
#[derive(Serialize, Deserialize)]
struct TurnData<'r> {
    harness: HarnessState<'r>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    decisions: Cow<'r, [GateRecord]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    approvals: Cow<'r, [ApprovalId]>,
    /// The tokens of input and output, and those of input that a cache held or got.
    usage: (u64, u64, u64, u64),
    /// None if the agent itself has used everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent: Option<Cow<'r, BTreeMap<String, AgentUsage>>>,
    cost: Usd,
    charges: Cow<'r, [Charge]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    restarts: Cow<'r, [Restart]>,
    end: Cow<'r, TurnEnd>,
}

/// What changes from turn to turn in the harness of an agent.
#[derive(Serialize, Deserialize)]
struct HarnessState<'r> {
    /// If it is not that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    contact_identifier: Cow<'r, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contact: Option<ContactId>,
    history: usize,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    documents: Cow<'r, [DocumentId]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    disabled_tools: Cow<'r, [ToolName]>,
    /// What the session, the org and its parent have left.
    left: (Credits, Option<Credits>, Option<Credits>),
    /// Reserved, top-up, session, read reserve, team, subagent.
    budget: (Credits, Credits, Credits, Credits, Option<Credits>, Option<Credits>),
    /// Day, messages, cost.
    today: (UtcDay, u32, Usd),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<Cow<'r, Errors>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    escalation: Option<Cow<'r, EscalationView>>,
}

/// What the harness of a turn has in common with those of other runs.
#[derive(Serialize, Deserialize)]
struct SharedHarness<'r> {
    agent: AgentId,
    identity: Cow<'r, Identity>,
    soul: SoulRef,
    active_tools: Cow<'r, [ToolName]>,
    integration_requirements: Cow<'r, [(ToolName, Integration)]>,
    platform_policy: u32,
    org_policy: u32,
    budget_owner: AgentId,
    autonomy: Cow<'r, Autonomy>,
    limits: AgentLimits,
    channel: Cow<'r, Channel>,
    session_mode: SessionMode,
    testing_mode: bool,
    models: Cow<'r, [String]>,
}

impl<'r> RunData<'r> {
    fn of(record: &'r RunRecord) -> Self {
        let turn = |turn| TurnData::of(turn, record.session);
        Self {
            v: record.v,
            at: record.at,
            input: Cow::Borrowed(&record.input),
            outcome: Cow::Borrowed(&record.outcome),
            steps: record.steps.iter().map(StepData::of).collect(),
            turns: record.turns.iter().map(turn).collect(),
            side_turns: record.side_turns.iter().map(turn).collect(),
            credits: record.credits,
        }
    }

    fn record(self, stored: &StoredRun, shared: Vec<SharedHarness<'_>>) -> RunRecord {
        let mut shared = shared.into_iter();
        let mut join = |turns: Vec<TurnData<'_>>| {
            let turns = turns.into_iter().zip(&mut shared);
            turns.map(|(turn, shared)| turn.record(shared, stored.session)).collect()
        };
        RunRecord {
            v: self.v,
            id: stored.id,
            session: stored.session,
            at: self.at,
            input: self.input.into_owned(),
            outcome: self.outcome.into_owned(),
            steps: self.steps.into_iter().map(StepData::record).collect(),
            turns: join(self.turns),
            side_turns: join(self.side_turns),
            credits: self.credits,
        }
    }
}

impl<'r> StepData<'r> {
    fn of(record: &'r StepRecord) -> Self {
        let StepRecord { step, began_us, took_us, note, .. } = record;
        match note {
            None => Self::Plain(step.as_ref().into(), *began_us, *took_us),
            Some(note) => Self::Noted(step.as_ref().into(), *began_us, *took_us, note.into()),
        }
    }

    fn record(self) -> StepRecord {
        let (step, began_us, took_us, note) = match self {
            Self::Plain(step, began, took) => (step, began, took, None),
            Self::Noted(step, began, took, note) => (step, began, took, Some(note.into_owned())),
        };
        let name = RunStep::with_number(&step).map_or("", RunStep::name).into();
        StepRecord { step: step.into_owned().into(), name, began_us, took_us, note }
    }
}

impl<'r> TurnData<'r> {
    fn of(record: &'r TurnRecord, session: SessionId) -> Self {
        let Usage { input, output, cached, written } = record.usage;
        let spent = Some(&record.spent).filter(|spent| **spent != spent_alone(record));
        Self {
            harness: HarnessState::of(&record.harness, session),
            decisions: Cow::Borrowed(&record.decisions),
            approvals: Cow::Borrowed(&record.approvals),
            usage: (input, output, cached, written),
            spent: spent.map(Cow::Borrowed),
            cost: record.cost,
            charges: Cow::Borrowed(&record.charges),
            restarts: Cow::Borrowed(&record.restarts),
            end: Cow::Borrowed(&record.end),
        }
    }

    fn record(self, shared: SharedHarness<'_>, session: SessionId) -> TurnRecord {
        let (input, output, cached, written) = self.usage;
        let (agent, models) = (shared.agent, shared.models.clone().into_owned());
        let mut record = TurnRecord {
            agent,
            harness: self.harness.snapshot(shared, session),
            decisions: self.decisions.into_owned(),
            approvals: self.approvals.into_owned(),
            usage: Usage { input, output, cached, written },
            spent: BTreeMap::new(),
            cost: self.cost,
            charges: self.charges.into_owned(),
            models,
            restarts: self.restarts.into_owned(),
            end: self.end.into_owned(),
        };
        record.spent = self.spent.map_or_else(|| spent_alone(&record), Cow::into_owned);
        record
    }
}

/// Returns what the agents of a turn have used if there was only one.
fn spent_alone(turn: &TurnRecord) -> BTreeMap<String, AgentUsage> {
    let credits = turn.charges.iter().map(|charge| charge.amount).sum();
    [(ROOT_AGENT.to_owned(), AgentUsage { usage: turn.usage, credits })].into()
}

impl<'r> HarnessState<'r> {
    fn of(snapshot: &'r Snapshot, session: SessionId) -> Self {
        let Snapshot { tool_scope, credit_budget, rate_limits, session_context, .. } = snapshot;
        let (errors, escalation) = (&snapshot.error_state, &snapshot.escalation_state);
        let BudgetView { session_budget, org_budget, parent_budget } = credit_budget.left;
        let TurnBudget { reserved, top_up, session: of_session, read_reserve, team, subagent } =
            credit_budget.turn;
        let DailyUsage { day, messages, cost } = rate_limits.today;
        Self {
            session: Some(session_context.session_id).filter(|one| *one != session),
            contact_identifier: session_context.external_contact_identifier.as_str().into(),
            contact: session_context.crm_contact,
            history: session_context.conversation_history,
            documents: Cow::Borrowed(&session_context.knowledge_base_docs),
            disabled_tools: Cow::Borrowed(&tool_scope.disabled_for_session),
            left: (session_budget, org_budget, parent_budget),
            budget: (reserved, top_up, of_session, read_reserve, team, subagent),
            today: (day, messages, cost),
            errors: (*errors != Errors::default()).then_some(Cow::Borrowed(errors)),
            escalation: (*escalation != EscalationView::default())
                .then_some(Cow::Borrowed(escalation)),
        }
    }

    fn snapshot(self, shared: SharedHarness<'_>, session: SessionId) -> Snapshot {
        let (session_budget, org_budget, parent_budget) = self.left;
        let (reserved, top_up, of_session, read_reserve, team, subagent) = self.budget;
        let (day, messages, cost) = self.today;
        Snapshot {
            identity: shared.identity.into_owned(),
            soul: shared.soul,
            tool_scope: ScopeView {
                active_tools: shared.active_tools.into_owned(),
                disabled_for_session: self.disabled_tools.into_owned(),
                integration_requirements: shared.integration_requirements.into_owned(),
                platform_policy: shared.platform_policy,
                org_policy: shared.org_policy,
            },
            credit_budget: BudgetGroup {
                left: BudgetView { session_budget, org_budget, parent_budget },
                turn: TurnBudget {
                    reserved,
                    top_up,
                    session: of_session,
                    read_reserve,
                    team,
                    subagent,
                },
                budget_owner: shared.budget_owner,
            },
            autonomy: shared.autonomy.into_owned(),
            rate_limits: RateLimits {
                limits: shared.limits,
                today: DailyUsage { day, messages, cost },
            },
            session_context: SessionContext {
                session_id: self.session.unwrap_or(session),
                channel: shared.channel.into_owned(),
                external_contact_identifier: self.contact_identifier.into_owned(),
                conversation_history: self.history,
                crm_contact: self.contact,
                knowledge_base_docs: self.documents.into_owned(),
                session_mode: shared.session_mode,
                testing_mode: shared.testing_mode,
            },
            error_state: self.errors.map(Cow::into_owned).unwrap_or_default(),
            escalation_state: self.escalation.map(Cow::into_owned).unwrap_or_default(),
        }
    }
}

impl<'r> SharedHarness<'r> {
    fn of(turn: &'r TurnRecord) -> Self {
        let Snapshot { identity, soul, tool_scope, autonomy, session_context, .. } = &turn.harness;
        Self {
            agent: turn.agent,
            identity: Cow::Borrowed(identity),
            soul: *soul,
            active_tools: Cow::Borrowed(&tool_scope.active_tools),
            integration_requirements: Cow::Borrowed(&tool_scope.integration_requirements),
            platform_policy: tool_scope.platform_policy,
            org_policy: tool_scope.org_policy,
            budget_owner: turn.harness.credit_budget.budget_owner,
            autonomy: Cow::Borrowed(autonomy),
            limits: turn.harness.rate_limits.limits,
            channel: Cow::Borrowed(&session_context.channel),
            session_mode: session_context.session_mode,
            testing_mode: session_context.testing_mode,
            models: Cow::Borrowed(&turn.models),
        }
    }
}

#[cfg(test)]
mod tests;
