//! Links to set a password, log-ins of users, and keys.

use serde_json::{Value, json};

use crate::demo::DemoInstallation;

/// S12: a new key expires after 90 days; scopes narrow it, and a listing shows them.
#[test]
fn s12_a_new_key_expires_after_90_days() {
    let demo = DemoInstallation::new();
    let now = jiff::Timestamp::now();
    let create =
        |words: &[&str]| demo.json(&[&["key", "create", "ci", "--org", "bella"], words].concat());
    let days = |key: &Value| {
        let expires = key["expires_at"].as_str().expect("an expiry");
        let expires: jiff::Timestamp = expires.parse().expect("a time");
        // The creation takes a moment after `now`.
        expires.duration_since(now).as_secs() / 86_400
    };
    assert_eq!(days(&create(&[])), 90);
    assert_eq!(days(&create(&["--days", "7"])), 7);
    let scoped = ["--never-expires", "--scope", "sessions:read,knowledge:write"];
    let scopes = json!(["knowledge:write", "sessions:read"]);
    let created = create(&scoped);
    assert_eq!((&created["expires_at"], &created["scopes"]), (&Value::Null, &scopes));
    let listed = demo.json(&["key", "ls", "--org", "bella"]);
    let all: Vec<&Value> =
        listed.as_array().expect("a list").iter().map(|key| &key["scopes"]).collect();
    assert_eq!(all, [&json!([]), &json!([]), &scopes]);
    let shown = demo.run(&["key", "ls", "--org", "bella"]);
    assert!(shown.contains("knowledge:write") && shown.contains("never"), "{shown}");
    let wrong = demo.error(&["key", "create", "ci", "--org", "bella", "--scope", "sessions"]);
    assert!(wrong.contains("`sessions` is not a scope"), "{wrong}");
}

/// S13: members without a password get a link; a new link and the end of log-ins are for
/// existing accounts.
#[test]
fn s13_links_to_set_a_password_are_printed_once() {
    let demo = DemoInstallation::new();
    let add = ["member", "add", "ada@x.org", "--role", "admin", "--org", "bella"];
    let added = demo.json(&add);
    let link = added["password_link"]["link"].as_str().expect("a link");
    assert!(link.starts_with("http://127.0.0.1:7470/v1/activate?code=osp_"), "{link}");
    let again = demo.run(&["user", "invite", "ada@x.org"]);
    assert!(again.starts_with("http://") && again.trim() != link, "{again}");
    assert!(demo.run(&["user", "sessions", "ada@x.org"]).contains("not logged in anywhere"));
    assert_eq!(demo.json(&["user", "log-out", "ada@x.org"])["ended"], 0);
    let unknown = demo.error(&["user", "invite", "bob@x.org"]);
    assert!(unknown.contains("no user has the id or e-mail address `bob@x.org`"), "{unknown}");
    let audit = demo.run(&["audit", "ls", "--org", "platform"]);
    assert!(audit.contains("create_password_code") && !audit.contains("osp_"), "{audit}");
}
