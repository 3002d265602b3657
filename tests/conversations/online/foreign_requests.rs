//! Requests of API keys for what belongs to others, generated from every route: of the parent,
//! a sibling, a child or a stranger, by id and by slug, in a path of theirs and in one's own.

use std::collections::BTreeMap;
use std::time::Duration;

use ostler_domain::audit::{AuditActor, REFUSALS_PER_SOURCE, REFUSALS_UNLISTED, REFUSED};
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{
    AgentId, ApprovalId, BindingId, BlobId, CallId, ContactId, InboxId, KeyId, NoticeId, OrgId,
    ProposalId, RecordId, UserId, WorkflowId,
};
use ostler_domain::org::permission::OrgPermission::{
    self, Configure, GrantCredits, ManagePeople, Operate, View,
};
use ostler_domain::org::permission::role_permits;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{OrgPlace, Relation};
use ostler_domain::time::Timestamp;
use ostler_store::{OrgStore, SessionFilter, Store, User};
use ostler_testkit as testkit;
use serde_json::{Value, json};

use super::{Online, key};
use crate::support::{ECHO, ORG, Scenario, is_whole_campaign, on_every_database, org, sampled};

pub(super) const AGENCY: OrgId = OrgId::from_u128(0xa6e);
pub(super) const CLIENT: OrgId = OrgId::from_u128(0xc1);
pub(super) const SIBLING: OrgId = OrgId::from_u128(0xc2);
/// The most requests of a campaign that a busy database leaves unanswered.
const MAX_UNANSWERED: usize = 100;
pub(super) const ROLES: [Role; 4] = [Role::Viewer, Role::Operator, Role::Admin, Role::Owner];

/// A request with the record that it is about, if any, as `{…}`.
pub(super) struct Route {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Value,
    pub(super) permission: OrgPermission,
}

/// Returns every request below `/v1/orgs/{org}`, from the document of the API.
pub(super) fn routes() -> Vec<Route> {
    let mut routes = Vec::new();
    for entry in super::authorization::entries() {
        let Some(path) = entry.path.strip_prefix("/v1/orgs/{org}") else { continue };
        let permission = match entry.access.as_str() {
            "view" => View,
            "operate" => Operate,
            "configure" => Configure,
            "grant_credits" => GrantCredits,
            "manage_people" => ManagePeople,
            other => panic!("{path} needs {other}"),
        };
        let (method, body) = (entry.method, entry.body);
        routes.push(Route { method, path: path.to_owned(), body, permission });
    }
    routes
}

/// A26: no answer of a route has a field that is called just `layer`.
#[tokio::test(flavor = "multi_thread")]
async fn a26_no_field_over_http_is_called_layer_alone() {
    let online = Online::new(ECHO).await;
    let records = populate(&online, ORG, 500).await;
    let owner = format!("osk_the-owner-of-the-organization-{:06}", 500);
    let mut answered = 0;
    for Route { method, path, .. } in routes() {
        if method != "GET" || path.ends_with("/events") {
            continue;
        }
        let path = records.iter().fold(path, |path, (name, id)| path.replace(name, id));
        let path = format!("/v1/orgs/{ORG}{path}");
        let request = online.http.get(online.url(path.trim_end_matches('/')));
        let answer = request.bearer_auth(&owner).send().await.unwrap();
        answered += usize::from(answer.status() == 200);
        let text = answer.text().await.unwrap();
        assert!(!text.contains("\"layer\""), "{path}: {text}");
    }
    assert!(answered > 20, "{answered}");
}

/// The records of an org by the name of their parameter.
pub(super) type Records = BTreeMap<&'static str, String>;

/// Gives an org a member and a contact, and returns their ids.
async fn add_people(online: &Online, store: &OrgStore<'_>, number: u128) -> (UserId, ContactId) {
    let (user, contact) = (UserId::from_u128(number), ContactId::from_u128(number));
    let (email, name) = (format!("p{number}@example.com"), "Pia".to_owned());
    let pia = User { id: user, email: email.clone(), name };
    online.scenario.store.create_user(pia, &"$test$hash".parse().unwrap()).await.unwrap();
    store.set_member(user, Role::Viewer).await.unwrap();
    let otto = Contact {
        id: contact,
        name: "Otto".to_owned(),
        details: ContactDetails { phone: None, email: Some(email) },
        locale: None,
        tags: Default::default(),
        notes: Vec::new(),
        crm: None,
    };
    store.create_contact(otto).await.unwrap();
    (user, contact)
}

