//! One call of a tool, to try it: a turn that makes the call and ends. It passes the gate as
//! a call that a person has approved, and nothing of it is stored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::tool::{Audience, Trust};
use ostler_engine::driver::{Driver, TurnContext, UnstoredHost, command_channel};
use ostler_engine::history::{CallId, Item, ToolCall};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolSet};
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn, TurnLimits, TurnRules};
use serde_json::Value;

use crate::assembly::credits::UNLIMITED;
use crate::deps::Clock;
use crate::workflow::SingleCallModels;

/// How long a test may take besides the time of the call.
const MARGIN: Duration = Duration::from_secs(5);

/// Calls a tool and returns its outcome.
pub(super) async fn call_tool(
    org: OrgId,
    tool: &Arc<dyn Tool>,
    arguments: &Value,
    key: String,
    clock: &Clock,
) -> ToolOutcome {
    let definition = tool.definition();
    let spec = definition.spec.clone();
    let tools = match ToolSet::new([tool.clone()]) {
        Ok(tools) => Arc::new(tools),
        Err(error) => return ToolOutcome::failed(error.to_string()),
    };
    let name = spec.name.to_string();
    let models = SingleCallModels::new(&name, arguments);
    let scope = ToolScope::unrestricted([spec]);
    let call = ToolCall {
        id: CallId("1".into()),
        name,
        arguments: arguments.clone().into(),
        unreadable: None,
    };
    let rules = TurnRules {
        scope: &scope,
        tools: &tools,
        require_approval_for: &BTreeSet::new(),
        authority: GateRules::Conversation(AutonomyLevel::Autonomous),
        errors: ErrorPolicy::default(),
        models: &models,
        now: clock.now(),
    };
    let context = TurnContext {
        org,
        agent: AgentId::from_u128(0),
        session: None,
        contact: None,
        audience: Audience::Staff,
        idempotency_prefix: key,
        timeout: definition.timeout + MARGIN,
    };
    let mut turn = Turn::new(NewTurn {
        system: "".into(),
        history: vec![Item::user("Test this tool.")],
        approved: Some(call),
        trust: Trust::Trusted,
        budget: unlimited(),
        errors: ErrorState::default(),
        limits: TurnLimits { max_steps: 1, ..TurnLimits::default() },
        now: clock.now(),
    });
    let host = UnstoredHost(|| clock.now());
    let driver = Driver { context: &context, rules, host: &host };
    let (_handle, mut commands) = command_channel();
    let Ok(_) = driver.drive(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    let results = turn.new_items().iter().find_map(|item| match item {
        Item::Results { results } => results.first().map(|one| one.outcome.clone()),
        _ => None,
    });
    results.unwrap_or_else(|| ToolOutcome::failed("The call was not made."))
}

const fn unlimited() -> TurnBudget {
    TurnBudget {
        reserved: UNLIMITED,
        top_up: Credits::ZERO,
        session: UNLIMITED,
        subagent: None,
        read_reserve: Credits::ZERO,
        team: None,
    }
}
