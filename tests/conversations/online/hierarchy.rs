//! Issues, delegations, insights and proposals over HTTP.

use std::collections::BTreeSet;

use ostler_api::hierarchy::{Exchanged, SoulProposal};
use ostler_api::names::ActorNames;
use ostler_api::page::Page;
use ostler_api::problem::ProblemCode;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::growth::LevelProposal;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit::REFUSED;
use ostler_domain::hierarchy::delegation::{OrgDelegation, OrgDelegationStatus};
use ostler_domain::hierarchy::insight::Insight;
use ostler_domain::hierarchy::issue::{Issue, IssueStatus};
use ostler_domain::id::{AgentId, KeyId, OrgId, UserId};
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::soul::Soul;
use ostler_domain::soul::SoulVersion;
use ostler_runtime::operations::Actor;
use ostler_store::{NewApiKey, User};
use serde_json::{Value, json};

use super::{KEY, Online, key};
use crate::support::{GIA, ORG, Scenario, agent, org};

const AGENCY: OrgId = OrgId::from_u128(0x0a);
const STRANGER: OrgId = OrgId::from_u128(0x0c);
const LUCA: AgentId = AgentId::from_u128(0x10ca);
const AGENCY_KEY: &str = "osk_an-operator-of-harbour-at-work";
const ADMIN_KEY: &str = "osk_an-owner-of-bella-pizza-who-decides";
const VIEWER_KEY: &str = "osk_somebody-who-looks-at-bella-pizza-1";
const STRANGERS_KEY: &str = "osk_an-owner-of-somebody-elses-business";

const SCRIPT: &str = "
rules:
  - when: { user: discount }
    answer:
      - call: escalate_to_parent
        with: { summary: a discount for 30 guests, severity: low }
      - call: share_insight_upward
        with: { insight: groups ask for discounts, category: customer_trend }
      - 'I have asked.'
default: I see.
";

/// Returns a server of Bella Pizza, a client of Harbour whose customer has asked for a discount.
async fn online() -> Online {
    let scenario = Scenario::new(SCRIPT).await;
    let store = &scenario.store;
    for (id, slug) in [(AGENCY, "harbour"), (STRANGER, "stranger")] {
        let top = org(id, slug, OrgPlace::TopLevel, LicencePlan::Agency);
        store.create_org(top).await.unwrap();
    }
    let bella = store.org(ORG).org().await.unwrap();
    let place = OrgPlace::SubOrg { parent: AGENCY };
    store.org(ORG).update_org(Org { place, ..bella }).await.unwrap();
    scenario.save_agent(agent(LUCA, "luca", Subtype::Pm)).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
    scenario.say("rosa", "a discount?").await;
    key(&scenario, AGENCY, 2, AGENCY_KEY, Role::Operator).await;
    key(&scenario, ORG, 3, ADMIN_KEY, Role::Owner).await;
    key(&scenario, STRANGER, 4, STRANGERS_KEY, Role::Owner).await;
    Online::with(scenario).await
}

/// L20, L22: an issue is listed, named by the end of its id, acknowledged and resolved; nobody
/// else sees it.
#[tokio::test(flavor = "multi_thread")]
async fn l20_l22_an_issue_is_decided_over_http() {
    let online = online().await;
    let (client, stranger) = (online.client(KEY), online.client(STRANGERS_KEY));
    let bella = client.org(ORG);
    let issues: Page<Exchanged<Issue>> = bella.get("issues", &()).await.unwrap();
    let [issue] = &issues.items[..] else { panic!("{issues:?}") };
    assert_eq!(issue.record.summary, "a discount for 30 guests");
    let id = issue.id.to_string();
    let end = &id[id.len() - 6..];
    let yes = json!({"resolution": "yes, 10 percent"});
    let early = bella.post::<_, Value>(&format!("issues/{end}/resolve"), &yes).await.unwrap_err();
    assert_eq!(early.code, ProblemCode::NotNow, "{early:?}");
    let seen: Exchanged<Issue> =
        bella.post(&format!("issues/{end}/acknowledge"), &()).await.unwrap();
    assert_eq!(seen.record.status, IssueStatus::Acknowledged);
    let done: Exchanged<Issue> = bella.post(&format!("issues/{id}/resolve"), &yes).await.unwrap();
    let IssueStatus::Resolved { resolution, .. } = done.record.status else { panic!("{done:?}") };
    assert_eq!(resolution, "yes, 10 percent");
    for path in ["issues", "insights", "org-delegations", "soul-proposals", "promotions"] {
        let refused = stranger.org(ORG).get::<_, Value>(path, &()).await.unwrap_err();
        assert_eq!(refused.code, ProblemCode::NotFound, "{path}");
    }
    let refused = stranger.org(ORG).post::<_, Value>(&format!("issues/{id}/dismiss"), &()).await;
    assert_eq!(refused.unwrap_err().code, ProblemCode::NotFound);
}

