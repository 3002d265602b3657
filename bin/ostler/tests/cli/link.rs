//! `ostler link` and `ostler deep-link`.

use serde_json::json;

use crate::demo::DemoInstallation;

/// L14: a linking code is shown once and stored as a hash; nothing is linked until somebody
/// sends it.
#[test]
fn l14_a_linking_code_is_shown_once() {
    let demo = DemoInstallation::new();
    demo.run(&["member", "add", "ada@x.org", "--role", "owner", "--org", "bella"]);
    let made = demo.json(&["link", "create", "ada@x.org"]);
    let code = made["code"].as_str().expect("a code");
    assert!(code.starts_with("osl_") && code.len() <= 64, "{code}");
    assert!(demo.run(&["link", "ls"]).contains("no account is linked"));
    let nobody = demo.error(&["link", "create", "bob@x.org"]);
    assert!(nobody.contains("no user has the id or e-mail address `bob@x.org`"), "{nobody}");
    let none = demo.error(&["link", "revoke", "77"]);
    assert!(none.contains("no linked account has this identifier or user: `77`"), "{none}");
    let audit = demo.run(&["audit", "ls", "--org", "platform", "--json"]);
    assert!(audit.contains("create_link_code") && !audit.contains(code), "{audit}");
}

/// L34: a deep link is shown once, listed without its secret, and revoked.
#[test]
fn l34_a_deep_link_is_created_listed_and_revoked() {
    let demo = DemoInstallation::new();
    let made = demo.json(&["deep-link", "create", "--org", "bella", "--days", "7"]);
    let start = made["start"].as_str().expect("a token");
    assert!(start.len() <= 64, "{start}");
    let listed = demo.json(&["deep-link", "ls", "--org", "bella"]);
    assert_eq!((&listed[0]["id"], &listed[0]["revoked_at"]), (&made["id"], &json!(null)));
    assert!(!listed.to_string().contains(start));
    let id = made["id"].as_str().expect("an id");
    demo.run(&["deep-link", "revoke", id, "--org", "bella"]);
    assert!(demo.run(&["deep-link", "ls", "--org", "bella"]).contains("revoked"));
    let unknown = demo.error(&["deep-link", "create", "--org", "bella", "--agent", "nobody"]);
    assert!(unknown.contains("nobody"), "{unknown}");
}
