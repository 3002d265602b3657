//! Resources as a whole over HTTP: planned, applied and exported by those who may.

use ostler_domain::id::OrgId;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use serde_json::{Value, json};

use super::{Online, key};
use crate::support::{ECHO, ORG, Scenario, org};

const PLATFORM: OrgId = OrgId::from_u128(0x9a7);
const STRANGER: OrgId = OrgId::from_u128(0x0c);

const ROLES: [(&str, OrgId, Role); 5] = [
    ("osk_somebody-who-looks-at-bella-pizza-1", ORG, Role::Viewer),
    ("osk_somebody-who-answers-for-bella-pizza", ORG, Role::Operator),
    ("osk_somebody-who-configures-bella-pizza1", ORG, Role::Admin),
    ("osk_the-owner-of-somebody-elses-business", STRANGER, Role::Owner),
    ("osk_the-operator-of-the-whole-platform-1", PLATFORM, Role::PlatformAdmin),
];
const VIEWER: &str = ROLES[0].0;
const OPERATOR: &str = ROLES[1].0;
const ADMIN: &str = ROLES[2].0;
const FOREIGN: &str = ROLES[3].0;
const PLATFORM_ADMIN: &str = ROLES[4].0;

async fn online() -> Online {
    let scenario = Scenario::new(ECHO).await;
    for (id, slug, place) in
        [(PLATFORM, "platform", OrgPlace::Platform), (STRANGER, "stranger", OrgPlace::TopLevel)]
    {
        scenario.store.create_org(org(id, slug, place, LicencePlan::Enterprise)).await.unwrap();
    }
    for (number, (secret, home, role)) in (10..).zip(ROLES) {
        key(&scenario, home, number, secret, role).await;
    }
    Online::with(scenario).await
}

async fn send(online: &Online, key: &str, path: &str, body: &Value) -> (u16, Value) {
    let url = online.url(&format!("/v1/resources{path}"));
    let request = match body {
        Value::Null => online.http.get(url),
        body => online.http.post(url).json(body),
    };
    let answer = request.bearer_auth(key).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

async fn gia(online: &Online) -> Value {
    let (_, found) = send(online, VIEWER, "?org=bella", &Value::Null).await;
    let items = found["items"].as_array().expect("resources").clone();
    let gia = items.into_iter().find(|one| one["resource"] == "agent bella/gia");
    gia.unwrap_or_else(|| panic!("{found}"))["value"].clone()
}

fn change(resource: &str, value: Value) -> Value {
    Value::from_iter([("resources", Value::from_iter([(resource, value)]))])
}

/// K02, O02, O03: a change is planned without an effect, applied as it was planned, and on
/// record. A plan that is another one by now is not applied.
#[tokio::test(flavor = "multi_thread")]
async fn k02_resources_are_planned_and_applied_over_http() {
    let online = online().await;
    let mut wanted = gia(&online).await;
    wanted["knowledge_tags"] = json!(["menu"]);
    let mut body = change("agent bella/gia", wanted);
    let (status, plan) = send(&online, ADMIN, "/plan", &body).await;
    assert_eq!(status, 200, "{plan}");
    let fields = &plan["changes"][0]["fields"];
    assert_eq!(*fields, json!([{"path": "knowledge_tags", "old": [], "new": ["menu"]}]), "{plan}");
    assert_eq!(gia(&online).await["knowledge_tags"], json!([]), "a plan changes nothing");

    body["version"] = "of another plan".into();
    let (status, problem) = send(&online, ADMIN, "/apply", &body).await;
    assert_eq!((status, problem["code"].as_str()), (412, Some("changed")), "{problem}");
    body["version"] = plan["version"].clone();
    let (status, applied) = send(&online, ADMIN, "/apply", &body).await;
    assert_eq!((status, &applied["version"]), (200, &plan["version"]), "{applied}");
    assert_eq!(gia(&online).await["knowledge_tags"], json!(["menu"]));
    let (status, again) = send(&online, ADMIN, "/apply", &body).await;
    assert_eq!(status, 412, "it is planned otherwise now: {again}");

    let url = online.url(&format!("/v1/orgs/{ORG}/audit?action=change_agent"));
    let audit: Value =
        online.http.get(url).bearer_auth(ADMIN).send().await.unwrap().json().await.unwrap();
    assert_eq!(audit["items"][0]["actor"], "key test", "{audit}");
    let url = online.url("/v1/resources/export?org=bella");
    let text = online.http.get(url).bearer_auth(VIEWER).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("[[agent]]") && text.contains("knowledge_tags = [\"menu\"]"), "{text}");
    let (_, schema) = send(&online, VIEWER, "/schema", &Value::Null).await;
    assert!(schema["properties"]["agent"].is_object(), "{schema}");
}