/// L24, L26, L29: work goes to an own client and is answered there; an insight is acknowledged by
/// the agency.
#[tokio::test(flavor = "multi_thread")]
async fn l26_l29_work_and_insights_are_answered_over_http() {
    let online = online().await;
    let (agency, client) = (online.client(AGENCY_KEY), online.client(KEY));
    let (agency, bella) = (agency.org(AGENCY), client.org(ORG));
    let work = |to: &str| json!({"to": to, "instruction": "a new menu", "priority": "high"});
    let wrong = agency.post::<_, Value>("org-delegations", &work("stranger")).await.unwrap_err();
    assert_eq!(wrong.code, ProblemCode::NotFound, "{wrong:?}");
    let log = online.scenario.store.org(AGENCY).audit_entries(None, None, 9).await.unwrap();
    let refused = log.iter().filter(|one| one.entry.action == REFUSED);
    assert_eq!(refused.count(), 1, "the refusal is audited: {log:?}");
    let given: Exchanged<OrgDelegation> =
        agency.post("org-delegations", &work("bella")).await.unwrap();
    let path = |what: &str| format!("org-delegations/{}/{what}", given.id);
    let own = agency.post::<_, Value>(&path("accept"), &()).await;
    assert!(own.is_err(), "the receiver answers");
    let accepted: Exchanged<OrgDelegation> = bella.post(&path("accept"), &()).await.unwrap();
    assert_eq!(accepted.record.status, OrgDelegationStatus::Accepted);
    let result = json!({"result": "it is online"});
    let done: Exchanged<OrgDelegation> = bella.post(&path("complete"), &result).await.unwrap();
    assert!(matches!(done.record.status, OrgDelegationStatus::Completed { .. }), "{done:?}");

    let insights: Page<Exchanged<Insight>> = agency.get("insights", &()).await.unwrap();
    let path = format!("insights/{}/acknowledge", insights.items[0].id);
    assert!(bella.post::<_, Value>(&path, &()).await.is_err(), "the agency takes note");
    let noted: Exchanged<Insight> = agency.post(&path, &()).await.unwrap();
    assert!(noted.record.acknowledged_at.is_some());
}

/// S01, A05: the names of an agency's people and keys are shown to those who may see the agency,
/// and to nobody of a client, whatever their role.
#[tokio::test(flavor = "multi_thread")]
async fn s01_names_of_an_agency_are_not_shown_to_its_client() {
    let online = online().await;
    let store = &online.scenario.store;
    for (n, at, name) in [(101, AGENCY, "Ada"), (102, ORG, "Tom")] {
        let (id, email) = (UserId::from_u128(n), format!("{name}@example.com"));
        let user = User { id, email, name: name.to_owned() };
        store.create_user(user, &"$test$hash".parse().unwrap()).await.unwrap();
        store.org(at).set_member(id, Role::Viewer).await.unwrap();
    }
    for (n, at, name, secret) in [
        (21, AGENCY, "nightly export", "osk_the-nightly-export-of-the-agency-1"),
        (22, ORG, "cash desk", VIEWER_KEY),
    ] {
        let (id, scopes) = (KeyId::from_u128(n), KeyScopes::default());
        let name = name.to_owned();
        let key = NewApiKey { id, name, role: Role::Viewer, scopes, expires_at: None };
        store.org(at).create_key(key, &secret.parse().unwrap()).await.unwrap();
    }
    let names = async |secret: &str| {
        let client = online.client(secret);
        let names: ActorNames = client.org(ORG).get("names", &()).await.unwrap();
        names.people.into_iter().map(|one| one.name).collect::<BTreeSet<_>>()
    };
    let own = BTreeSet::from(["Tom", "cash desk", "test"].map(str::to_owned));
    for secret in [VIEWER_KEY, KEY, ADMIN_KEY] {
        assert_eq!(names(secret).await, own, "{secret}");
    }
    let with_agency = ["Ada", "nightly export"].map(str::to_owned).into();
    let both: BTreeSet<String> = own.union(&with_agency).cloned().collect();
    assert_eq!(names(AGENCY_KEY).await, both);
    let stranger = online.client(STRANGERS_KEY);
    let refused = stranger.org(ORG).get::<_, Value>("names", &()).await.unwrap_err();
    assert_eq!(refused.code, ProblemCode::NotFound);
}

/// H08, D12: proposals are listed, and decided by those who configure the org.
#[tokio::test(flavor = "multi_thread")]
async fn h08_d12_proposals_are_decided_over_http() {
    let online = online().await;
    let operations = online.scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    for personality in ["Bold", "Shy"] {
        let soul = Soul { personality: personality.to_owned(), ..Soul::default() };
        terminal.propose_soul("gia", soul, "it helps").await.unwrap();
    }
    let (operator, owner) = (online.client(KEY), online.client(ADMIN_KEY));
    let (operator, owner) = (operator.org(ORG), owner.org(ORG));
    let waiting: Page<SoulProposal> = operator.get("soul-proposals", &()).await.unwrap();
    let ids: Vec<String> = waiting.items.iter().map(|one| one.proposal.id.to_string()).collect();
    assert_eq!(ids.len(), 2, "{waiting:?}");
    let shown: SoulProposal = owner.get(&format!("soul-proposals/{}", ids[0]), &()).await.unwrap();
    assert!(shown.soul_before.is_some_and(|before| before != shown.proposal.soul));
    let path = format!("soul-proposals/{}/approve", ids[0]);
    let refused = operator.post::<_, Value>(&path, &()).await.unwrap_err();
    assert_eq!(refused.code, ProblemCode::Forbidden);
    let applied: SoulVersion = owner.post(&path, &()).await.unwrap();
    assert_eq!(applied.version, 2);
    let path = format!("soul-proposals/{}/reject", ids[1]);
    let _: SoulProposal = owner.post(&path, &json!({"reason": "too shy"})).await.unwrap();
    let waiting: Page<SoulProposal> = operator.get("soul-proposals", &()).await.unwrap();
    assert!(waiting.items.is_empty(), "{waiting:?}");
    let levels: Page<LevelProposal> = operator.get("promotions", &()).await.unwrap();
    assert!(levels.items.is_empty());
    let none = owner.post::<_, Value>("promotions/gia/approve", &()).await.unwrap_err();
    assert_eq!(none.code, ProblemCode::NotFound, "{none:?}");
}
