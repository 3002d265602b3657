//! API keys, limits of requests, and shutdown.

use ostler_domain::id::{ApprovalId, OrgId};
use ostler_domain::org::role::Role;
use serde_json::json;

use super::{KEY, Online, key, problem};
use crate::support::{ECHO, ORG};

const VIEWER: &str = "osk_a-viewer-of-bella-pizza-who-only-looks";
const ADMIN: &str = "osk_an-admin-of-bella-pizza-who-configures";
const STRANGER: &str = "osk_the-owner-of-quite-another-organization";
const OTHER: OrgId = OrgId::from_u128(0xa11);

/// O23: an API key gives access to its own org within its role, by id and by slug.
#[tokio::test(flavor = "multi_thread")]
async fn o23_an_api_key_gives_access_to_its_org_within_its_role() {
    let online = Online::new(ECHO).await;
    online.scenario.store.create_org(ostler_testkit::org(OTHER, "other")).await.unwrap();
    key(&online.scenario, ORG, 2, VIEWER, Role::Viewer).await;
    key(&online.scenario, OTHER, 3, STRANGER, Role::Owner).await;
    online.scenario.write("rosa", "hello").await;
    let id = loop {
        if let Some(session) = online.scenario.sessions().await.first() {
            break session.id;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let (here, there) = (format!("/v1/orgs/{ORG}"), format!("/v1/orgs/{OTHER}"));
    let show = format!("{here}/sessions/{id}");
    let take = format!("{show}/take-over");
    let approval = format!("{here}/approvals/{}", ApprovalId::from_u128(1));
    let table = [
        ("GET", show.clone(), None, 401, "unauthorized"),
        ("GET", show.clone(), Some("short"), 401, "unauthorized"),
        ("GET", show.clone(), Some("osk_nobody-has-this-key-nobody-at-all"), 401, "unauthorized"),
        ("GET", show.clone(), Some(KEY), 200, ""),
        ("GET", show.clone(), Some(VIEWER), 200, ""),
        ("POST", take.clone(), Some(VIEWER), 403, "forbidden"),
        ("POST", format!("{approval}/approve"), Some(VIEWER), 403, "forbidden"),
        ("POST", format!("{approval}/approve"), Some(STRANGER), 404, "not_found"),
        ("GET", show.clone(), Some(STRANGER), 404, "not_found"),
        ("POST", take, Some(STRANGER), 404, "not_found"),
        ("GET", format!("{there}/sessions/{id}"), Some(STRANGER), 404, "not_found"),
        ("GET", format!("{there}/sessions"), Some(STRANGER), 200, ""),
        ("GET", format!("{there}/sessions"), Some(KEY), 404, "not_found"),
        ("GET", format!("/v1/events?session={id}"), Some(STRANGER), 404, "not_found"),
        ("GET", format!("{here}/sessions/nonsense"), Some(KEY), 404, "not_found"),
        ("GET", format!("/v1/orgs/bella/sessions/{id}"), Some(KEY), 200, ""),
        ("GET", format!("/v1/orgs/bella/sessions/{id}"), Some(STRANGER), 404, "not_found"),
        ("GET", "/v1/orgs/nobody/sessions".into(), Some(KEY), 404, "not_found"),
        ("GET", "/v1/orgs/%FF%FE/sessions".into(), Some(KEY), 400, "bad_request"),
        ("GET", format!("{here}/sessions/%FF%FE"), Some(KEY), 400, "bad_request"),
        ("GET", format!("{here}/sessions?limit=x"), Some(KEY), 400, "bad_request"),
        ("GET", format!("{here}/sessions?cursor=x"), Some(KEY), 400, "bad_request"),
        ("DELETE", show, Some(KEY), 405, "method_not_allowed"),
        ("GET", "/v2/nothing".into(), Some(KEY), 404, "not_found"),
        ("GET", "/healthz".into(), None, 200, ""),
        ("GET", "/readyz".into(), None, 200, ""),
    ];
    for (method, path, key, status, code) in table {
        let mut request = online.http.request(method.parse().unwrap(), online.url(&path));
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{method} {path} {key:?}");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        if status >= 400 {
            assert_eq!(problem(answer).await, (status, code.to_owned()), "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_or_malformed_is_refused() {
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 2, ADMIN, Role::Admin).await;
    let post = |body: String| {
        let request = online.http.post(online.url(&format!("/v1/orgs/{ORG}/knowledge")));
        request.bearer_auth(ADMIN).body(body).send()
    };
    let large = json!({"title": "t", "body": "x".repeat(1024 * 1024)}).to_string();
    let refused = post(large).await.unwrap();
    assert_eq!(refused.headers()["connection"], "close", "the rest of the body is not read");
    assert_eq!(problem(refused).await, (413, "too_large".into()));
    let bad = problem(post("{".into()).await.unwrap()).await;
    assert_eq!(bad, (400, "bad_request".into()));
    let token = online.visitor().await;
    let chat = online.post(&token, "1", &"x".repeat(16_001)).await;
    assert_eq!(problem(chat).await, (400, "bad_request".into()));
}

/// A stopping server ends its streams and no longer accepts connections.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_ends_its_streams() {
    let mut online = Online::new(ECHO).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    online.post(&token, "1", "hello").await;
    page.message().await;
    page.message().await;
    online.stop.send(true).unwrap();
    while page.next().await.is_some() {}
    while online.running.join_next().await.is_some() {}
    assert!(online.http.get(online.url("/healthz")).send().await.is_err());
}

/// O12: settings of an org are read and changed over HTTP, by the rules of `ostler settings`.
#[tokio::test(flavor = "multi_thread")]
async fn o12_settings_are_read_and_changed_over_http() {
    const ADMIN: &str = "osk_the-admin-of-bella-pizza-who-sets-things";
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    let platform = ostler_domain::org::Org {
        place: ostler_domain::org::OrgPlace::Platform,
        ..ostler_testkit::org(OTHER, "platform")
    };
    online.scenario.store.create_org(platform).await.unwrap();
    let call = |key: &'static str, body: Option<serde_json::Value>| {
        let url = online.url("/v1/orgs/bella/settings");
        let request = match body {
            Some(body) => online.http.patch(url).json(&body),
            None => online.http.get(url),
        };
        async move { request.bearer_auth(key).send().await.unwrap() }
    };
    let before: serde_json::Value = call(KEY, None).await.json().await.unwrap();
    assert!(before.as_object().is_some_and(|all| all.len() > 5), "{before}");
    let change = json!({"session_budget": {"cap": 80, "warning": 60}});
    let refused = call(KEY, Some(change.clone())).await;
    assert_eq!(problem(refused).await, (403, "forbidden".into()), "an operator configures nothing");
    let changed = call(ADMIN, Some(change)).await;
    let status = changed.status();
    let changed: serde_json::Value = changed.json().await.unwrap();
    assert_eq!(status, 200, "{changed}");
    assert_eq!(changed["session_budget"]["cap"], 80, "{changed}");
    let read: serde_json::Value = call(KEY, None).await.json().await.unwrap();
    assert_eq!(read, changed);
    let reset: serde_json::Value =
        call(ADMIN, Some(json!({"session_budget": null}))).await.json().await.unwrap();
    assert_ne!(reset["session_budget"]["cap"], 80, "null resets a setting: {reset}");
    for (body, status, code) in [
        (json!({"session_budget": {"cap": 10, "warning": 60}}), 422, "invalid"),
        (json!({"no_such_setting": 1}), 422, "invalid"),
        (json!({"session_budget": {"cap": "much"}}), 422, "invalid"),
        (json!([1]), 400, "bad_request"),
    ] {
        let refused = call(ADMIN, Some(body.clone())).await;
        assert_eq!(problem(refused).await, (status, code.to_owned()), "{body}");
    }
}

/// O12: what an org pays for its clients is read and changed over HTTP like its settings.
#[tokio::test(flavor = "multi_thread")]
async fn o12_sharing_caps_are_read_and_changed_over_http() {
    const ADMIN: &str = "osk_the-admin-of-bella-pizza-who-sets-things";
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    let platform = ostler_domain::org::Org {
        place: ostler_domain::org::OrgPlace::Platform,
        ..ostler_testkit::org(OTHER, "platform")
    };
    online.scenario.store.create_org(platform).await.unwrap();
    let url = online.url("/v1/orgs/bella/sharing");
    let change = |key: &'static str, body: serde_json::Value| {
        let request = online.http.patch(&url).json(&body).bearer_auth(key);
        async move { request.send().await.unwrap() }
    };
    let change_cap = json!({"max_per_child": 12, "max_total": 40});
    let refused = change(KEY, change_cap.clone()).await;
    assert_eq!(problem(refused).await, (403, "forbidden".into()), "an operator configures nothing");
    let changed = change(ADMIN, change_cap).await;
    assert_eq!(changed.status(), 200);
    let read = online.http.get(&url).bearer_auth(KEY).send().await.unwrap();
    let read: serde_json::Value = read.json().await.unwrap();
    assert_eq!((&read["max_per_child"], &read["max_total"]), (&json!(12), &json!(40)), "{read}");
    for body in
        [json!({"max_per_child": "much"}), json!({"notice_percent": 101}), json!({"cap": 1})]
    {
        let refused = change(ADMIN, body.clone()).await;
        assert_eq!(problem(refused).await, (422, "invalid".to_owned()), "{body}");
    }
}

/// O23: paths accept the end of an id, as commands do.
#[tokio::test(flavor = "multi_thread")]
async fn o23_the_end_of_an_id_is_enough_in_paths() {
    let online = Online::new(ECHO).await;
    let mut ids = Vec::new();
    while ids.len() < 3 {
        let name = format!("p{}", ids.len());
        online.scenario.write(&name, "hello").await;
        ids = loop {
            let sessions = online.scenario.sessions().await;
            if sessions.len() > ids.len() {
                break sessions.iter().map(|session| session.id.to_string()).collect();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        };
    }
    let get = |end: &str| {
        let url = online.url(&format!("/v1/orgs/bella/sessions/{end}"));
        online.http.get(url).bearer_auth(KEY).send()
    };
    let end_of = |id: &str, length: usize| id[id.len() - length..].to_owned();
    let shown: serde_json::Value = get(&end_of(&ids[0], 8)).await.unwrap().json().await.unwrap();
    assert_eq!(shown["session"]["id"], ids[0].as_str());
    assert_eq!(problem(get("x").await.unwrap()).await, (404, "not_found".into()));
}