/// K02: what breaks a rule is named with its resource and field, and a name in a resource cannot
/// differ from its address.
#[tokio::test(flavor = "multi_thread")]
async fn k02_a_plan_names_the_rules_that_it_breaks() {
    let online = online().await;
    let mut wanted = gia(&online).await;
    wanted["tools"]["deny"] = json!(["refund_paymnt"]);
    let body = change("agent bella/gia", wanted);
    let (status, plan) = send(&online, ADMIN, "/plan", &body).await;
    let broken = &plan["violations"][0];
    assert_eq!((status, broken["resource"].as_str()), (200, Some("agent bella/gia")), "{plan}");
    assert!(broken["path"].as_str().unwrap().starts_with("tools.deny"), "{plan}");
    let (status, problem) = send(&online, ADMIN, "/apply", &body).await;
    assert_eq!((status, problem["code"].as_str()), (422, Some("invalid")), "{problem}");

    let mut other = gia(&online).await;
    other["org"] = "stranger".into();
    other["slug"] = "eve".into();
    let (status, plan) = send(&online, ADMIN, "/plan", &change("agent bella/gia", other)).await;
    assert_eq!((status, &plan["changes"]), (200, &json!([])), "the address decides: {plan}");
    let (status, _) = send(&online, ADMIN, "/plan", &change("nothing", json!({}))).await;
    assert_eq!(status, 422);
}

/// S14: an actor who plans or applies a change needs the right to make it: a viewer and an operator
/// change nothing, an admin their own org without its licence and its owners, and only the
/// platform what applies to everybody.
#[tokio::test(flavor = "multi_thread")]
async fn s14_resources_are_changed_by_those_who_may() {
    let online = online().await;
    let gia = gia(&online).await;
    let agent = json!({"name": "Eve", "subtype": "pm", "autonomy": "semi_autonomous"});
    let own = ("agent bella/gia", gia.clone());
    let foreign = ("agent stranger/eve", agent.clone());
    let policy = ("platform", json!({"tools": {"allow": [], "deny": ["refund_payment"]}}));
    let new_org = ("org sette", json!({"name": "Sette"}));
    let licence = ("org bella", json!({"name": "Bella Pizza", "plan": "enterprise"}));
    let owner = ("member bella/eve@example.com", json!({"name": "Eve", "role": "owner"}));
    let viewer = ("member bella/eve@example.com", json!({"name": "Eve", "role": "viewer"}));
    let program = ("mcp_server bella/local", json!({"command": "sh", "args": ["-c", "id"]}));
    let cases = [
        (VIEWER, &own, false),
        (OPERATOR, &own, false),
        (FOREIGN, &own, false),
        (ADMIN, &own, true),
        (ADMIN, &foreign, false),
        (ADMIN, &policy, false),
        (ADMIN, &new_org, false),
        (ADMIN, &licence, false),
        (ADMIN, &owner, false),
        (ADMIN, &viewer, true),
        (ADMIN, &program, false),
        (FOREIGN, &foreign, true),
        (PLATFORM_ADMIN, &own, true),
        (PLATFORM_ADMIN, &foreign, true),
        (PLATFORM_ADMIN, &policy, true),
        (PLATFORM_ADMIN, &new_org, true),
        (PLATFORM_ADMIN, &program, false),
    ];
    for (key, (resource, value), allowed) in cases {
        for path in ["/plan", "/apply"] {
            let (status, answer) = send(&online, key, path, &change(resource, value.clone())).await;
            let expected = if allowed { 200 } else { 403 };
            assert_eq!(status, expected, "{key} {path} {resource}: {answer}");
        }
    }
    let (_, seen) = send(&online, FOREIGN, "", &Value::Null).await;
    let names = seen["items"].as_array().unwrap().iter().filter_map(|one| one["resource"].as_str());
    let foreign: Vec<&str> = names.filter(|name| !name.contains("stranger")).collect();
    assert_eq!(foreign, Vec::<&str>::new(), "others are not listed");
    let (status, _) = send(&online, FOREIGN, "?org=bella", &Value::Null).await;
    assert_eq!(status, 404);
}
