//! Turns that ask a scripted model.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::gate::GateRules;
use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::ToolProfile;
use ostler_domain::tool::{Audience, ToolGroup, ToolSpec, Trust};
use ostler_engine::gate::Authorized;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply, ToolSet};
use ostler_engine::turn::{
    KnownOutcomes, Models, NewTurn, Turn, TurnAction, TurnLimits, TurnOutput, TurnRules,
};
use ostler_scripted::{Script, ScriptedModel};

/// A tool that is offered but never called.
struct UnusedTool(ToolDefinition);

impl Tool for UnusedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        Box::pin(async { ToolReply::Done(ToolOutcome::ok("")) })
    }
}

struct SingleModel(Arc<ScriptedModel>);

impl Models for SingleModel {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::read(name.parse().expect("a name"), ToolGroup::Crm)
}

/// Returns a scope with these tools.
fn scope(tools: &[&str]) -> ToolScope {
    let policy = ToolPolicy::default();
    let org = Org {
        id: OrgId::from_u128(1),
        slug: "platform".into(),
        name: "Platform".into(),
        place: OrgPlace::Platform,
        plan: LicencePlan::Enterprise,
        sub_orgs_enabled: true,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
        archived: false,
        credits: Default::default(),
    };
    let facts = ScopeFacts {
        platform: &policy,
        org: OrgTools {
            policy: &policy,
            integrations: &BTreeSet::new(),
            sub_orgs_enabled: true,
            team_coordination: true,
        },
        agent: AgentTools {
            position: &BusinessPosition::of(&org, &Subtype::from("system")),
            profile: ToolProfile::Everything,
            policy: &policy,
            autonomy: AutonomyLevel::Autonomous,
        },
        session: &SessionTools::new(Channel::Webchat, Audience::Staff),
    };
    resolve(tools.iter().map(|name| spec(name)), &facts)
}

pub(crate) fn model(script: &str) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(Script::parse("test.yaml", script).expect("a script")))
}

/// Returns the first request of a turn with this history.
pub(crate) fn request(
    model: &Arc<ScriptedModel>,
    system: &str,
    history: &[Item],
    tools: &[&str],
) -> Request {
    let set = ToolSet::new(tools.iter().map(|name| {
        let schema = serde_json::json!({"type": "object"});
        Arc::new(UnusedTool(ToolDefinition::new(spec(name), "It is there.", schema)))
            as Arc<dyn Tool>
    }));
    let rules = TurnRules {
        scope: &scope(tools),
        tools: &Arc::new(set.expect("tools")),
        require_approval_for: &BTreeSet::new(),
        authority: GateRules::Conversation(AutonomyLevel::Autonomous),
        errors: ErrorPolicy::default(),
        models: &SingleModel(model.clone()),
        now: Timestamp::from_millis(0),
    };
    let many = Credits::new(1_000_000);
    let mut turn = Turn::new(NewTurn {
        system: system.into(),
        history: history.to_vec(),
        approved: None,
        trust: Trust::Trusted,
        budget: TurnBudget {
            reserved: many,
            top_up: Credits::ZERO,
            session: many,
            subagent: None,
            read_reserve: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now: Timestamp::from_millis(0),
    });
    let mut out = TurnOutput::default();
    turn.resume(&KnownOutcomes::default(), &rules, &mut out);
    match out.actions.pop() {
        Some((_, TurnAction::CallModel { request, .. })) => request,
        other => panic!("the turn asks its model: {other:?}"),
    }
}

pub(crate) async fn ask(
    model: &Arc<ScriptedModel>,
    history: &[Item],
) -> Vec<Result<Chunk, ModelError>> {
    model.answer(request(model, "You are Gia.", history, &[])).collect().await
}

/// Returns the text of an answer.
pub(crate) async fn said(model: &Arc<ScriptedModel>, history: &[Item]) -> String {
    let chunks = ask(model, history).await;
    let text = |chunk| match chunk {
        Ok(Chunk::Text(text)) => Some(text),
        _ => None,
    };
    chunks.into_iter().filter_map(text).collect()
}
