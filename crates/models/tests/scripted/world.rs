//! What is needed to have a turn ask a model.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::gate::Authority;
use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::org::layer::Standing;
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::scope::session::SessionTools;
use ostler_domain::scope::{AgentTools, OrgTools, ScopeFacts, ToolScope, resolve};
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::profile::Profile;
use ostler_domain::tool::{ToolGroup, ToolSpec, Trust};
use ostler_engine::gate::Authorized;
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Model, ModelError, Request};
use ostler_engine::outcome::Outcome;
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext, ToolSet};
use ostler_engine::turn::{Action, Known, Limits, Models, NewTurn, Out, Rules, Turn};
use ostler_models::scripted::{Script, ScriptedModel};

/// A tool that is only there.
struct Idle(Definition);

impl Tool for Idle {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        Box::pin(async { Reply::Done(Outcome::ok("")) })
    }
}

struct Just(Arc<ScriptedModel>);

impl Models for Just {
    fn model(&self, _: Option<&str>) -> Option<Arc<dyn Model>> {
        Some(self.0.clone())
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::read(name.parse().expect("a name"), ToolGroup::Crm)
}

/// Every tool of these, whoever asks.
fn scope(tools: &[&str]) -> ToolScope {
    let policy = ToolPolicy::default();
    let org = Org {
        id: OrgId::from_u128(1),
        slug: "platform".into(),
        name: "Platform".into(),
        place: Place::Platform,
        plan: Plan::Enterprise,
        sub_orgs_enabled: true,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
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
            standing: &Standing::of(&org, &Subtype::from("system")),
            profile: Profile::Everything,
            policy: &policy,
            autonomy: AutonomyLevel::Autonomous,
        },
        session: &SessionTools::new(Channel::Webchat),
    };
    resolve(tools.iter().map(|name| spec(name)), &facts)
}

/// A model that follows this script.
pub(crate) fn model(script: &str) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(Script::parse("test.yaml", script).expect("a script")))
}

/// What a turn with this conversation asks the model first.
pub(crate) fn request(
    model: &Arc<ScriptedModel>,
    system: &str,
    history: &[Item],
    tools: &[&str],
) -> Request {
    let set = ToolSet::new(tools.iter().map(|name| {
        let schema = serde_json::json!({"type": "object"});
        Arc::new(Idle(Definition::new(spec(name), "It is there.", schema))) as Arc<dyn Tool>
    }));
    let rules = Rules {
        scope: &scope(tools),
        tools: &Arc::new(set.expect("tools")),
        require_approval_for: &BTreeSet::new(),
        authority: Authority::Conversation(AutonomyLevel::Autonomous),
        errors: ErrorPolicy::default(),
        models: &Just(model.clone()),
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
            kept_for_reading: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: Limits::default(),
        now: Timestamp::from_millis(0),
    });
    let mut out = Out::default();
    turn.resume(&Known::default(), &rules, &mut out);
    match out.actions.pop() {
        Some((_, Action::CallModel { request, .. })) => request,
        other => panic!("the turn asks its model: {other:?}"),
    }
}

/// All that a model answers.
pub(crate) async fn ask(
    model: &Arc<ScriptedModel>,
    history: &[Item],
) -> Vec<Result<Chunk, ModelError>> {
    model.answer(request(model, "You are Gia.", history, &[])).collect().await
}

/// What a model says, in one piece.
pub(crate) async fn said(model: &Arc<ScriptedModel>, history: &[Item]) -> String {
    let chunks = ask(model, history).await;
    let text = |chunk| match chunk {
        Ok(Chunk::Text(text)) => Some(text),
        _ => None,
    };
    chunks.into_iter().filter_map(text).collect()
}
