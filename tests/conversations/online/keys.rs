//! Who may ask, how much they may send, and how it all ends.

use ostler_domain::id::OrgId;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use serde_json::json;

use super::{KEY, Online, key, problem};
use crate::support::{ECHO, ORG};

const VIEWER: &str = "osk_a-viewer-of-bella-pizza-who-only-looks";
const STRANGER: &str = "osk_the-owner-of-quite-another-organization";
const OTHER: OrgId = OrgId::from_u128(0xa11);

/// Who asks is known by a key, which reaches its own org and as far as its role.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_reaches_its_org_and_no_further() {
    let online = Online::new(ECHO).await;
    let other = Org {
        id: OTHER,
        slug: "other".into(),
        name: "Other".into(),
        place: OrgPlace::TopLevel,
        plan: LicencePlan::Pro,
        sub_orgs_enabled: false,
        time_zone: "Europe/Rome".into(),
        retention_days: None,
    };
    online.scenario.store.create_org(other).await.unwrap();
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
    let table = [
        ("GET", show.clone(), None, 401, "unauthorized"),
        ("GET", show.clone(), Some("short"), 401, "unauthorized"),
        ("GET", show.clone(), Some("osk_nobody-has-this-key-nobody-at-all"), 401, "unauthorized"),
        ("GET", show.clone(), Some(KEY), 200, ""),
        ("GET", show.clone(), Some(VIEWER), 200, ""),
        ("POST", take.clone(), Some(VIEWER), 403, "forbidden"),
        ("GET", show.clone(), Some(STRANGER), 404, "not_found"),
        ("POST", take, Some(STRANGER), 404, "not_found"),
        ("GET", format!("{there}/sessions/{id}"), Some(STRANGER), 404, "not_found"),
        ("GET", format!("{there}/sessions"), Some(STRANGER), 200, ""),
        ("GET", format!("{there}/sessions"), Some(KEY), 404, "not_found"),
        ("GET", format!("/v1/events?session={id}"), Some(STRANGER), 404, "not_found"),
        ("GET", format!("{here}/sessions/nonsense"), Some(KEY), 404, "not_found"),
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
async fn what_is_too_large_or_cannot_be_read_is_refused() {
    let online = Online::new(ECHO).await;
    let post = |body: String| {
        let request = online.http.post(online.url(&format!("/v1/orgs/{ORG}/knowledge")));
        request.bearer_auth(KEY).body(body).send()
    };
    let large = json!({"title": "t", "body": "x".repeat(1024 * 1024)}).to_string();
    assert_eq!(problem(post(large).await.unwrap()).await, (413, "too_large".into()));
    let bad = problem(post("{".into()).await.unwrap()).await;
    assert_eq!(bad, (400, "bad_request".into()));
    let token = online.visitor().await;
    let chat = online.post(&token, "1", &"x".repeat(16_001)).await;
    assert_eq!(problem(chat).await, (400, "bad_request".into()));
}

/// A server that stops ends its streams, and is gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_ends_its_streams() {
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
