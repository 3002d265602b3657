//! Proposals to change a soul: who may make them, how often, and who decides.

use std::time::Duration;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, Protection};
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, OrgId, UserId};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::session::key::{ConversationEntry, ConversationKey};
use ostler_domain::soul::proposal::ProposalStatus;
use ostler_domain::soul::{Soul, SoulOrigin};
use ostler_domain::tool::profile::ToolProfile;
use ostler_engine::outcome::OutcomeStatus;
use ostler_runtime::operations::Actor;
use ostler_store::{DecisionState, StoredProposal};
use ostler_testkit as testkit;

use crate::support::{GIA, ORG, OWNER, Scenario, WEBCHAT, agent, org, scenario};

/// The PM of the org.
const LUCA: AgentId = AgentId::from_u128(0x1ca);
/// A system agent that works in the org.
const QUINN: AgentId = AgentId::from_u128(0x9111);
const AGENCY: OrgId = OrgId::from_u128(0xa6e);
const ADMIN: UserId = UserId::from_u128(0x0ad);

const SCRIPT: &str = "
rules:
  - when: { user: gia warmer }
    answer:
      call: propose_soul_update
      with: { agent: gia, reason: customers find her cold, changes: { personality: warmer } }
  - when: { user: myself }
    answer:
      call: propose_soul_update
      with: { reason: I am slow, changes: { communication_style: 'short {{ user }}' } }
  - when: { user: quinn }
    answer:
      call: propose_soul_update
      with: { agent: quinn, reason: he is dull, changes: { personality: funny } }
  - when: { user: mara }
    answer:
      call: propose_soul_update
      with: { agent: mara, reason: she is far away, changes: { personality: near } }
  - when: { user: guarded }
    answer:
      call: propose_soul_update
      with: { agent: gia, reason: it is safer, changes: { never_do: [promise refunds] } }
  - when: { user: everywhere }
    answer:
      call: propose_soul_update
      with: { agent: bella/gia, reason: a new house style, changes: { personality: bright } }
default: 'About {{ user }}: yes.'
";

/// A client with a PM, customer service and a system agent, each with a soul.
async fn client(script: &str) -> Scenario {
    let (scenario, _) = scenario(script).await;
    let agency = org(AGENCY, "agency", OrgPlace::TopLevel, LicencePlan::Agency);
    scenario.store.create_org(agency).await.unwrap();
    let mut bella = scenario.org().org().await.unwrap();
    bella.place = OrgPlace::SubOrg { parent: AGENCY };
    scenario.org().update_org(bella).await.unwrap();
    let mut luca = agent(LUCA, "luca", Subtype::Pm);
    luca.autonomy = AutonomyLevel::Supervised;
    luca.tools.profile = ToolProfile::General;
    scenario.save_agent(luca).await;
    let template = AgentId::from_u128(QUINN.as_u128() + 1);
    let system = |id, slug: &str, kind, template| Agent {
        protection: Protection::Protected,
        kind,
        template,
        ..agent(id, slug, Subtype::System)
    };
    scenario.save_agent(system(template, "quinn-template", AgentKind::Template, None)).await;
    scenario.save_agent(system(QUINN, "quinn", AgentKind::Internal, Some(template))).await;
    scenario
}

fn soul(personality: &str) -> Soul {
    Soul { personality: personality.into(), ..Soul::default() }
}

/// The conversation of the org's owner with the PM.
fn owner_key(scenario: &Scenario) -> ConversationKey {
    scenario.key_on(WEBCHAT, "owner", ConversationEntry::Owner)
}

async fn pending(scenario: &Scenario) -> Vec<StoredProposal> {
    let operations = scenario.operations();
    let ours = operations.as_actor(Actor::Terminal, ORG);
    ours.soul_proposals(DecisionState::Pending, 9).await.unwrap()
}

