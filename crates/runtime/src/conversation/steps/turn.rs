//! Steps 8 and 9: calls the model, and the tools that pass the gate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::id::{AgentId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::Expense;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::session::key::ConversationEntry;
use ostler_engine::driver::{
    Driver, TRACE_TARGET, TurnCommands, TurnContext, TurnProgress, command_channel,
};
use ostler_engine::history::Item;
use ostler_engine::outcome::{OutcomeStatus, ToolEffect};
use ostler_engine::turn::{AgentUsage, KnownOutcomes, Question, ROOT_AGENT, Turn, TurnEnd};
use ostler_store::{StoreError, TurnCharges};
use serde::{Deserialize, Serialize};
use tracing::{Instrument as _, Span, field};

use crate::assembly::credits::TurnFunds;
use crate::assembly::documents::LoadedDocument;
use crate::assembly::snapshot::{SnapshotFacts, take_snapshot};
use crate::assembly::{AgentHarness, SessionFacts};
use crate::channel_binding::peer_address;
use crate::conversation::checkpoint::{OpenTurn, RunProgress};
use crate::conversation::host::TurnHost;
use crate::conversation::media;
use crate::conversation::refusals::ColleagueRefusal;
use crate::conversation::run::Run;
use crate::conversation::run_context::RunContext;
use crate::conversation::steps::rate_limit::{RateCheck, counted_as};
use crate::conversation::trace::Trace;
use crate::org_view::AgentView;
use crate::records::run::TurnRecord;
use crate::records::run_step::RunStep;
use crate::records::session::Session;
use crate::records::snapshot::{EscalationView, RateLimits, SessionContext, SessionMode, Snapshot};
use crate::running_turns::RunningTurn;

/// A finished turn and what it leaves to be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FinishedTurn {
    pub(crate) agent: AgentId,
    /// The agent in whose place a worker answered; the limits of the day are its.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counted_as: Option<AgentId>,
    /// What it added to the conversation.
    pub(crate) new_items: Vec<Item>,
    /// Changes that its tools want stored.
    pub(crate) effects: Vec<ToolEffect>,
    /// Calls that wait for a person's approval.
    pub(crate) deferred_questions: Vec<Question>,
    /// The failures of the session, including this turn's.
    pub(crate) errors: ErrorState,
    pub(crate) payer: OrgId,
    /// What consulted colleagues spent inside the turn.
    #[serde(default)]
    pub(crate) colleague_spending: BTreeMap<AgentId, Credits>,
    /// What was refused to consulted colleagues inside the turn.
    #[serde(default)]
    pub(crate) colleague_refusals: Vec<ColleagueRefusal>,
    /// How many external calls have an unknown outcome.
    #[serde(default)]
    pub(crate) unknown_outcomes: u32,
    pub(crate) reservation: ReservationId,
    pub(crate) record: TurnRecord,
}

impl FinishedTurn {
    /// Returns the credits that the turn cost.
    pub(crate) fn credits(&self) -> Credits {
        self.record.charges.iter().map(|charge| charge.amount).sum()
    }

    /// Records the cost in the budgets of the session and its team. What a colleague spent
    /// counts as the colleague's.
    pub(crate) fn charge_session(&self, session: &mut Session) {
        session.budget.record(self.credits());
        let Some(team) = &mut session.team else { return };
        let by_colleagues: Credits = self.colleague_spending.values().copied().sum();
        team.budget.record(self.agent, self.credits().saturating_sub(by_colleagues));
        for (colleague, spent) in &self.colleague_spending {
            team.budget.record(*colleague, *spent);
        }
    }

    /// Returns the charges for the commit, with the name of the model. Those of a test are
    /// marked as such.
    pub(crate) fn charges(&self, entry: ConversationEntry) -> TurnCharges {
        let mut charges = self.record.charges.clone();
        if let Some(model) = self.record.last_model() {
            for charge in &mut charges {
                if charge.expense == Expense::Model {
                    charge.expense = Expense::ModelCalls(model.to_owned());
                }
            }
        }
        if entry == ConversationEntry::Testing {
            for charge in &mut charges {
                charge.expense = charge.expense.clone().in_test();
            }
        }
        TurnCharges {
            payer: self.payer,
            reservation: self.reservation,
            budget_owner: self.agent,
            charges,
        }
    }
}

