//! Every cell of the table of what routes need: each role in each relation to the org of the
//! path, on each route of the document. What this table allows is written here once more, so
//! that a cell that becomes looser or stricter is noticed.

use ostler_domain::id::{KeyId, OrgId, UserId};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission::{
    Configure, GrantCredits, ManagePeople, Operate, View,
};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_runtime::operations::{Actor, OperationError};
use serde_json::Value;

use super::{Online, key};
use crate::support::{ECHO, ORG, Scenario, org};

const PLATFORM: OrgId = OrgId::from_u128(0x9a7);
const AGENCY: OrgId = OrgId::from_u128(0xa6e);
const CLIENT: OrgId = OrgId::from_u128(0xc1);
const SIBLING: OrgId = OrgId::from_u128(0xc2);
const DELETED: OrgId = OrgId::from_u128(0xdead);
const ROLES: [Role; 5] =
    [Role::Viewer, Role::Operator, Role::Admin, Role::Owner, Role::PlatformAdmin];

/// A route of the document.
pub(super) struct Entry {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) access: String,
    pub(super) body: Value,
}

/// Returns the routes of the document, each with a body as its example.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for (path, methods) in ostler_server::document()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let content = &operation["requestBody"]["content"]["application/json"];
            entries.push(Entry {
                method: method.to_uppercase(),
                path: path.clone(),
                access: operation["x-ostler-access"].as_str().unwrap().to_owned(),
                body: content["example"].clone(),
            });
        }
    }
    assert!(entries.len() > 60, "{}", entries.len());
    entries
}

/// Where the org of the path is, seen from the caller's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Own,
    Parent,
    Child,
    Sibling,
    Stranger,
    Deleted,
}

/// The caller's org and the org of the path.
const PLACES: [(Place, OrgId, OrgId); 6] = [
    (Place::Own, CLIENT, CLIENT),
    (Place::Parent, CLIENT, AGENCY),
    (Place::Child, AGENCY, CLIENT),
    (Place::Sibling, CLIENT, SIBLING),
    (Place::Stranger, CLIENT, ORG),
    (Place::Deleted, CLIENT, DELETED),
];

/// Routes whose operation is stricter than the table: the owner alone decides on levels of
/// autonomy.
const FOR_OWNERS: &str = "/v1/orgs/{org}/promotions/{agent}/";
/// What members choose for themselves, which no key does.
const FOR_PEOPLE: &str = "/v1/orgs/{org}/notice-choices";

/// Users belong to no org: their accounts are managed in the platform's only.
const FOR_THE_PLATFORM: [&str; 3] =
    ["/v1/orgs/{org}/account-links", "/v1/orgs/{org}/link-codes", "/v1/orgs/{org}/users"];

/// What a role may do in an org in this place.
fn permits(role: Role, place: Place, access: &str) -> bool {
    let own: &[&str] = match role {
        Role::PlatformAdmin => &["view", "operate", "configure", "grant_credits", "manage_people"],
        Role::Owner | Role::Admin => &["view", "operate", "configure", "manage_people"],
        Role::Operator => &["view", "operate"],
        Role::Viewer => &["view"],
    };
    let reaches = match place {
        _ if role == Role::PlatformAdmin => true,
        Place::Own => true,
        Place::Child => matches!(access, "view" | "operate"),
        Place::Parent | Place::Sibling | Place::Stranger | Place::Deleted => false,
    };
    own.contains(&access) && reaches
}

async fn orgs(scenario: &Scenario) {
    let store = &scenario.store;
    let sub_org = OrgPlace::SubOrg { parent: AGENCY };
    for (id, slug, place, plan) in [
        (PLATFORM, "platform", OrgPlace::Platform, LicencePlan::Enterprise),
        (AGENCY, "agency", OrgPlace::TopLevel, LicencePlan::Agency),
        (CLIENT, "client", sub_org, LicencePlan::Pro),
        (SIBLING, "sibling", sub_org, LicencePlan::Pro),
    ] {
        store.create_org(org(id, slug, place, plan)).await.unwrap();
    }
}

fn secret(role: Role, home: OrgId) -> String {
    format!("osk_a-key-with-the-role-{role}-of-{home}")
}

