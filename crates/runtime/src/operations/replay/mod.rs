//! Runs a stored run again with another model or another policy: each turn from its recorded
//! start, through the one driver and gate, with tools that answer with recorded results and
//! do nothing. Nothing is stored but the audit entry and the charge for the model.
//!
//! Agent, soul and policies are those of the run, unless the policy is another. Documents are
//! those of the run in their present text.

mod host;
mod recorded;
mod recording;
mod start;

use std::sync::Arc;
use std::time::Instant;

use ostler_domain::id::{AgentId, RunId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::Expense;
use ostler_domain::money::price::message_credits;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::run_diff::{TurnDiff, TurnPath};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_engine::driver::{Driver, TurnContext, TurnProgress, command_channel};
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn, TurnEnd};
use ostler_store::TurnCharges;
use serde_json::json;

use self::host::ReplayHost;
use self::recorded::{RecordedRun, end_of, path_calls, words_of};
use self::start::TurnStart;
use super::{OperationError, OrgOperations, Result};
use crate::assembly::Services;
use crate::assembly::credits::TurnFunds;
use crate::assembly::history::history_trust;
use crate::deps::Deps;
use crate::records::run::TurnRecord;

/// What to change in a replay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayChange {
    /// The model of all agents, instead of those of the run.
    pub model: Option<String>,
    /// The tool policy of the org, instead of that of the run.
    pub policy: Option<ToolPolicy>,
}

/// What a replay would do, before it does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPlan {
    pub run: RunId,
    /// The models that are asked, in order of preference; empty for the installation's
    /// default.
    pub models: Vec<String>,
    pub turns: Vec<PlannedTurn>,
    /// What the tokens of the run cost with the model. A turn costs a credit at least.
    pub estimate: Credits,
}

/// A turn of a run, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTurn {
    pub agent: AgentId,
    /// The system prompt, built again from what the run names.
    pub prompt: String,
    pub recorded: TurnPath,
}

/// A run that was run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReplay {
    pub plan: ReplayPlan,
    pub turns: Vec<TurnReplay>,
    /// What the org was charged for the model.
    pub charged: Credits,
    /// What could not be as it was.
    pub notes: Vec<String>,
}

/// A turn that was run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnReplay {
    pub agent: AgentId,
    pub recorded: TurnPath,
    pub replayed: TurnPath,
    pub diff: TurnDiff,
    pub took_ms: u64,
}

