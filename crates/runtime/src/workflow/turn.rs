//! The turn of a step: an agent in its harness, or a single call in the agent's
//! name. It starts, or continues from its checkpoint.

use std::sync::Arc;

use ostler_domain::channel::Channel;
use ostler_domain::gate::GateRules;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Audience;
use ostler_engine::driver::{Driver, TurnContext, TurnHandle, command_channel};
use ostler_engine::history::Item;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{
    ApprovalMode, Input, LoadError, NewTurn, Turn, TurnLimits, TurnOutput, TurnRules,
};
use ostler_store::{StoreError, WorkflowLease};

use super::checkpoint::StepCheckpoint;
use super::child;
use super::job::{StepAction, StepJob};
use super::perform::StepResult;
use super::question::StoredAnswer;
use super::single_call::SingleCallModels;
use super::step_host::StepHost;
use super::tools::StepTools;
use super::turn_result;
use crate::assembly::credits::{FundsShortage, TurnFunds};
use crate::assembly::{AgentBriefing, AgentHarness, Services, SessionFacts};
use crate::org_view::{AgentView, OrgView};
use crate::records::decode;

/// The part of the system prompt about the step.
const STEP_PROMPT: &str = include_str!("texts/step.md");
/// The channel of steps, for policies.
const CHANNEL: &str = "workflow";

/// Runs the turn of a task until it ends or waits for people.
pub(super) async fn run(
    services: &Services,
    tools: &StepTools,
    lease: WorkflowLease,
    job: StepJob,
) -> Result<StepResult, StoreError> {
    let view = services.org_views.current(lease.org()).await?;
    let named = match &job.action {
        StepAction::Prompt { agent, .. } | StepAction::Call { agent, .. } => agent.as_deref(),
        _ => None,
    };
    let is_active = |agent: &&AgentView| agent.agent.receives_messages();
    let Some(agent) = named.and_then(|name| view.find_agent(name)).filter(is_active) else {
        let name = named.unwrap_or_default();
        return Ok(StepResult::failed(format!("no active agent `{name}`"), false));
    };
    let (channel, no_errors) = (Channel::from(CHANNEL), ErrorState::default());
    let budget = child::budget(services, lease.org(), lease.workflow(), &job).await?;
    let session = SessionFacts::without_conversation(&channel, &no_errors, budget);
    let tools = tools.of_org(&view.tools);
    let harness = harness(services, &tools, &job, &view, agent, &session);
    let mut checkpoint = job.checkpoint.clone().unwrap_or_default();
    let stored_turn = match checkpoint.turn.as_deref().map(Turn::load).transpose() {
        Ok(stored_turn) => stored_turn,
        Err(error @ LoadError::Newer { .. }) => {
            return Err(StoreError::CorruptValue { what: "turn", why: error.to_string() });
        }
        Err(error) => return Ok(StepResult::failed(error.to_string(), false)),
    };
    let opening = opening_prompt(&job, &harness, &session);
    let funds = match reserve_credits(&harness, &session, &opening, stored_turn.as_ref()).await? {
        Ok(funds) => funds,
        Err(reason) => return Ok(StepResult::failed(reason, false)),
    };
    let rules = rules(&harness, &job, services.deps.clock.now());
    let mut turn = match stored_turn {
        Some(mut turn) => {
            // The turn may have waited long; a finished one ignores the budget.
            let _over =
                turn.step(&[], Input::Budget(funds.budget), &rules, &mut TurnOutput::default());
            turn
        }
        None => new_turn(services, &job, harness.limits, opening, &funds),
    };
    let known = checkpoint.known_outcomes();
    let (handle, mut commands) = command_channel();
    let consumed_answers = send_answers(&handle, &checkpoint, &job);
    checkpoint.questions.clear();
    let context = turn_context(services, lease, &job, agent);
    let host = StepHost::new(
        &services.deps,
        lease,
        job.task.to_string(),
        consumed_answers,
        checkpoint,
        funds,
    );
    let driver = Driver { context: &context, rules, host: &host };
    let progress = driver.drive(&mut turn, &known, &mut commands).await?;
    crate::faults::point("after_step_turn");
    let (checkpoint, funds) = host.into_parts();
    Ok(turn_result::complete(services, &job, agent, &turn, progress, checkpoint, &funds))
}

