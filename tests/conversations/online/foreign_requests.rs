//! Requests of API keys for what belongs to others, generated from every route: of the parent,
//! a sibling, a child or a stranger, by id and by slug, in a path of theirs and in one's own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ostler_domain::audit::{AuditActor, REFUSED};
use ostler_domain::channel::Channel;
use ostler_domain::id::{
    AgentId, ApprovalId, BindingId, CallId, InboxId, KeyId, NoticeId, OrgId, ProposalId, RecordId,
};
use ostler_domain::org::permission::OrgPermission::{self, Configure, GrantCredits, Operate, View};
use ostler_domain::org::permission::role_permits;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{OrgPlace, Relation};
use ostler_store::{SessionFilter, Store};
use ostler_testkit as testkit;
use serde_json::{Value, json};

use super::{Online, key};
use crate::support::{ECHO, ORG, Scenario, is_whole_campaign, on_every_database, org, sampled};

const AGENCY: OrgId = OrgId::from_u128(0xa6e);
const CLIENT: OrgId = OrgId::from_u128(0xc1);
const SIBLING: OrgId = OrgId::from_u128(0xc2);
const ROLES: [Role; 4] = [Role::Viewer, Role::Operator, Role::Admin, Role::Owner];
const ROUTES_FILE: &str = include_str!("../../../crates/server/src/routes.rs");

/// A request with the record that it is about, if any, as `{…}`.
struct Route {
    method: &'static str,
    path: &'static str,
    body: Value,
    permission: OrgPermission,
}

/// Returns every request below `/v1/orgs/{org}`.
fn routes() -> Vec<Route> {
    let text = json!({"text": "hello"});
    let read = |path| ("GET", path, Value::Null, View);
    let work = |path, body: Value| ("POST", path, body, Operate);
    let none = || Value::Null;
    let grant = json!({"reference": "r", "pool": "purchased", "amount": 1});
    let document = json!({"title": "T", "body": "B", "tags": []});
    let answer = json!({"type": "question", "id": "q", "text": "yes"});
    let all = [
        read("/settings"),
        ("PATCH", "/settings", json!({}), Configure),
        read("/sharing"),
        ("PATCH", "/sharing", json!({}), Configure),
        read("/sessions"),
        read("/sessions/{session}"),
        work("/sessions/{session}/take-over", none()),
        work("/sessions/{session}/messages", text.clone()),
        work("/sessions/{session}/resume", none()),
        work("/sessions/{session}/dismiss", none()),
        work("/sessions/{session}/close", none()),
        work("/sessions/{session}/assign", json!({"agents": ["gia"]})),
        read("/escalations"),
        read("/approvals"),
        read("/approvals/{approval}"),
        work("/approvals/{approval}/approve", none()),
        work("/approvals/{approval}/reject", json!({"reason": "no"})),
        read("/dead-letters"),
        read("/dead-letters/{letter}"),
        work("/dead-letters/{letter}/replay", none()),
        work("/dead-letters/{letter}/abandon", json!({"why": "no"})),
        read("/unknown-outcomes"),
        work("/unknown-outcomes/{call}/resolve", json!({"outcome": "done"})),
        read("/credits"),
        read("/credits/ledger"),
        ("POST", "/credits/grants", grant, GrantCredits),
        read("/knowledge"),
        ("POST", "/knowledge", document, Configure),
        ("DELETE", "/knowledge/{document}", none(), Configure),
        read("/issues"),
        work("/issues/{issue}/acknowledge", none()),
        work("/issues/{issue}/resolve", json!({"resolution": "done"})),
        work("/issues/{issue}/dismiss", none()),
        read("/org-delegations"),
        work("/org-delegations", json!({"to": "client", "instruction": "work"})),
        work("/org-delegations/{delegation}/accept", none()),
        work("/org-delegations/{delegation}/reject", none()),
        work("/org-delegations/{delegation}/complete", json!({"result": "done"})),
        read("/insights"),
        work("/insights/{insight}/acknowledge", none()),
        read("/soul-proposals"),
        read("/soul-proposals/{proposal}"),
        ("POST", "/soul-proposals/{proposal}/approve", none(), Configure),
        ("POST", "/soul-proposals/{proposal}/reject", json!({"reason": "no"}), Configure),
        read("/promotions"),
        ("POST", "/promotions/{agent}/approve", none(), Configure),
        ("POST", "/promotions/{agent}/reject", json!({"reason": "no"}), Configure),
        read("/notices"),
        work("/notices/{notice}/read", none()),
        read("/threads"),
        work("/threads", json!({})),
        read("/threads/{thread}/"),
        ("PATCH", "/threads/{thread}/", json!({"title": "mine"}), Operate),
        ("DELETE", "/threads/{thread}/", none(), Operate),
        work("/threads/{thread}/clone", json!({})),
        read("/threads/{thread}/messages"),
        work("/threads/{thread}/messages", text.clone()),
        work("/threads/{thread}/follow-ups", text.clone()),
        work("/threads/{thread}/steer", text),
        work("/threads/{thread}/abort", none()),
        work("/threads/{thread}/resume", none()),
        work("/threads/{thread}/retry", none()),
        work("/threads/{thread}/answers", answer),
        ("PUT", "/threads/{thread}/mode", json!({"modeId": "chat"}), Operate),
        ("PUT", "/threads/{thread}/model", json!({"modelId": "m"}), Operate),
        read("/threads/{thread}/state"),
        ("PATCH", "/threads/{thread}/state", json!({}), Operate),
        read("/threads/{thread}/permissions"),
        ("PATCH", "/threads/{thread}/permissions", json!({}), Operate),
        read("/threads/{thread}/tasks"),
        read("/threads/{thread}/memory"),
        work("/threads/{thread}/images", json!({})),
        read("/threads/{thread}/images/{image}"),
        read("/thread-choices"),
        read("/threads/{thread}/events"),
    ];
    let route = |(method, path, body, permission)| Route { method, path, body, permission };
    all.into_iter().map(route).collect()
}