impl OrgOperations<'_> {
    /// Returns what a replay would cost. Nothing is asked or charged.
    pub async fn plan_replay(&self, id: RunId, change: &ReplayChange) -> Result<ReplayPlan> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let recorded = RecordedRun::load(store, id).await?;
        self.plan(&recorded, change).await
    }

    /// Runs a run again and compares. Fails for a run that answered no message, without
    /// credits, and for a model that does not exist here.
    pub async fn replay_run(&self, id: RunId, change: &ReplayChange) -> Result<RunReplay> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let services = self.replay_services()?;
        let recorded = RecordedRun::load(store, id).await?;
        let plan = self.plan(&recorded, change).await?;
        let mut replay =
            RunReplay { plan, turns: Vec::new(), charged: Credits::ZERO, notes: Vec::new() };
        let audit = json!({"model": change.model, "policy": change.policy,
            "session": recorded.session_id()});
        store.append_audit(self.audit_entry("replay_run", &id, &audit)).await?;
        for turn in 0..recorded.run.turns.len() {
            let (turn, charged) =
                Box::pin(self.replay_turn(&services, &recorded, turn, change, &mut replay.notes))
                    .await?;
            replay.charged = replay.charged + charged;
            replay.turns.push(turn);
        }
        replay.notes.dedup();
        Ok(replay)
    }

    fn replay_services(&self) -> Result<Arc<Services>> {
        self.inner().services.clone().ok_or(OperationError::NoModel)
    }

    async fn plan(&self, recorded: &RecordedRun, change: &ReplayChange) -> Result<ReplayPlan> {
        let services = self.replay_services()?;
        let mut plan = ReplayPlan {
            run: recorded.run.id,
            models: Vec::new(),
            turns: Vec::new(),
            estimate: Credits::ZERO,
        };
        for (number, turn) in recorded.run.turns.iter().enumerate() {
            plan.models = models_of(turn, change);
            let chain = services.deps.models.chain(&plan.models);
            let model = chain.model(None).ok_or(OperationError::NoModel)?;
            plan.estimate = plan.estimate + message_credits(turn.usage.cost(model.price()));
            let start = TurnStart::restore(&services, self.org, recorded, number, change).await?;
            plan.turns.push(PlannedTurn {
                agent: turn.agent,
                prompt: start.prompt(&services, recorded, turn)?,
                recorded: recorded.path_of(number),
            });
        }
        Ok(plan)
    }

    async fn replay_turn(
        &self,
        services: &Services,
        recorded: &RecordedRun,
        number: usize,
        change: &ReplayChange,
        notes: &mut Vec<String>,
    ) -> Result<(TurnReplay, Credits)> {
        let (deps, record) = (&services.deps, &recorded.run.turns[number]);
        let start = TurnStart::restore(services, self.org, recorded, number, change).await?;
        notes.extend(start.notes.iter().cloned());
        let (session, facts) = (&recorded.session, start.facts(recorded));
        let mut harness = start.harness(services, &facts, record)?;
        harness.models = deps.models.chain(&models_of(record, change));
        let system = start.prompt(services, recorded, record)?;
        let history = recorded.input_of(number);
        let price = harness.model_price().ok_or(OperationError::NoModel)?;
        let funds = harness.reserve_credits(&facts, price, &system, &history).await?;
        let funds = funds.map_err(|shortage| OperationError::NoCredits(shortage.explanation()))?;
        let mut turn = Turn::new(NewTurn {
            system: system.into(),
            trust: history_trust(&session.channel, &history),
            history,
            approved: None,
            budget: funds.budget,
            errors: start.errors.clone(),
            limits: harness.limits,
            now: deps.clock.now(),
        });
        let context = TurnContext {
            org: self.org,
            agent: record.agent,
            session: Some(session.id),
            contact: session.contact,
            audience: session.audience(),
            idempotency_prefix: format!("replay/{}", funds.reservation),
            timeout: deps.settings.turn_timeout,
        };
        let host = ReplayHost::new(deps, funds);
        let (_handle, mut commands) = command_channel();
        let rules = harness.rules(deps.clock.now());
        let driver = Driver { context: &context, rules, host: &host };
        let began = Instant::now();
        let Ok(progress) = driver.drive(&mut turn, &KnownOutcomes::new(), &mut commands).await;
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let charged = charge_model(deps, &turn, &funds, record.agent).await?;
        let end = match progress {
            TurnProgress::Ended(end) => end,
            TurnProgress::Suspended(_) => TurnEnd::Aborted,
        };
        let replayed = TurnPath {
            calls: path_calls(turn.new_items(), &turn.account().decisions),
            words: words_of(&end),
            end: end_of(&end),
            credits: turn.account().charges().iter().map(|charge| charge.amount).sum(),
        };
        let recorded = recorded.path_of(number);
        let diff = TurnDiff::of(&recorded, &replayed);
        Ok((TurnReplay { agent: record.agent, recorded, replayed, diff, took_ms }, charged))
    }
}

/// Charges what the model cost; tools were not called. Returns the charge.
async fn charge_model(
    deps: &Deps,
    turn: &Turn,
    funds: &TurnFunds,
    budget_owner: AgentId,
) -> Result<Credits> {
    let mut charges = turn.account().charges();
    charges.retain(|charge| charge.expense == Expense::Model);
    let charged = charges.iter().map(|charge| charge.amount).sum();
    let TurnFunds { payer, reservation, .. } = *funds;
    let charges = TurnCharges { payer, reservation, budget_owner, charges };
    deps.store.org(payer).store_charges(charges).await?;
    Ok(charged)
}

fn models_of(turn: &TurnRecord, change: &ReplayChange) -> Vec<String> {
    change.model.as_ref().map_or_else(|| turn.models.clone(), |model| vec![model.clone()])
}