/// S14: one request for each cell.
#[tokio::test(flavor = "multi_thread")]
async fn s14_every_cell_of_the_table_is_as_written() {
    let online = Online::with(Scenario::new(ECHO).await).await;
    orgs(&online.scenario).await;
    let mut number = 100;
    for role in ROLES {
        for home in [AGENCY, CLIENT] {
            number += 1;
            let home = if role == Role::PlatformAdmin { PLATFORM } else { home };
            let secret = format!("{}-{number}", secret(role, home));
            key(&online.scenario, home, number, &secret, role).await;
        }
    }
    let secret_of = |role: Role, home: OrgId| {
        let index = ROLES.iter().position(|one| *one == role).unwrap() as u128;
        let number = 101 + 2 * index + u128::from(home != AGENCY);
        let home = if role == Role::PlatformAdmin { PLATFORM } else { home };
        format!("{}-{number}", secret(role, home))
    };
    let (mut cells, mut wrong) = (0, Vec::new());
    let clients = std::cell::Cell::new(0_u32);
    for Entry { method, path, access, body } in entries() {
        let send = async |path: &str, key: Option<&str>| {
            let request = online.http.request(method.parse().unwrap(), online.url(path));
            let request = if body.is_null() { request } else { request.json(&body) };
            let request = match key {
                Some(key) => request.bearer_auth(key),
                // Each from another address, because requests without a key are limited.
                None => {
                    clients.set(clients.get() + 1);
                    let client = std::net::Ipv4Addr::from(0x0a00_0000 + clients.get());
                    request.header("x-forwarded-for", client.to_string())
                }
            };
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let media_type = answer.headers().get("content-type").cloned();
            let is_stream = media_type.is_some_and(|one| one == "text/event-stream");
            let text = if is_stream { String::new() } else { answer.text().await.unwrap() };
            (status, text)
        };
        if !path.starts_with("/v1/orgs/{org}") {
            let needs_key = access == "caller";
            let (status, text) = send(&path, None).await;
            let lacks_key = status == 401 && text.contains("send a valid API key");
            assert_eq!(lacks_key, needs_key, "{method} {path} without a key: {status} {text}");
            continue;
        }
        for (place, home, target) in PLACES {
            let named = path.replace("{org}", &target.to_string());
            let (status, _) = send(&named, None).await;
            assert_eq!(status, 401, "{method} {path} without a key");
            for role in ROLES {
                // What is allowed works on records that do not exist, and changes nothing that
                // decides about the next cell.
                let (status, text) = send(&named, Some(&secret_of(role, home))).await;
                let refused = matches!(status, 401 | 403)
                    || status == 404 && text.contains("no such organization");
                let cell = format!("{method} {path}: {role} in {place:?}: {status} {text}");
                let exists = place != Place::Deleted;
                let is_narrowed = path == FOR_PEOPLE
                    || path.starts_with(FOR_OWNERS) && role != Role::Owner
                    || FOR_THE_PLATFORM.iter().any(|prefix| path.starts_with(prefix));
                let expected = permits(role, place, &access) && exists;
                let stands = refused != expected || (refused && is_narrowed);
                if status >= 500 || !stands {
                    wrong.push(cell);
                }
                cells += 1;
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(cells > 1_500, "{cells}");
}

/// S14: a logged-in person has the same rights as a key with their role.
#[tokio::test]
async fn s14_people_have_the_rights_of_their_role() {
    let scenario = Scenario::new(ECHO).await;
    orgs(&scenario).await;
    let operations = scenario.operations();
    let accesses = [
        (View, "view"),
        (Operate, "operate"),
        (Configure, "configure"),
        (GrantCredits, "grant_credits"),
        (ManagePeople, "manage_people"),
    ];
    for (number, role) in (500..).zip(ROLES) {
        for (offset, home) in [(0, AGENCY), (100, CLIENT)] {
            let user = UserId::from_u128(number + offset);
            scenario.add_user(user).await;
            let home = if role == Role::PlatformAdmin { PLATFORM } else { home };
            scenario.store.org(home).set_member(user, role).await.unwrap();
        }
        for (place, home, target) in PLACES {
            let offset = if home == AGENCY { 0 } else { 100 };
            let person = Actor::User(UserId::from_u128(number + offset));
            let home = if role == Role::PlatformAdmin { PLATFORM } else { home };
            let program = Actor::Key { id: KeyId::from_u128(1), org: home, role };
            for (permission, access) in accesses {
                for actor in [person, program] {
                    let checked = operations.as_actor(actor, target).check(permission).await;
                    let allowed = match checked {
                        Ok(()) => true,
                        Err(OperationError::Forbidden { .. }) => false,
                        Err(other) => panic!("{other}"),
                    };
                    let expected = permits(role, place, access);
                    assert_eq!(allowed, expected, "{actor:?} {access} in {place:?}");
                }
            }
        }
    }
}