/// Every route of the server below an org is in the table above.
#[test]
fn s01_the_campaign_has_every_route() {
    let listed: BTreeSet<String> =
        routes().iter().map(|route| route.path.replacen("/threads/{thread}", "", 1)).collect();
    let (_, orgs) = ROUTES_FILE.split_once("fn org_routes").expect("the routes of an org");
    let (orgs, _) = orgs.split_once("async fn wrap_request").expect("the end of the routes");
    let missing: Vec<&str> = orgs
        .split(".route(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|path| !listed.contains(*path))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

/// The records of an org by the name of their parameter.
type Records = BTreeMap<&'static str, String>;

/// Gives an org a conversation, a document and a thread, and returns their ids.
async fn populate(online: &Online, id: OrgId, number: u128) -> Records {
    let store = online.scenario.store.org(id);
    let (agent, binding) = (AgentId::from_u128(number), BindingId::from_u128(number));
    testkit::save_agent(&store, testkit::agent(id, agent, "mia")).await;
    testkit::bind_channel(&store, binding, Channel::Webchat, agent).await;
    testkit::grant_credits(&store, "start", 100).await;
    let conversation = testkit::customer_key(id, binding, "rosa");
    let hello = vec![ostler_domain::message::MessagePart::text("hello")];
    online.scenario.send(conversation, hello, None).await;
    let session = loop {
        let found = store.sessions(SessionFilter::All, None, 1).await.unwrap();
        if let Some(session) = found.first() {
            break session.id.to_string();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let owner = format!("osk_the-owner-of-the-organization-{number:06}");
    key(&online.scenario, id, 1_000_000 + number, &owner, Role::Owner).await;
    let created = async |path: &str, body: Value| -> String {
        let request = online.http.post(online.url(&format!("/v1/orgs/{id}{path}")));
        let answer = request.bearer_auth(&owner).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{path}");
        let answer: Value = answer.json().await.unwrap();
        answer["id"].as_str().unwrap().to_owned()
    };
    let document = json!({"title": "Ours", "body": number.to_string(), "tags": []});
    BTreeMap::from([
        ("{session}", session),
        ("{document}", created("/knowledge", document).await),
        ("{thread}", created("/threads", json!({})).await),
        ("{approval}", ApprovalId::from_u128(number).to_string()),
        ("{letter}", InboxId::from_u128(number).to_string()),
        ("{call}", CallId::from_u128(number).to_string()),
        ("{notice}", NoticeId::from_u128(number).to_string()),
        ("{issue}", RecordId::from_u128(number).to_string()),
        ("{delegation}", RecordId::from_u128(number + 1).to_string()),
        ("{insight}", RecordId::from_u128(number + 2).to_string()),
        ("{proposal}", ProposalId::from_u128(number).to_string()),
        ("{agent}", AgentId::from_u128(number).to_string()),
    ])
}

/// A request that has to be refused.
struct Attempt {
    key: u128,
    path: String,
    method: &'static str,
    body: Value,
}

/// Generates the requests of one key for the records of another org.
fn attempts(
    key: u128,
    role: Role,
    own: OrgId,
    relation: Relation,
    (other, slug, records): (OrgId, &str, &Records),
) -> Vec<Attempt> {
    let mut all = Vec::new();
    for Route { method, path, body, permission } in routes() {
        let record = records.iter().find(|(name, _)| path.contains(**name));
        let named = record.map_or(path.to_owned(), |(name, id)| path.replace(name, id));
        let mut orgs = Vec::new();
        if !role_permits(role, relation, permission) {
            orgs.extend([other.to_string(), slug.to_owned()]);
        }
        if record.is_some() {
            orgs.push(own.to_string());
        }
        for org in orgs {
            let path = format!("/v1/orgs/{org}{named}");
            let path = path.trim_end_matches('/').to_owned();
            all.push(Attempt { key, path, method, body: body.clone() });
        }
    }
    all
}

fn secret(key: u128) -> String {
    format!("osk_a-key-that-asks-for-others-{key:06}")
}

/// Returns what an org has done and holds, without refusals.
async fn state(store: &Store, org: OrgId) -> String {
    let store = store.org(org);
    let audit = store.audit_entries(None, None, 10_000).await.unwrap();
    let audit = audit.iter().filter(|entry| entry.entry.action != REFUSED);
    let audit: Vec<_> = audit.map(|entry| (&entry.entry.action, &entry.entry.subject)).collect();
    let sessions = store.sessions(SessionFilter::All, None, 10).await.unwrap();
    let sessions: Vec<&str> = sessions.iter().map(|session| session.data.as_str()).collect();
    let account = store.credit_account().await.unwrap();
    format!("{audit:?} {sessions:?} {account:?}")
}

on_every_database!(s01_generated_requests_for_others_are_refused_and_audited);
/// S01, A05: no key reaches anything of another org, by any route and in any role, except what
/// an agency may do for its clients; each refusal is in the audit log of the key's org.
async fn s01_generated_requests_for_others_are_refused_and_audited(store: Store) {
    let online = Online::with(Scenario::in_store(store, ECHO).await).await;
    let store = online.scenario.store.clone();
    store.create_org(org(AGENCY, "agency", OrgPlace::TopLevel, LicencePlan::Agency)).await.unwrap();
    for (id, slug) in [(CLIENT, "client"), (SIBLING, "sibling")] {
        let place = OrgPlace::SubOrg { parent: AGENCY };
        store.create_org(org(id, slug, place, LicencePlan::Pro)).await.unwrap();
    }
    let names = [(ORG, "bella"), (AGENCY, "agency"), (CLIENT, "client"), (SIBLING, "sibling")];
    let mut records = BTreeMap::new();
    for (number, (id, _)) in (500..).zip(names) {
        records.insert(id, populate(&online, id, number).await);
    }
    let slugs = BTreeMap::from(names);
    let relations = [
        (CLIENT, AGENCY, Relation::Parent),
        (CLIENT, SIBLING, Relation::Unrelated),
        (CLIENT, ORG, Relation::Unrelated),
        (AGENCY, CLIENT, Relation::Child),
        (AGENCY, ORG, Relation::Unrelated),
    ];
    let mut all = Vec::new();
    let mut keys = BTreeMap::new();
    for (home, other, relation) in relations {
        for role in ROLES {
            let id = 2000 + keys.len() as u128;
            key(&online.scenario, home, id, &secret(id), role).await;
            keys.insert(id, home);
            let target = (other, slugs[&other], &records[&other]);
            all.extend(attempts(id, role, home, relation, target));
        }
    }
    assert!(all.len() >= 2_400, "{}", all.len());
    let mut before = BTreeMap::new();
    for (id, _) in names {
        before.insert(id, state(&store, id).await);
    }
    let mut refused: BTreeMap<u128, usize> = BTreeMap::new();
    for Attempt { key, path, method, body } in sampled(all, is_whole_campaign()) {
        let status = loop {
            let request = online.http.request(method.parse().unwrap(), online.url(&path));
            let request = request.bearer_auth(secret(key));
            let request = if body.is_null() { request } else { request.json(&body) };
            match request.send().await.unwrap().status().as_u16() {
                // A database under load; nothing was decided.
                503 => tokio::time::sleep(Duration::from_millis(200)).await,
                status => break status,
            }
        };
        assert!(matches!(status, 403 | 404), "{method} {path}: {status}");
        *refused.entry(key).or_default() += 1;
    }
    for (id, _) in names {
        assert_eq!(state(&store, id).await, before[&id], "{id} is as it was");
    }
    for (key, count) in refused {
        let log = store.org(keys[&key]).audit_entries(None, None, 10_000).await.unwrap();
        let actor = AuditActor::Key(KeyId::from_u128(key));
        let of_key = log.iter().filter(|one| one.entry.actor == actor);
        let listed = of_key.filter(|one| one.entry.action == REFUSED).count();
        assert_eq!(listed, count, "every refusal of {key} is in the log");
    }
}
