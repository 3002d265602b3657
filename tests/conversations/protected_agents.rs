//! System agents: who changes them, where their soul is, who pays, and their workers.

use std::time::Duration;

use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection};
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::Actor;
use ostler_runtime::records::run::RunOutcome;
use ostler_testkit as testkit;
use ostler_world::{Address, Kind, Resource};
use serde_json::{Value, json};

use crate::first_org::NoSecrets;
use crate::support::{ECHO, GIA, ORG, OWNER, Scenario, agent, org, scenario_with};

const PLATFORM: OrgId = OrgId::from_u128(1);
const QUINN: AgentId = AgentId::from_u128(0x9111);
const TEMPLATE: AgentId = AgentId::from_u128(0x9112);

/// An org in which only a system agent answers, and the platform that pays for it.
async fn with_quinn(settings: Settings) -> Scenario {
    let (scenario, _) = scenario_with(ECHO, Vec::new(), settings).await;
    let platform = org(PLATFORM, "house", OrgPlace::Platform, LicencePlan::Enterprise);
    scenario.store.create_org(platform).await.unwrap();
    scenario.change_agent(GIA, |gia| gia.status = AgentStatus::Paused).await;
    let mut enzo = scenario.org().agents().await.unwrap();
    enzo.retain(|one| one.slug == "enzo");
    scenario.change_agent(enzo[0].id, |enzo| enzo.status = AgentStatus::Paused).await;
    let system = |id, slug: &str, kind, template| Agent {
        protection: Protection::Protected,
        kind,
        template,
        limits: AgentLimits { max_messages_per_day: 1, ..AgentLimits::ORG },
        ..agent(id, slug, Subtype::System)
    };
    scenario.save_agent(system(TEMPLATE, "quinn-template", AgentKind::Template, None)).await;
    let quinn = system(QUINN, "quinn", AgentKind::Conversational, Some(TEMPLATE));
    scenario.org().save_agent(quinn).await.unwrap();
    scenario
}

/// Changes fields of a live agent, as a command or a file does.
async fn change(
    scenario: &Scenario,
    actor: Actor,
    agent: &str,
    fields: &[(&str, Value)],
) -> Result<(), String> {
    let operations = scenario.operations();
    let live = operations.live_world(actor).await.unwrap();
    let address = Address { kind: Kind::Agent, org: "bella".to_owned(), name: agent.to_owned() };
    let mut value = live.resources[&address].value().clone();
    for (name, new) in fields {
        value[*name] = new.clone();
    }
    let resource = Resource::parse(Kind::Agent, &value).map_err(|error| error.to_string())?;
    let plan = operations.plan_change(live, &[(address, resource)].into());
    let plan = plan.map_err(|refused| format!("{:?}", refused.0))?;
    let applied = operations.apply(actor, &plan, &NoSecrets, |_| {}).await;
    applied.map_err(|refused| refused.to_string())
}

/// A18, D11, H02, H03: the org's owner changes nothing of a system agent, by no path; a
/// platform admin changes its tools, which is audited, and nobody pauses it.
#[tokio::test]
async fn a18_d11_h02_h03_only_a_platform_admin_changes_a_system_agent() {
    let scenario = with_quinn(Settings::default()).await;
    scenario.add_member(OWNER, Role::Owner).await;
    let owner = Actor::User(OWNER);
    let tools = || ("tools", json!({"deny": ["web_fetch"]}));
    let refused = "`quinn` is a system agent; only a platform administrator can change it";
    for field in [tools(), ("name", json!("Quincy")), ("autonomy", json!("draft_only"))] {
        let said = change(&scenario, owner, "quinn", std::slice::from_ref(&field)).await;
        assert_eq!(said, Err(refused.to_owned()), "{field:?}");
    }
    let another = [("soul", json!({"personality": "x"}))];
    let said = change(&scenario, owner, "quinn-template", &another).await.unwrap_err();
    assert!(said.contains("is a system agent"), "{said}");
    let operations = scenario.operations();
    let said = operations.as_actor(owner, ORG).roll_back_soul("quinn", 1).await.unwrap_err();
    assert_eq!(said.to_string(), refused);
    let always = "`quinn` is a system agent and always active; it cannot be paused or archived";
    for actor in [owner, Actor::Terminal] {
        for status in ["paused", "archived"] {
            let said = change(&scenario, actor, "quinn", &[("status", json!(status))]).await;
            assert_eq!(said, Err(always.to_owned()), "{actor:?} {status}");
        }
    }
    assert_eq!(scenario.org().agent(QUINN).await.unwrap().status, AgentStatus::Active);

    change(&scenario, Actor::Terminal, "quinn", &[tools()]).await.unwrap();
    let quinn = scenario.org().agent(QUINN).await.unwrap();
    assert!(quinn.tools.policy.deny.iter().any(|tool| tool.to_string() == "web_fetch"));
    let entries = scenario.org().audit_entries(None, None, 9).await.unwrap();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0].entry.actor, AuditActor::Terminal);
}