/// H08, H09, H10, L44: the PM of layer 3 proposes for its layer-4 agent, without an approval of
/// the call; the owner gets a notice, sees what changes, and approves; the version is bumped
/// and both versions are in the audit log.
#[tokio::test]
async fn h08_h10_the_pm_proposes_for_customer_service_and_the_owner_approves() {
    let scenario = client(SCRIPT).await;
    scenario.say_in(&owner_key(&scenario), "make gia warmer").await;
    let waiting = pending(&scenario).await;
    assert_eq!(waiting.len(), 1);
    let id = waiting[0].proposal.id;
    assert_eq!(scenario.org().count_pending_approvals(None).await.unwrap(), 0);
    let notices = scenario.notices().await;
    assert!(notices.iter().any(|one| one.notice.subject == id.to_string()), "{notices:?}");

    let operations = scenario.operations();
    scenario.add_member(OWNER, Role::Owner).await;
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let detail = owner.soul_proposal(id).await.unwrap();
    assert_eq!((detail.before, detail.stored.proposal.soul), (soul("I am Gia."), soul("warmer")));
    let version = owner.approve_soul_proposal(id).await.unwrap();
    assert_eq!((version.version, version.origin), (2, SoulOrigin::Proposal(id)));
    let applied = owner.soul_proposal(id).await.unwrap().stored.proposal.status;
    assert_eq!(applied, ProposalStatus::Applied { by: OWNER, before: 1, after: 2 });
    assert_eq!(scenario.org().soul_versions(GIA).await.unwrap()[1].soul, soul("warmer"));
    let entries = scenario.org().audit_entries(Some(&GIA.to_string()), None, 9).await.unwrap();
    let actions: Vec<_> = entries.iter().map(|one| (one.entry.actor, &*one.entry.action)).collect();
    assert_eq!(
        actions,
        [
            (AuditActor::User(OWNER), "approve_soul_proposal"),
            (AuditActor::Agent(LUCA), "propose_soul"),
        ]
    );
    let data: serde_json::Value = serde_json::from_str(&entries[0].entry.data).unwrap();
    assert_eq!(data["before"]["soul"]["personality"], "I am Gia.");
    assert_eq!(data["after"]["soul"]["personality"], "warmer");
    let again = owner.approve_soul_proposal(id).await.unwrap_err();
    assert_eq!(again.to_string(), format!("{id} is not waiting for this any more"));
}

/// H08: a proposal against an older version is refused and nothing changes.
#[tokio::test]
async fn h08_a_proposal_against_an_older_soul_is_refused() {
    let scenario = client(SCRIPT).await;
    scenario.say_in(&owner_key(&scenario), "make gia warmer").await;
    let id = pending(&scenario).await[0].proposal.id;
    let operations = scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    terminal.roll_back_soul("gia", 1).await.unwrap();
    let refused = terminal.approve_soul_proposal(id).await.unwrap_err().to_string();
    assert!(refused.contains("made against version 1 and the soul is at 2"), "{refused}");
    assert_eq!(scenario.org().soul_versions(GIA).await.unwrap().len(), 2);
}

/// H08: three proposals a day, and none for a day after a rejection.
#[tokio::test]
async fn h08_an_agent_proposes_at_a_limited_pace() {
    let scenario = client(SCRIPT).await;
    for n in 0..4 {
        scenario.say_in(&owner_key(&scenario), &format!("change myself {n}")).await;
    }
    assert_eq!(pending(&scenario).await.len(), 3);
    let key = owner_key(&scenario);
    let results = scenario.last_results("owner").await;
    assert_eq!(results[0].outcome.status, OutcomeStatus::Refused);
    let operations = scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    let id = pending(&scenario).await[0].proposal.id;
    terminal.reject_soul_proposal(id, "we stay formal").await.unwrap();
    scenario.advance(Duration::from_secs(60));
    scenario.say_in(&key, "change myself 5").await;
    let results = scenario.last_results("owner").await;
    assert!(results[0].outcome.content.contains("rejected a short while ago"), "{results:?}");
}

/// H01: a proposal to a protected agent looks accepted, is stored nowhere and audited.
#[tokio::test]
async fn h01_a_proposal_to_a_system_agent_is_dropped_silently() {
    let scenario = client(SCRIPT).await;
    let key = owner_key(&scenario);
    scenario.say_in(&key, "change quinn").await;
    let results = scenario.last_results("owner").await;
    assert_eq!(results[0].outcome.status, OutcomeStatus::Ok);
    assert_eq!(pending(&scenario).await, []);
    let about = QUINN.to_string();
    let entries = scenario.org().audit_entries(Some(&about), None, 9).await.unwrap();
    let actions: Vec<_> = entries.iter().map(|one| (one.entry.actor, &*one.entry.action)).collect();
    assert_eq!(actions, [(AuditActor::Agent(LUCA), "drop_soul_proposal")]);
    // A person gets the reason.
    let operations = scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    let refused = terminal.propose_soul("quinn", soul("funny"), "he is dull").await.unwrap_err();
    assert!(refused.to_string().contains("soul of its template"), "{refused}");
    scenario.add_member(OWNER, Role::Owner).await;
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let refused = owner.propose_soul("quinn", soul("funny"), "he is dull").await.unwrap_err();
    assert!(refused.to_string().contains("is a system agent"), "{refused}");
}

