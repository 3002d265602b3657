//! A question to a model in the background: a turn of one step without tools.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::memory::window::MemoryTask;
use ostler_domain::money::Usd;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::driver::{Driver, TurnCommands, TurnContext, UnstoredHost};
use ostler_engine::history::Item;
use ostler_engine::model::{Model, StopReason, Usage};
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{KnownOutcomes, Models, NewTurn, Turn, TurnEnd, TurnLimits, TurnRules};
use ostler_store::{MemoryCall, MemoryPurpose};

use super::thread::Shared;
use super::worker::TaskError;

/// Long, because nobody waits for the answer.
const TIMEOUT: Duration = Duration::from_secs(300);
const MAX_TOKENS: u64 = 8192;

/// Asks the model of a task and returns what it used, if anything.
pub(super) async fn for_task(
    shared: &Shared,
    task: &MemoryTask,
    purpose: MemoryPurpose,
    system: &'static str,
    text: String,
) -> (Result<String, TaskError>, Option<MemoryCall>) {
    let (name, budget) = {
        let state = shared.lock();
        let settings = state.window.settings();
        let name = match purpose {
            MemoryPurpose::Observer => settings.observer_model.clone(),
            MemoryPurpose::Reflector => settings.reflector_model.clone(),
        };
        (name, state.budget)
    };
    let Some(model) = shared.options.models.model(name.as_deref()) else {
        let name = name.unwrap_or_default();
        return (Err(TaskError::new(format!("there is no model `{name}`"))), None);
    };
    let (org, now) = (shared.options.org, shared.now());
    let ModelAnswer { text, usage, cost } =
        ask(ModelQuestion { org, model, system, text, budget, now }).await;
    let call = (usage != Usage::default()).then(|| MemoryCall {
        task: task.number,
        purpose,
        model: name.unwrap_or_default(),
        at: now,
        input: usage.input,
        output: usage.output,
        cached: usage.cached,
        written: usage.written,
        cost,
    });
    (text, call)
}

/// A question to a model.
struct ModelQuestion {
    org: OrgId,
    model: Arc<dyn Model>,
    system: &'static str,
    text: String,
    budget: TurnBudget,
    now: Timestamp,
}

/// The answer to a question, and what it cost.
struct ModelAnswer {
    text: Result<String, TaskError>,
    usage: Usage,
    cost: Usd,
}

async fn ask(question: ModelQuestion) -> ModelAnswer {
    let ModelQuestion { org, model, system, text, budget, now } = question;
    let (scope, tools) = (ToolScope::unrestricted([]), Arc::new(ToolSet::default()));
    let models = SingleModel(model);
    let rules = TurnRules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &BTreeSet::new(),
        authority: GateRules::Conversation(AutonomyLevel::Supervised),
        errors: ErrorPolicy::default(),
        models: &models,
        now,
    };
    let context = TurnContext {
        org,
        agent: AgentId::from_u128(0),
        session: None,
        contact: None,
        audience: Audience::Staff,
        idempotency_prefix: String::new(),
        timeout: TIMEOUT,
    };
    let mut turn = Turn::new(NewTurn {
        system: system.into(),
        history: vec![Item::user(text)],
        approved: None,
        trust: Trust::Untrusted,
        budget,
        errors: ErrorState::default(),
        limits: TurnLimits { max_steps: 1, max_tokens: MAX_TOKENS, ..TurnLimits::default() },
        now,
    });
    let driver = Driver { context: &context, rules, host: &UnstoredHost(|| now) };
    let mut commands = TurnCommands::none();
    let Ok(_) = driver.drive(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    let account = turn.account();
    ModelAnswer { text: answer_text(turn.end()), usage: account.usage, cost: account.model_cost() }
}

fn answer_text(end: Option<&TurnEnd>) -> Result<String, TaskError> {
    match end {
        Some(TurnEnd::Answer { text, stop: StopReason::End }) => Ok(text.clone()),
        Some(TurnEnd::Answer { stop: StopReason::MaxTokens, .. }) => {
            Err(TaskError::new("the answer is too long"))
        }
        Some(TurnEnd::Answer { .. }) => Err(TaskError::new("the provider withheld the answer")),
        Some(TurnEnd::ModelFailed(error)) => {
            Err(TaskError { why: error.to_string(), retry_after: error.retry_after })
        }
        Some(TurnEnd::CreditsExhausted(error)) => Err(TaskError::new(error.to_string())),
        Some(TurnEnd::TimedOut) => Err(TaskError::new("the model did not answer in time")),
        Some(TurnEnd::Aborted | TurnEnd::StepLimit { .. } | TurnEnd::Loop { .. }) | None => {
            Err(TaskError::new("the model did not answer"))
        }
    }
}

struct SingleModel(Arc<dyn Model>);

impl Models for SingleModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}