/// H12: an org's people cannot make a system agent, for which the platform would pay; what the
/// platform makes is protected and needs a template.
#[tokio::test]
async fn h12_system_agents_are_born_protected_and_made_by_the_platform() {
    let scenario = with_quinn(Settings::default()).await;
    scenario.add_member(OWNER, Role::Owner).await;
    let system = [("subtype", json!("system")), ("autonomy", json!("autonomous"))];
    let said = change(&scenario, Actor::User(OWNER), "gia", &system).await.unwrap_err();
    assert!(said.contains("needs a template") || said.contains("is a system agent"), "{said}");
    let template = [&system[..], &[("template", json!("quinn-template")), ("soul", json!({}))]];
    let template = template.concat();
    let said = change(&scenario, Actor::User(OWNER), "gia", &template).await.unwrap_err();
    assert!(said.contains("`gia` is a system agent"), "{said}");
    let said = change(&scenario, Actor::Terminal, "gia", &system).await.unwrap_err();
    assert!(said.contains("needs a template"), "{said}");
    assert_eq!(scenario.org().agent(GIA).await.unwrap().protection, Protection::Open);

    let fresh = Scenario::attach(testkit::TestDatabase::sqlite_memory().migrated().await, ECHO);
    fresh.operations().set_up(Actor::Terminal, "ada@example.org", "Ada").await.unwrap();
    let platform = fresh.store.orgs().await.unwrap().remove(0);
    let agents = fresh.store.org(platform.id).agents().await.unwrap();
    assert_eq!(agents.len(), 2);
    assert!(agents.iter().all(|one| one.protection == Protection::Protected));
    assert!(agents.iter().all(|one| one.check_creation().is_ok()));
}

/// H04: the soul is in the template only; a change makes the next version, the first stays
/// readable, and agent and worker speak with it.
#[tokio::test]
async fn h04_a_system_agent_speaks_with_the_soul_of_its_template() {
    let scenario = with_quinn(Settings::default()).await;
    let operations = scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    assert_eq!(scenario.org().soul_versions(QUINN).await.unwrap(), []);
    let another = [("soul", json!({"personality": "x"}))];
    let said = change(&scenario, Actor::Terminal, "quinn", &another).await.unwrap_err();
    assert!(said.contains("quinn-template"), "{said}");
    let calm = json!({"personality": "Calm."});
    change(&scenario, Actor::Terminal, "quinn-template", &[("soul", calm)]).await.unwrap();
    let versions = terminal.soul_versions("quinn").await.unwrap();
    let souls: Vec<&str> = versions.iter().map(|one| one.soul.personality.as_str()).collect();
    assert_eq!(souls, ["I am Quinn-template.", "Calm."]);
    assert!(terminal.preview_prompt("quinn", None).await.unwrap().contains("Calm."));
    scenario.say("rosa", "hello").await;
    let worker = scenario.harness("rosa").await;
    assert_eq!((worker.soul.owner, worker.soul.version), (TEMPLATE, 2));
    assert_eq!(scenario.org().soul_versions(worker.identity.agent_id).await.unwrap(), []);
}