/// What a turn runs with.
pub(crate) struct TurnSetup<'a> {
    pub(crate) harness: &'a AgentHarness<'a>,
    pub(crate) session: &'a Session,
    pub(crate) progress: RunProgress<'a>,
    pub(crate) timeout: Duration,
    pub(crate) visibility: DraftVisibility,
}

/// Who sees the text of a turn while it is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftVisibility {
    Public,
    /// The text is not meant for the customer.
    Hidden,
}

/// Runs the turn of an agent in the conversation to its end.
pub(crate) async fn run(
    context: &RunContext<'_>,
    run: &mut Run,
    harness: &AgentHarness<'_>,
    open: OpenTurn,
    turn: Turn,
    known: &KnownOutcomes,
) -> Result<FinishedTurn, StoreError> {
    let timer = Trace::start(RunStep::Turn);
    let setup = TurnSetup {
        harness,
        session: &run.session,
        progress: run.progress(),
        timeout: context.services.deps.settings.turn_timeout,
        visibility: DraftVisibility::Public,
    };
    let span = timer.span().in_scope(|| agent_span(harness, &run.session));
    let driven = drive(context, setup, open, turn, known).instrument(span);
    let finished = Box::pin(driven.instrument(timer.span())).await?;
    run.trace.finish(timer);
    Ok(finished)
}

/// Returns the span of a turn of an agent. What was said is not in it.
fn agent_span(harness: &AgentHarness<'_>, session: &Session) -> Span {
    let agent = &harness.agent.agent;
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "invoke_agent",
        otel.name = field::Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.id = %agent.id,
        gen_ai.agent.name = agent.slug.as_str(),
        gen_ai.conversation.id = %session.id,
    );
    span.record("otel.name", format_args!("invoke_agent {}", agent.slug));
    span
}

/// Drives a turn to its end and renews the lease of the conversation meanwhile.
pub(crate) async fn drive(
    context: &RunContext<'_>,
    setup: TurnSetup<'_>,
    open: OpenTurn,
    turn: Turn,
    known: &KnownOutcomes,
) -> Result<FinishedTurn, StoreError> {
    let mut turn = media::load(context, turn).await;
    let TurnSetup { harness, session, progress, timeout, visibility } = setup;
    let turn_context = TurnContext {
        org: context.org(),
        agent: harness.agent.agent.id,
        session: Some(session.id),
        contact: session.contact,
        audience: session.audience(),
        idempotency_prefix: format!("{}/{}", context.run_id, progress.finished_turns.len()),
        timeout,
    };
    let (handle, mut commands) = command_channel();
    let running = context.services.running_turns.register(
        session.id,
        RunningTurn {
            run: context.run_id,
            session: Arc::new(session.clone()),
            view: context.view.clone(),
            org_views: context.services.org_views.clone(),
            tools: context.view.tools.clone(),
            available: open.harness.credit_budget.turn.tightest_limit().0,
            handle,
        },
    );
    let host = TurnHost::new(context, session, progress, open, visibility);
    let driver = Driver { context: &turn_context, rules: harness.rules(context.now), host: &host };
    let driven = driver.drive(&mut turn, known, &mut commands);
    let progress = keep_lease(context, driven).await?;
    drop(running);
    crate::faults::point("after_model");
    let end = match progress {
        TurnProgress::Ended(end) => end,
        // Nobody is at a keyboard to answer a tool's question here.
        TurnProgress::Suspended(_) => abort(&driver, &mut turn, known).await?,
    };
    Ok(finished_turn(context, harness.agent, host.into_open_turn(), &turn, end))
}

/// Renews the lease of the conversation until the work is done.
async fn keep_lease<T>(
    context: &RunContext<'_>,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let policy = context.services.deps.settings.claims;
    let interval = (policy.lease / 3).max(Duration::from_millis(100));
    tokio::pin!(work);
    loop {
        match tokio::time::timeout(interval, &mut work).await {
            Ok(done) => return done,
            Err(_) => context.services.deps.store.renew_lease(context.lease, policy).await?,
        }
    }
}

/// Ends a turn that waits for an answer nobody can give.
async fn abort(
    driver: &Driver<'_, TurnHost<'_, '_>>,
    turn: &mut Turn,
    known: &KnownOutcomes,
) -> Result<TurnEnd, StoreError> {
    let (handle, mut commands): (_, TurnCommands) = command_channel();
    handle.abort();
    match driver.drive(turn, known, &mut commands).await? {
        TurnProgress::Ended(end) => Ok(end),
        TurnProgress::Suspended(_) => Ok(TurnEnd::Aborted),
    }
}

