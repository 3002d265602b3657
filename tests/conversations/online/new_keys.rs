//! API keys that are created over HTTP: by whom, with which rights, and shown once.

use ostler_domain::id::KeyId;
use ostler_domain::org::role::Role;
use serde_json::{Value, json};

use super::{KEY, Online, key, problem};
use crate::support::{ECHO, ORG};

const ADMIN: &str = "osk_an-admin-of-bella-pizza-who-makes-keys";
const SECOND: &str = "osk_another-admin-of-bella-pizza-who-looks";
const OWNER: &str = "osk_the-owner-of-bella-pizza-makes-keys-too";

/// Creates a key as somebody, with an idempotency key.
async fn create(online: &Online, by: &str, once: &str, body: Value) -> reqwest::Response {
    let request = online.http.post(online.url("/v1/orgs/bella/keys")).bearer_auth(by);
    request.header("idempotency-key", once).json(&body).send().await.unwrap()
}

/// U12, S12: an admin creates a key over HTTP. It works within its rights, it is audited, and
/// its secret is in one answer: nobody gets it later, neither by a list nor by repeating the
/// request with its idempotency key.
#[tokio::test(flavor = "multi_thread")]
async fn u12_a_key_is_created_over_http_and_shown_once() {
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    key(&online.scenario, ORG, 6, SECOND, Role::Admin).await;
    let body = json!({"name": "importer", "role": "admin", "scopes": ["knowledge:read", "knowledge:write"], "days": 30});
    let created = create(&online, ADMIN, "k-1", body.clone()).await;
    assert_eq!(created.status(), 201);
    let created: Value = created.json().await.unwrap();
    let secret = created["secret"].as_str().unwrap();
    assert!(secret.starts_with("osk_") && secret.len() >= 68, "{}", secret.len());
    assert_eq!(created["scopes"], json!(["knowledge:read", "knowledge:write"]));
    let lifetime = created["expires_at"].as_i64().unwrap() - online.scenario.now().as_millis();
    assert!((lifetime - 30 * 86_400_000).abs() < 60_000, "{lifetime}");

    let get = async |by: &str, path: &str| {
        let url = online.url(&format!("/v1/orgs/bella/{path}"));
        online.http.get(url).bearer_auth(by).send().await.unwrap()
    };
    assert_eq!(get(secret, "knowledge").await.status(), 200);
    assert_eq!(get(secret, "settings").await.status(), 403);

    let repeated = problem(create(&online, ADMIN, "k-1", body.clone()).await).await;
    assert_eq!(repeated, (409, "in_progress".into()), "a repeat creates and tells nothing");
    let other = create(&online, SECOND, "k-1", body).await;
    assert_eq!(other.status(), 201, "somebody else's idempotency key is their own");
    let listed = get(ADMIN, "keys").await.text().await.unwrap();
    let audit = get(ADMIN, "audit").await.text().await.unwrap();
    assert!(listed.contains("importer") && audit.contains("create_key"), "{listed}\n{audit}");
    for text in [&listed, &audit] {
        assert!(!text.contains(secret), "{text}");
    }
    let keys = online.scenario.org().keys(None, 100).await.unwrap();
    assert_eq!(keys.iter().filter(|one| one.name == "importer").count(), 2);
    let url = online.url(&format!("/v1/orgs/bella/keys/{}", created["id"].as_str().unwrap()));
    assert_eq!(online.http.delete(url).bearer_auth(ADMIN).send().await.unwrap().status(), 204);
    assert_eq!(get(secret, "knowledge").await.status(), 401);
}

/// U12, S12: nobody makes a key with more rights than their own, by role, scopes or time.
#[tokio::test(flavor = "multi_thread")]
async fn u12_nobody_creates_a_key_with_more_rights_than_their_own() {
    const SCOPED: &str = "osk_a-key-that-makes-keys-and-nothing-else";
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    key(&online.scenario, ORG, 6, OWNER, Role::Owner).await;
    let scoped = ostler_store::NewApiKey {
        id: KeyId::from_u128(77),
        name: "scoped".into(),
        role: Role::Admin,
        scopes: "keys:write knowledge:read".parse().unwrap(),
        expires_at: Some(
            // The clock of the scenario is behind that of the database.
            online.scenario.now() + ostler_domain::org::key_scope::key_lifetime(40),
        ),
    };
    online.scenario.org().create_key(scoped, &SCOPED.parse().unwrap()).await.unwrap();
    let own = ["keys:read", "knowledge:read"];
    let table = [
        (KEY, json!({"name": "n", "role": "viewer"}), 403),
        (ADMIN, json!({"name": "n", "role": "admin"}), 201),
        (ADMIN, json!({"name": "n", "role": "owner"}), 403),
        (OWNER, json!({"name": "n", "role": "owner", "never_expires": true}), 201),
        (OWNER, json!({"name": "n", "role": "platform_admin"}), 403),
        (SCOPED, json!({"name": "n", "role": "viewer"}), 403),
        (SCOPED, json!({"name": "n", "role": "viewer", "scopes": ["*:read"]}), 403),
        (SCOPED, json!({"name": "n", "role": "viewer", "scopes": ["knowledge:write"]}), 403),
        (SCOPED, json!({"name": "n", "role": "viewer", "scopes": own}), 201),
        (SCOPED, json!({"name": "n", "role": "viewer", "scopes": own, "days": 41}), 403),
        (SCOPED, json!({"name": "n", "role": "viewer", "scopes": own, "never_expires": true}), 403),
        (SCOPED, json!({"name": "n", "role": "viewer", "scopes": own, "days": 39}), 201),
        (ADMIN, json!({"name": " ", "role": "viewer"}), 422),
        (ADMIN, json!({"name": "n".repeat(300), "role": "viewer"}), 422),
        (ADMIN, json!({"name": "n", "role": "viewer", "days": 0}), 422),
        (ADMIN, json!({"name": "n", "role": "viewer", "days": 9, "never_expires": true}), 422),
        (ADMIN, json!({"name": "n", "role": "viewer", "scopes": ["sessions"]}), 400),
    ];
    for (number, (by, body, status)) in table.into_iter().enumerate() {
        let created = create(&online, by, &format!("k-{number}"), body.clone()).await;
        assert_eq!(created.status(), status, "{by}: {body}");
    }
    let keys = online.scenario.org().keys(None, 100).await.unwrap();
    let ends = keys.iter().find(|one| one.id == KeyId::from_u128(77)).unwrap().expires_at;
    let made: Vec<_> = keys.iter().filter(|one| one.scopes.to_string().contains("keys")).collect();
    assert_eq!(made.len(), 3, "{keys:?}");
    assert!(made.iter().all(|one| one.expires_at.is_some() && one.expires_at <= ends), "{made:?}");
}
