//! The campaign of generated requests: people with a log-in and programs with a key, in every
//! role, ask for what belongs to their parent, a child, a sibling, a stranger, or an org that
//! does not exist any more, and for records of others in paths of their own.

use std::collections::BTreeMap;

use ostler_domain::audit::REFUSED;
use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::permission::role_permits;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{OrgPlace, Relation};
use ostler_runtime::operations::LoginOrigin;
use reqwest::RequestBuilder;
use serde_json::Value;

use super::foreign_requests::{
    AGENCY, CLIENT, ROLES, Records, Route, SIBLING, populate, routes, state,
};
use super::{Online, key};
use crate::support::{ECHO, ORG, Scenario, is_whole_campaign, org, sampled};

const DELETED: OrgId = OrgId::from_u128(0xdead);
/// The number of requests of the whole campaign, at least.
const MIN_REQUESTS: usize = 20_000;
const NAMES: [(OrgId, &str); 5] = [
    (ORG, "bella"),
    (AGENCY, "agency"),
    (CLIENT, "client"),
    (SIBLING, "sibling"),
    (DELETED, "deleted"),
];
/// The caller's org, the org that is asked for, and where it is.
const PLACES: [(OrgId, OrgId, Relation); 8] = [
    (CLIENT, AGENCY, Relation::Parent),
    (CLIENT, SIBLING, Relation::Unrelated),
    (CLIENT, ORG, Relation::Unrelated),
    (CLIENT, DELETED, Relation::Unrelated),
    (AGENCY, CLIENT, Relation::Child),
    (AGENCY, ORG, Relation::Unrelated),
    (ORG, CLIENT, Relation::Unrelated),
    (ORG, AGENCY, Relation::Unrelated),
];

/// How a caller says who it is.
#[derive(Debug, Clone)]
enum Credential {
    Key(String),
    Cookie(String),
}

impl Credential {
    fn apply(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::Key(secret) => request.bearer_auth(secret),
            Self::Cookie(token) => {
                let request = request.header("cookie", format!("ostler_login={token}"));
                request.header("ostler-csrf", "1").header("sec-fetch-site", "same-origin")
            }
        }
    }
}

struct Attempt {
    credential: Credential,
    method: String,
    path: String,
    body: Value,
}

/// Makes a key and a member with a log-in.
async fn callers(online: &Online, home: OrgId, role: Role, number: u128) -> [Credential; 2] {
    let secret = format!("osk_a-program-that-asks-for-others-{number:06}");
    key(&online.scenario, home, number, &secret, role).await;
    let user = UserId::from_u128(number);
    online.scenario.add_user(user).await;
    online.scenario.store.org(home).set_member(user, role).await.unwrap();
    let origin = LoginOrigin {
        method: "password".into(),
        address: "192.0.2.1".into(),
        client: "a browser".into(),
    };
    let token = online.scenario.operations().start_login(user, origin, None).await.unwrap();
    [Credential::Key(secret), Credential::Cookie(token.expose().to_owned())]
}

/// Returns the paths that a role has to be refused: in the other org with its records and
/// with one's own, and records of the other org in one's own.
fn paths(
    route: &Route,
    role: Role,
    (home, own): (OrgId, &Records),
    (other, slug, records): (OrgId, &str, &Records),
    relation: Relation,
) -> Vec<String> {
    let name = |records: &Records| {
        records.iter().fold(route.path.clone(), |path, (name, id)| path.replace(name, id))
    };
    let (theirs, mine) = (name(records), name(own));
    let names_record = theirs != route.path;
    let mut paths = Vec::new();
    for target in [other.to_string(), slug.to_owned()] {
        if !role_permits(role, relation, route.permission) {
            paths.push(format!("/v1/orgs/{target}{theirs}"));
        }
        if names_record {
            paths.push(format!("/v1/orgs/{target}{mine}"));
        }
    }
    if names_record {
        paths.push(format!("/v1/orgs/{home}{theirs}"));
    }
    paths
}

/// Returns whether nothing was done. A tool is defined under any name that is free, so that
/// those who may define tools learn what is wrong with the definition or the arguments.
fn is_refused(status: u16, path: &str) -> bool {
    let defines = path.contains("/tools/") || path.contains("/mcp-servers/");
    matches!(status, 403 | 404) || (status == 422 && defines)
}

/// Makes records of an org that does not exist any more: ids that nobody has.
fn gone(records: &Records) -> Records {
    records.keys().map(|name| (*name, OrgId::from_u128(0xdead_0000).to_string())).collect()
}

/// S14: no person and no key gets an answer beyond the table, and nothing is changed.
#[tokio::test(flavor = "multi_thread")]
async fn s14_generated_requests_of_people_and_keys_stay_within_the_table() {
    let online = Online::with(Scenario::new(ECHO).await).await;
    let store = online.scenario.store.clone();
    let agency = org(AGENCY, "agency", OrgPlace::TopLevel, LicencePlan::Agency);
    store.create_org(agency).await.unwrap();
    for (id, slug) in [(CLIENT, "client"), (SIBLING, "sibling")] {
        let place = OrgPlace::SubOrg { parent: AGENCY };
        store.create_org(org(id, slug, place, LicencePlan::Pro)).await.unwrap();
    }
    let mut records = BTreeMap::new();
    for (number, id) in (500..).zip([ORG, AGENCY, CLIENT, SIBLING]) {
        records.insert(id, populate(&online, id, number).await);
    }
    records.insert(DELETED, gone(&records[&ORG]));
    let (slugs, routes) = (BTreeMap::from(NAMES), routes());
    let mut all = Vec::new();
    for (number, (home, other, relation)) in (0_u128..).zip(PLACES) {
        for (offset, role) in (0_u128..).zip(ROLES) {
            let callers = callers(&online, home, role, 3000 + 10 * number + offset).await;
            for route in &routes {
                let target = (other, slugs[&other], &records[&other]);
                for path in paths(route, role, (home, &records[&home]), target, relation) {
                    all.extend(callers.iter().map(|credential| Attempt {
                        credential: credential.clone(),
                        method: route.method.clone(),
                        path: path.clone(),
                        body: route.body.clone(),
                    }));
                }
            }
        }
    }
    assert!(all.len() >= MIN_REQUESTS, "{}", all.len());
    let mut before = BTreeMap::new();
    for id in [ORG, AGENCY, CLIENT, SIBLING] {
        before.insert(id, state(&store, id).await);
    }
    let attempts = sampled(all, is_whole_campaign());
    assert!(attempts.len() >= MIN_REQUESTS / 20);
    let mut beyond = Vec::new();
    for Attempt { credential, method, path, body } in attempts {
        let request = online.http.request(method.parse().unwrap(), online.url(&path));
        let request = credential.apply(request);
        let request = if body.is_null() { request } else { request.json(&body) };
        let status = request.send().await.unwrap().status().as_u16();
        if !is_refused(status, &path) {
            beyond.push(format!("{credential:?} {method} {path}: {status}"));
        }
    }
    assert_eq!(beyond, Vec::<String>::new());
    for (id, before) in before {
        assert_eq!(state(&store, id).await, before, "{id} is as it was");
        let log = store.org(id).audit_entries(None, None, 10_000).await.unwrap();
        let asks = PLACES.iter().any(|(home, ..)| *home == id);
        let is_listed = log.iter().any(|one| one.entry.action == REFUSED);
        assert_eq!(is_listed, asks, "refusals are in the log of the caller's org");
    }
}