/// E12, E13: a run of a system agent in an org changes only the platform's ledger; its own
/// limit of one message does not stop it, the platform's limit of two does.
#[tokio::test]
async fn e12_e13_the_platform_pays_and_limits_a_system_agent() {
    let platform_limits = AgentLimits { max_messages_per_day: 2, ..AgentLimits::PLATFORM };
    let scenario = with_quinn(Settings { platform_limits, ..Settings::default() }).await;
    let before = scenario.org().ledger_lines(None, 100).await.unwrap();
    for (text, spent) in [("one", 1), ("two", 2)] {
        assert_eq!(scenario.say("rosa", text).await, [format!("About {text}: yes.")]);
        assert_eq!((scenario.spent(PLATFORM).await, scenario.spent(ORG).await), (spent, 0));
    }
    scenario.say("rosa", "three").await;
    let outcome = scenario.runs("rosa").await.pop().unwrap().outcome;
    assert!(matches!(outcome, RunOutcome::RateLimited), "{outcome:?}");
    assert_eq!(scenario.spent(PLATFORM).await, 2);
    assert_eq!(scenario.org().ledger_lines(None, 100).await.unwrap(), before);
}

/// E13: the platform's limit holds for all workers of a template together.
#[tokio::test]
async fn e13_workers_share_the_limit_of_their_template() {
    let platform_limits = AgentLimits { max_messages_per_day: 2, ..AgentLimits::PLATFORM };
    let scenario = with_quinn(Settings { platform_limits, ..Settings::default() }).await;
    for person in ["rosa", "tom"] {
        assert_eq!(scenario.say(person, "hello").await, ["About hello: yes."]);
    }
    let worker = async |person| scenario.harness(person).await.identity.agent_id;
    assert_ne!(worker("rosa").await, worker("tom").await);
    scenario.say("eve", "hello").await;
    let outcome = scenario.runs("eve").await.pop().unwrap().outcome;
    assert!(matches!(outcome, RunOutcome::RateLimited), "{outcome:?}");
}

/// H05, H06: sessions at the same time get workers of the template, at most ten; one that is
/// idle for more than 30 s takes the next session; after an hour all but one are archived.
/// The template itself never answers.
#[tokio::test]
async fn h05_h06_sessions_spread_over_at_most_ten_workers() {
    let scenario = with_quinn(Settings::default()).await;
    let mut seen = Vec::new();
    for n in 0..12 {
        scenario.say(&format!("person{n}"), "hello").await;
        seen.push(scenario.harness(&format!("person{n}")).await.identity.agent_id);
    }
    let mut distinct = seen.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 10);
    assert!(!seen.contains(&TEMPLATE) && !seen.contains(&QUINN));
    let workers = |all: Vec<Agent>| -> Vec<Agent> {
        all.into_iter().filter(|one| one.kind == AgentKind::Worker).collect()
    };
    let all = workers(scenario.org().agents().await.unwrap());
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|one| one.template == Some(TEMPLATE)));
    // A session keeps its worker.
    scenario.say("person3", "again").await;
    assert_eq!(scenario.harness("person3").await.identity.agent_id, seen[3]);

    scenario.advance(Duration::from_secs(31));
    scenario.say("late", "hello").await;
    assert!(seen.contains(&scenario.harness("late").await.identity.agent_id));
    assert_eq!(workers(scenario.org().agents().await.unwrap()).len(), 10);

    assert_eq!(scenario.sweep().await.workers, 0);
    scenario.advance(Duration::from_secs(60 * 60));
    assert_eq!(scenario.sweep().await.workers, 9);
    let active = workers(scenario.org().agents().await.unwrap());
    let active: Vec<_> = active.iter().filter(|one| one.status == AgentStatus::Active).collect();
    assert_eq!(active.len(), 1);
    // A person whose worker is archived is answered all the same.
    scenario.say("person5", "still there?").await;
    assert_eq!(workers(scenario.org().agents().await.unwrap()).len(), 10);
}
