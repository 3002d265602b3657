//! Commands of operators: integrations, keys, takeovers.

use crate::demo::DemoInstallation;

/// The tools of Unsplash are active once an org has connected it; the key itself is never
/// stored or printed.
#[test]
fn a_service_is_connected_by_a_reference_to_its_key() {
    let demo = DemoInstallation::new();
    let said = demo.error(&["integration", "connect", "unsplash", "--org", "bella"]);
    assert!(
        said.contains("set OSTLER_SECRET_ORG_") && said.contains("UNSPLASH_ACCESS_KEY"),
        "{said}"
    );
    let connect = ["integration", "connect", "unsplash", "--org", "bella", "--secret"];
    let theirs = demo.error(&[&connect[..], &["env:PATH"]].concat());
    assert!(theirs.contains("does not belong to this organization"), "{theirs}");
    demo.write_secret("bella", "unsplash", "a-key\n");
    assert!(
        demo.run(&[&connect[..], &["file:unsplash"]].concat()).contains("unsplash is connected")
    );
    let listed = demo.run(&["integration", "ls", "--org", "bella"]);
    assert!(!listed.contains("a-key"), "{listed}");
    let explained = demo.json(&["tools", "explain", "--session", "rosa", "--agent", "luca"]);
    let tools = explained["tools"].as_array().expect("a list");
    let unsplash = tools.iter().find(|one| one["name"] == "search_unsplash_images");
    assert_eq!(unsplash.expect("the tool is there")["state"], "active");
    demo.run(&["integration", "disconnect", "unsplash", "--org", "bella"]);
    let tools = demo.run(&["tools", "ls", "--org", "bella"]);
    assert!(tools.contains("not connected: ostler integration connect unsplash"), "{tools}");
    let said = demo.error(&["integration", "connect", "stripe", "--org", "bella"]);
    assert!(said.contains("no tool uses `stripe`; services that can be connected: payments"));
}

#[test]
fn a_key_is_shown_only_once_and_can_be_revoked() {
    let demo = DemoInstallation::new();
    let create = ["key", "create", "night shift", "--org", "bella", "--role", "viewer"];
    let secret = demo.run(&create);
    assert!(secret.starts_with("osk_") && secret.trim().len() > 32, "{secret}");
    let listed = demo.run(&["key", "ls", "--org", "bella"]);
    assert!(listed.contains("night shift") && listed.contains("viewer"), "{listed}");
    assert!(!listed.contains(secret.trim()), "{listed}");
    let keys = demo.json(&["key", "ls", "--org", "bella"]);
    let id = keys[0]["id"].as_str().expect("an id").to_owned();
    demo.run(&["key", "revoke", &id, "--org", "bella"]);
    assert!(demo.run(&["key", "ls", "--org", "bella"]).contains("revoked"));
    let said = demo.error(&["key", "create", "x", "--org", "bella", "--role", "king"]);
    assert!(said.contains("use owner, admin, operator, viewer"), "{said}");
}

#[test]
fn agents_do_not_answer_while_a_conversation_is_paused() {
    let demo = DemoInstallation::new();
    demo.run(&["send", "hello", "--org", "bella", "--contact", "otto"]);
    assert!(demo.run(&["session", "pause", "otto"]).contains("taken over"));
    let silent = demo.run(&["send", "are you there?", "--org", "bella", "--contact", "otto"]);
    assert!(!silent.contains("Gia"), "{silent}");
    demo.run(&["session", "resume", "otto"]);
    let again = demo.run(&["send", "thanks", "--org", "bella", "--contact", "otto"]);
    assert!(again.contains("Gia"), "{again}");
}

/// What programs read is data, not screen text.
#[test]
fn approvals_and_ledger_lines_are_data_in_json() {
    let demo = DemoInstallation::new();
    let approvals = demo.json(&["approval", "ls", "--org", "bella"]);
    let approval = &approvals[0];
    assert_eq!(approval["arguments"]["order"], "1234", "{approval}");
    assert_eq!(
        (&approval["risk"], &approval["status"]),
        (&"destructive".into(), &"pending".into())
    );
    assert!(approval["expires_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{approval}");
    let lines = demo.json(&["credit", "lines", "--org", "bella"]);
    let lines = lines.as_array().expect("a list");
    let spent = lines.iter().find(|line| line["kind"] == "expense").expect("an expense");
    assert_eq!((&spent["expense"]["bearer"], &spent["amount"]), (&"own".into(), &1.into()));
    assert!(spent["expense"]["tool"].is_null(), "a model call: {spent}");
    let granted = lines.iter().find(|line| line["pool"] == "purchased").expect("a grant");
    assert_eq!((&granted["kind"], &granted["amount"]), (&"grant".into(), &300.into()));
}
