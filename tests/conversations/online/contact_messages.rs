//! Messages that staff write in the place of a contact, over HTTP.

use ostler_domain::org::role::Role;
use serde_json::{Value, json};

use super::{KEY, Online, key};
use crate::support::{ECHO, ORG};

const VIEWER: &str = "osk_a-viewer-of-bella-pizza-who-writes-nothing";
const OWNER: &str = "osk_the-owner-of-bella-pizza-who-writes-too";

async fn send(online: &Online, by: &str, body: &Value) -> (u16, Value) {
    let url = online.url("/v1/orgs/bella/contact-messages");
    let answer = online.http.post(url).bearer_auth(by).json(body).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

/// K02: an operator writes in the place of a contact. The agent answers, the message says that
/// staff wrote it, its sender is not proven, and the audit log has it. Only owners write as the
/// owner.
#[tokio::test(flavor = "multi_thread")]
async fn k02_a_message_in_the_place_of_a_contact_proves_nothing() {
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, VIEWER, Role::Viewer).await;
    key(&online.scenario, ORG, 6, OWNER, Role::Owner).await;
    let message = json!({"channel": "webchat", "contact": "otto", "text": "Are you open?"});
    assert_eq!(send(&online, VIEWER, &message).await.0, 403);
    let mut as_owner = message.clone();
    as_owner["as_owner"] = true.into();
    assert_eq!(send(&online, KEY, &as_owner).await.0, 403, "an operator is not the owner");
    assert_eq!(send(&online, OWNER, &as_owner).await.0, 202);
    for (field, value, status) in [
        ("channel", json!("pigeon"), 404),
        ("contact", json!(" "), 422),
        ("text", json!(" "), 422),
        ("files", json!([{"name": "x", "media_type": "text/plain", "data": "?"}]), 422),
    ] {
        let mut wrong = message.clone();
        wrong[field] = value;
        assert_eq!(send(&online, KEY, &wrong).await.0, status, "{wrong}");
    }
    let (status, accepted) = send(&online, KEY, &message).await;
    assert_eq!(status, 202, "{accepted}");
    let get = async |path: &str| -> Value {
        let url = online.url(&format!("/v1/orgs/bella/{path}"));
        online.http.get(url).bearer_auth(KEY).send().await.unwrap().json().await.unwrap()
    };
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let path = format!("contact-messages/{}/{}", word(&accepted["channel"]), word(&accepted["id"]));
    let session = loop {
        let reply = get(&path).await;
        if let Some(session) = reply["session"].as_str() {
            break session.to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let shown = get(&format!("sessions/{session}")).await;
    let author = &shown["messages"][0]["author"];
    assert_eq!(author["name"], "Otto (by staff)", "{shown}");
    assert_eq!(shown["session"]["contact"], Value::Null, "nobody is proven: {shown}");
    assert!(shown["messages"].as_array().unwrap().len() > 1, "the agent answered: {shown}");
    let audit = get("audit").await.to_string();
    assert!(audit.contains("write_as_contact") && !audit.contains("otto"), "{audit}");
}