/// Gives an org a conversation, people, a document and a thread, and returns their ids.
pub(super) async fn populate(online: &Online, id: OrgId, number: u128) -> Records {
    let store = online.scenario.store.org(id);
    let (agent, binding) = (AgentId::from_u128(number), BindingId::from_u128(number));
    testkit::save_agent(&store, testkit::agent(id, agent, "mia")).await;
    testkit::bind_channel(&store, binding, Channel::Webchat, agent).await;
    testkit::grant_credits(&store, "start", 100).await;
    let conversation = testkit::customer_key(id, binding, "rosa");
    let hello = vec![ostler_domain::message::MessagePart::text("hello")];
    online.scenario.send(conversation, hello, None).await;
    let run = loop {
        let found = store.recent_runs(Timestamp::from_millis(0), None, 1).await.unwrap();
        if let Some(one) = found.first() {
            break one.run.id.to_string();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let session = store.sessions(SessionFilter::All, None, 1).await.unwrap()[0].id.to_string();
    let (user, contact) = add_people(online, &store, number).await;
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
        ("{image}", BlobId::from_u128(number).to_string()),
        ("{approval}", ApprovalId::from_u128(number).to_string()),
        ("{letter}", InboxId::from_u128(number).to_string()),
        ("{call}", CallId::from_u128(number).to_string()),
        ("{notice}", NoticeId::from_u128(number).to_string()),
        ("{issue}", RecordId::from_u128(number).to_string()),
        ("{delegation}", RecordId::from_u128(number + 1).to_string()),
        ("{insight}", RecordId::from_u128(number + 2).to_string()),
        ("{proposal}", ProposalId::from_u128(number).to_string()),
        ("{agent}", AgentId::from_u128(number).to_string()),
        ("{run}", run),
        ("{member}", user.to_string()),
        ("{contact}", contact.to_string()),
        ("{channel}", binding.to_string()),
        ("{refund}", RecordId::from_u128(number + 3).to_string()),
        ("{workflow}", WorkflowId::from_u128(number).to_string()),
        ("{integration}", format!("payments-{number}")),
        ("{tool}", format!("find_order_{number}")),
        ("{server}", format!("shop-{number}")),
        ("{schedule}", format!("morning-{number}")),
        ("{definition}", format!("report-{number}")),
    ])
}

/// A request that has to be refused.
#[derive(Clone)]
struct Attempt {
    key: u128,
    path: String,
    method: String,
    body: Value,
}

/// Generates the requests of a role for the records of another org; their keys are still missing.
fn attempts(
    role: Role,
    own: OrgId,
    relation: Relation,
    (other, slug, records): (OrgId, &str, &Records),
) -> Vec<Attempt> {
    let mut all = Vec::new();
    for Route { method, path, body, permission } in routes() {
        let named = records.iter().fold(path.clone(), |path, (name, id)| path.replace(name, id));
        let mut orgs = Vec::new();
        if !role_permits(role, relation, permission) {
            orgs.extend([other.to_string(), slug.to_owned()]);
        }
        if named != path {
            orgs.push(own.to_string());
        }
        for org in orgs {
            let path = format!("/v1/orgs/{org}{named}");
            all.push(Attempt { key: 0, path, method: method.clone(), body: body.clone() });
        }
    }
    all
}

fn secret(key: u128) -> String {
    format!("osk_a-key-that-asks-for-others-{key:06}")
}

/// Returns what an org has done and holds, without refusals.
pub(super) async fn state(store: &Store, org: OrgId) -> String {
    let store = store.org(org);
    let audit = store.audit_entries(None, None, 10_000).await.unwrap();
    let is_refusal = |action: &str| action == REFUSED || action == REFUSALS_UNLISTED;
    let audit = audit.iter().filter(|entry| !is_refusal(&entry.entry.action));
    let audit: Vec<_> = audit.map(|entry| (&entry.entry.action, &entry.entry.subject)).collect();
    let sessions = store.sessions(SessionFilter::All, None, 10).await.unwrap();
    let sessions: Vec<&str> = sessions.iter().map(|session| session.data.as_str()).collect();
    let account = store.credit_account().await.unwrap();
    format!("{audit:?} {sessions:?} {account:?}")
}

on_every_database!(s01_generated_requests_for_others_are_refused_and_audited);
/// S01, S14, A05: no key reaches anything of another org, by any route and in any role, except what
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
            let target = (other, slugs[&other], &records[&other]);
            // A key is used for no more requests than the log lists of one.
            for few in
                attempts(role, home, relation, target).chunks(REFUSALS_PER_SOURCE as usize - 1)
            {
                let id = 2000 + keys.len() as u128;
                key(&online.scenario, home, id, &secret(id), role).await;
                keys.insert(id, home);
                all.extend(few.iter().map(|one| Attempt { key: id, ..one.clone() }));
            }
        }
    }
    assert!(all.len() >= 5_000, "{}", all.len());
    let mut before = BTreeMap::new();
    for (id, _) in names {
        before.insert(id, state(&store, id).await);
    }
    let mut refused: BTreeMap<u128, usize> = BTreeMap::new();
    let mut unanswered = 0;
    for Attempt { key, path, method, body } in sampled(all, is_whole_campaign()) {
        let status = loop {
            let request = online.http.request(method.parse().unwrap(), online.url(&path));
            let request = request.bearer_auth(secret(key));
            let request = if body.is_null() { request } else { request.json(&body) };
            match request.send().await.unwrap().status().as_u16() {
                // The database was too busy. Nothing was decided, so the request is neither a
                // refusal nor a breach: it is sent again until it is answered.
                503 => {
                    unanswered += 1;
                    assert!(unanswered < MAX_UNANSWERED, "the database does not recover");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
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
