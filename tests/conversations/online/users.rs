//! People over HTTP: members with their links, invitations, and the platform's user accounts.

use ostler_domain::id::OrgId;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use serde_json::{Value, json};

use super::{KEY, Online, key};
use crate::support::{ECHO, ORG, org};

const PLATFORM: OrgId = OrgId::from_u128(0x9a7);
const ADMIN: &str = "osk_an-admin-of-bella-pizza-who-adds-people";
const ROOT: &str = "osk_the-platform-admin-who-looks-after-users";

/// Returns the status, the version and the body of the answer.
async fn send(
    online: &Online,
    by: &str,
    (method, path): (&str, &str),
    body: Value,
    version: Option<&str>,
) -> (u16, Option<String>, Value) {
    let url = online.url(&format!("/v1/orgs/{path}"));
    let request = online.http.request(method.parse().unwrap(), url).bearer_auth(by);
    let request = if body.is_null() { request } else { request.json(&body) };
    let request = match version {
        Some(version) => request.header("if-match", version),
        None => request,
    };
    let answer = request.send().await.unwrap();
    let tag = answer.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned());
    let status = answer.status().as_u16();
    (status, tag, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

/// K02, K09: people are added with a link, invited with a code and removed; the platform lists
/// user accounts and changes them, unless somebody else did meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn k02_people_are_invited_and_users_changed_over_http() {
    let online = Online::new(ECHO).await;
    let platform = org(PLATFORM, "platform", OrgPlace::Platform, LicencePlan::Enterprise);
    online.scenario.store.create_org(platform).await.unwrap();
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    key(&online.scenario, PLATFORM, 6, ROOT, Role::PlatformAdmin).await;

    let mia = json!({"email": "mia@x.org", "role": "operator", "password_link": true});
    let added = send(&online, ADMIN, ("POST", "bella/members"), mia, None).await;
    let link = added.2["password_link"]["link"].as_str().unwrap();
    assert_eq!((added.0, link.contains("/v1/activate?code=osp_")), (201, true), "{link}");
    let max = json!({"email": "max@x.org", "role": "viewer"});
    let added = send(&online, ADMIN, ("POST", "bella/members"), max, None).await;
    assert_eq!((added.0, &added.2["password_link"]), (201, &Value::Null));

    let tom = json!({"email": "tom@x.org", "role": "viewer", "days": 2});
    let refused = send(&online, KEY, ("POST", "bella/invitations"), tom.clone(), None).await;
    assert_eq!(refused.0, 403, "an operator invites nobody");
    let invited = send(&online, ADMIN, ("POST", "bella/invitations"), tom, None).await;
    let code = invited.2["code"].as_str().unwrap();
    assert_eq!((invited.0, code.starts_with("osi_")), (201, true));
    let used = json!({"code": code, "name": "Tom", "password": "a-long-password-9"});
    let used = online.http.post(online.url("/v1/activate")).json(&used).send().await.unwrap();
    assert_eq!(used.status(), 200, "the code is accepted");
    let owner = json!({"email": "o@x.org", "role": "owner"});
    let refused = send(&online, ADMIN, ("POST", "bella/invitations"), owner, None).await;
    assert_eq!(refused.0, 403, "an admin makes no owner");
    let removed = send(&online, ADMIN, ("DELETE", "bella/members/max@x.org"), Value::Null, None);
    let removed = removed.await;
    assert_eq!((removed.0, &removed.2["state"]), (200, &json!("removed")));

    let refused = send(&online, ADMIN, ("GET", "bella/users"), Value::Null, None).await;
    assert_eq!(refused.0, 403, "users are the platform's");
    let hidden = send(&online, ADMIN, ("GET", "platform/users"), Value::Null, None).await;
    assert_eq!(hidden.0, 404, "to others, the platform does not exist");
    let listed = send(&online, ROOT, ("GET", "platform/users"), Value::Null, None).await;
    assert!(listed.2.to_string().contains("mia@x.org"), "{}", listed.2);
    let path = "platform/users/mia@x.org";
    let (status, version, shown) = send(&online, ROOT, ("GET", path), Value::Null, None).await;
    assert_eq!((status, &shown["memberships"][0]["org"]), (200, &json!("bella")), "{shown}");
    let (name, stale) = (json!({"name": "Mia Rossi"}), Some("\"00000000\""));
    let lost = send(&online, ROOT, ("PATCH", path), name.clone(), stale).await;
    assert_eq!(lost.0, 412, "{}", lost.2);
    let changed = send(&online, ROOT, ("PATCH", path), name, version.as_deref()).await;
    assert_eq!((changed.0, &changed.2["name"]), (200, &json!("Mia Rossi")));
    assert_ne!(changed.1, version);
    let nobody = send(&online, ROOT, ("GET", "platform/users/no@x.org"), Value::Null, None).await;
    assert_eq!(nobody.0, 404);
}