/// Assembles the agent's harness. A step that is a single tool call runs with a model
/// that makes this call and nothing else.
fn harness<'v>(
    services: &'v Services,
    tools: &'v Arc<ToolSet>,
    job: &StepJob,
    view: &'v OrgView,
    agent: &'v AgentView,
    session: &SessionFacts<'_>,
) -> AgentHarness<'v> {
    let mut harness = AgentHarness::assemble(&services.deps, view, agent, session, tools);
    harness.limits.approval_mode = ApprovalMode::Suspend;
    if let StepAction::Call { tool, arguments, .. } = &job.action {
        harness.models = Arc::new(SingleCallModels::new(tool, arguments));
        harness.limits.max_steps = 2;
    }
    harness
}

/// Returns the rules of the step's turn.
fn rules<'h>(harness: &'h AgentHarness<'_>, job: &StepJob, now: Timestamp) -> TurnRules<'h> {
    let mut rules = harness.rules(now);
    if let (StepAction::Call { .. }, GateRules::Conversation(level)) =
        (&job.action, rules.authority)
    {
        rules.authority = GateRules::WorkflowCall(level);
    }
    rules
}

/// The system prompt and the opening message.
struct OpeningPrompt {
    system: Arc<str>,
    history: Vec<Item>,
}

fn opening_prompt(
    job: &StepJob,
    harness: &AgentHarness<'_>,
    session: &SessionFacts<'_>,
) -> OpeningPrompt {
    let mut system = harness.system_prompt(session, &[], &AgentBriefing::default());
    let step_prompt =
        STEP_PROMPT.replace("{step}", job.task.step.as_str()).replace("{workflow}", &job.workflow);
    system.push_str(&step_prompt);
    let prompt = match &job.action {
        StepAction::Prompt { prompt, .. } => prompt.clone(),
        _ => format!("Call the tool of the step `{}`.", job.task.step),
    };
    OpeningPrompt { system: system.into(), history: vec![Item::user(prompt)] }
}

/// Reserves credits for the next answer, or returns why that is not possible.
async fn reserve_credits(
    harness: &AgentHarness<'_>,
    session: &SessionFacts<'_>,
    opening: &OpeningPrompt,
    stored_turn: Option<&Turn>,
) -> Result<Result<TurnFunds, &'static str>, StoreError> {
    let Some(price) = harness.model_price() else {
        return Ok(Err("no model is configured for its agent"));
    };
    let history = stored_turn.map_or(opening.history.as_slice(), Turn::history);
    let reserved = harness.reserve_credits(session, price, &opening.system, history).await?;
    Ok(reserved.map_err(FundsShortage::explanation))
}

fn new_turn(
    services: &Services,
    job: &StepJob,
    limits: TurnLimits,
    opening: OpeningPrompt,
    funds: &TurnFunds,
) -> Turn {
    Turn::new(NewTurn {
        system: opening.system,
        history: opening.history,
        approved: None,
        trust: job.trust,
        budget: funds.budget,
        errors: ErrorState::default(),
        limits,
        now: services.deps.clock.now(),
    })
}

fn turn_context(
    services: &Services,
    lease: WorkflowLease,
    job: &StepJob,
    agent: &AgentView,
) -> TurnContext {
    let (task, part) = (&job.task, &job.part);
    TurnContext {
        org: lease.org(),
        agent: agent.agent.id,
        session: None,
        contact: None,
        audience: Audience::Staff,
        // The same for every attempt, so that calls with idempotency keys are
        // not repeated.
        idempotency_prefix: format!("{}/{task}/{}", lease.workflow(), part.round),
        timeout: job.timeout.unwrap_or(services.deps.settings.turn_timeout),
    }
}

/// Passes the answers of people to the turn. Returns the keys of the consumed
/// answers.
fn send_answers(handle: &TurnHandle, checkpoint: &StepCheckpoint, job: &StepJob) -> Vec<String> {
    for (name, data) in &job.answers {
        let question = checkpoint.questions.iter().find(|question| question.key == *name);
        let Some((path, call)) =
            question.and_then(|open| Some((open.path.clone(), open.call.clone()?)))
        else {
            continue;
        };
        let sent = match decode("answer", data) {
            Ok(StoredAnswer::Decision { decision }) => handle.decide(path, call, decision),
            Ok(StoredAnswer::Answer { answer }) => handle.answer(path, call, answer),
            Ok(StoredAnswer::Text { .. } | StoredAnswer::Refused { .. }) => continue,
            Err(error) => {
                tracing::warn!(%error, task = %job.task, "unreadable answer ignored");
                continue;
            }
        };
        if sent.is_err() {
            tracing::warn!(task = %job.task, "answer dropped: too many answers for one turn");
        }
    }
    job.answers.iter().map(|(name, _)| name.clone()).collect()
}