/// H01, A18: a proposal that waits is not applied to an agent that became a system agent meanwhile.
#[tokio::test]
async fn h01_a18_a_waiting_proposal_does_not_change_a_system_agent() {
    let scenario = client(SCRIPT).await;
    scenario.say_in(&owner_key(&scenario), "make gia warmer").await;
    let id = pending(&scenario).await[0].proposal.id;
    scenario
        .change_agent(GIA, |gia| {
            gia.protection = Protection::Protected;
            gia.template = Some(AgentId::from_u128(QUINN.as_u128() + 1));
        })
        .await;
    scenario.add_member(OWNER, Role::Owner).await;
    let operations = scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let refused = owner.approve_soul_proposal(id).await.unwrap_err();
    assert!(refused.to_string().contains("is a system agent"), "{refused}");
    assert_eq!(scenario.org().soul_versions(GIA).await.unwrap().len(), 1);
}

/// H09, H10: layer 4 proposes nothing, and the PM of layer 3 cannot name another org's agent.
#[tokio::test]
async fn h09_h10_layer_4_and_strangers_are_refused() {
    let scenario = client(SCRIPT).await;
    let mara = Agent { org: AGENCY, ..agent(AgentId::from_u128(0x3a7a), "mara", Subtype::Pm) };
    testkit::save_agent(&scenario.store.org(AGENCY), mara).await;
    let key = owner_key(&scenario);
    scenario.say_in(&key, "change mara").await;
    let results = scenario.last_results("owner").await;
    assert_eq!(results[0].outcome.status, OutcomeStatus::NotFound);
    assert_eq!(results[0].outcome.content, "no agent `mara` in this org");
    // A customer talks to Gia of layer 4.
    scenario.say("rosa", "make gia warmer").await;
    let results = scenario.last_results("rosa").await;
    assert_eq!(results[0].outcome.status, OutcomeStatus::Denied);
    assert_eq!(pending(&scenario).await, []);
}

/// H08: fields that guard the customer are proposed only if the owner asked, and only an owner
/// approves them.
#[tokio::test]
async fn h08_protected_fields_need_the_owner() {
    let scenario = client(SCRIPT).await;
    scenario.say_in(&owner_key(&scenario), "something guarded").await;
    let id = pending(&scenario).await[0].proposal.id;
    scenario.add_member(ADMIN, Role::Admin).await;
    let operations = scenario.operations();
    let refused = operations.as_actor(Actor::User(ADMIN), ORG).approve_soul_proposal(id).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.ends_with("only an owner may"), "{refused}");
    scenario.add_member(OWNER, Role::Owner).await;
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    assert_eq!(owner.approve_soul_proposal(id).await.unwrap().version, 2);
}

/// H09, L44: the platform's agent changes the soul of an agent in another org at once, in that
/// org's audit log; a system agent there stays as it is.
#[tokio::test]
async fn h09_l44_the_platforms_agent_changes_a_soul_at_once() {
    let scenario = client(SCRIPT).await;
    let house = OrgId::from_u128(1);
    let platform = org(house, "house", OrgPlace::Platform, LicencePlan::Enterprise);
    scenario.store.create_org(platform).await.unwrap();
    let system = |id, slug: &str, kind, template| Agent {
        org: house,
        protection: Protection::Protected,
        autonomy: AutonomyLevel::Autonomous,
        kind,
        template,
        ..agent(AgentId::from_u128(id), slug, Subtype::System)
    };
    let template = system(0x51, "quinn-template", AgentKind::Template, None);
    let quinn = system(0x52, "quinn", AgentKind::Conversational, Some(template.id));
    testkit::save_agent(&scenario.store.org(house), template).await;
    scenario.store.org(house).save_agent(quinn).await.unwrap();
    let key = ConversationKey { org: house, ..owner_key(&scenario) };
    scenario.say_in(&key, "brighten everywhere").await;
    let versions = scenario.org().soul_versions(GIA).await.unwrap();
    assert_eq!((versions.len(), &versions[1].soul), (2, &soul("bright")));
    assert_eq!(pending(&scenario).await, []);
    let entries = scenario.org().audit_entries(Some(&GIA.to_string()), None, 9).await.unwrap();
    assert_eq!(entries[0].entry.action, "change_soul");
    assert!(matches!(entries[0].entry.actor, AuditActor::Agent(_)));
}