fn finished_turn(
    context: &RunContext<'_>,
    agent: &AgentView,
    open: OpenTurn,
    turn: &Turn,
    end: TurnEnd,
) -> FinishedTurn {
    let account = turn.account();
    let unknown_outcomes = count_unknown_outcomes(&open, turn.new_items());
    let mut harness = open.harness;
    harness.error_state.llm_retries_used =
        u32::try_from(account.restarts.len()).unwrap_or(u32::MAX);
    FinishedTurn {
        agent: agent.agent.id,
        counted_as: Some(counted_as(&agent.agent)).filter(|id| *id != agent.agent.id),
        new_items: turn.new_items().to_vec(),
        effects: account.effects.clone(),
        deferred_questions: account.deferred_questions.clone(),
        errors: account.errors.clone(),
        payer: open.payer,
        colleague_spending: colleague_spending(context, &account.usage_by_agent),
        colleague_refusals: open.colleague_refusals,
        unknown_outcomes,
        reservation: open.reservation,
        record: TurnRecord {
            agent: agent.agent.id,
            harness,
            decisions: account.decisions.clone(),
            approvals: Vec::new(),
            usage: account.usage,
            spent: account.usage_by_agent.clone(),
            cost: account.model_cost(),
            charges: account.charges(),
            models: models_of(context, agent),
            restarts: account.restarts.clone(),
            end,
        },
    }
}

/// Returns the models of an agent, or else the default, in order of preference.
fn models_of(context: &RunContext<'_>, agent: &AgentView) -> Vec<String> {
    match context.view.settings.models_of(&agent.agent) {
        [] => {
            let default = context.services.deps.models.default_model();
            default.into_iter().map(str::to_owned).collect()
        }
        named => named.to_vec(),
    }
}

/// Returns what the org's agents spent that worked inside the turn.
fn colleague_spending(
    context: &RunContext<'_>,
    usage: &BTreeMap<String, AgentUsage>,
) -> BTreeMap<AgentId, Credits> {
    let mut spending = BTreeMap::new();
    for (slug, usage) in usage.iter().filter(|(slug, _)| *slug != ROOT_AGENT) {
        if let Some(one) = context.view.agents.iter().find(|one| one.agent.slug == *slug) {
            spending.insert(one.agent.id, usage.credits);
        }
    }
    spending
}

fn count_unknown_outcomes(open: &OpenTurn, new_items: &[Item]) -> u32 {
    let results = new_items.iter().flat_map(|item| match item {
        Item::Results { results } => results.as_slice(),
        _ => &[],
    });
    let unknown = results.filter(|one| {
        one.outcome.status == OutcomeStatus::OutcomeUnknown
            && open.calls.iter().any(|external| external.call == one.call)
    });
    u32::try_from(unknown.count()).unwrap_or(u32::MAX)
}

/// Returns the snapshot of the harness. `(earlier_items, documents)` is what the model
/// reads besides the input.
pub(crate) fn snapshot(
    context: &RunContext<'_>,
    session: &Session,
    harness: &AgentHarness<'_>,
    funds: &TurnFunds,
    rate: &RateCheck,
    (earlier_items, documents): (usize, &[LoadedDocument]),
) -> Snapshot {
    let open_escalation = session.open_escalation();
    take_snapshot(SnapshotFacts {
        view: &context.view,
        agent: harness.agent,
        scope: &harness.scope,
        funds,
        session: SessionFacts::from(session),
        rate_limits: RateLimits { limits: rate.limits, today: rate.today },
        session_context: SessionContext {
            session_id: session.id,
            channel: session.channel.clone(),
            external_contact_identifier: peer_address(&session.peer).to_owned(),
            conversation_history: earlier_items,
            crm_contact: session.contact,
            knowledge_base_docs: documents.iter().map(|one| one.id).collect(),
            session_mode: match session.interview {
                Some(_) => SessionMode::Guided,
                None => SessionMode::Freeform,
            },
            testing_mode: session.entry == ConversationEntry::Testing,
        },
        escalation_state: EscalationView {
            human_escalation_requested: open_escalation.is_some(),
            escalation_reason: open_escalation.map(|one| one.state.request.reason.clone()),
            pending_approvals: session.pending_approvals,
            team_budget_remaining: session.team.as_ref().map(|team| team.budget.remaining()),
        },
    })
}
