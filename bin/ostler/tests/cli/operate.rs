//! What an operator sets up and sees.

use std::path::Path;

use crate::demo::Played;

/// The owner's notices are a list, whatever chat the owner has.
#[test]
fn notices_are_listed_until_they_are_read() {
    let played = Played::new();
    let shown = played.run(&["notice", "ls", "--org", "bella"]);
    for part in [
        "Gia handed over to Enzo: a charge that is not right",
        "Enzo wants to call refund_payment(amount: 10.00, order: 1234",
        "a customer needs a person: asked for a person",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let listed = played.json(&["notice", "ls", "--org", "bella"]);
    let first = listed[0]["id"].as_str().expect("an id").to_owned();
    played.run(&["notice", "read", &first, "--org", "bella"]);
    let left = played.json(&["notice", "ls", "--org", "bella"]);
    assert_eq!(left.as_array().expect("a list").len(), 2);
    assert_eq!(played.run(&["notice", "read", "--all", "--org", "bella"]), "2 notices are read\n");
    assert!(played.run(&["notice", "ls", "--org", "bella"]).contains("has read all there is"));
}

/// Unsplash is there once an org has connected it, with a key that is
/// named and never written down.
#[test]
fn a_service_is_connected_by_the_place_of_its_key() {
    let played = Played::new();
    let said = played.refused(&["integration", "connect", "unsplash", "--org", "bella"]);
    assert!(
        said.contains("set OSTLER_SECRET_ORG_") && said.contains("UNSPLASH_ACCESS_KEY"),
        "{said}"
    );
    let connect = ["integration", "connect", "unsplash", "--org", "bella", "--secret"];
    let theirs = played.refused(&[&connect[..], &["env:PATH"]].concat());
    assert!(theirs.contains("is no secret of this organization"), "{theirs}");
    let key = Path::new(&played.home()).join("secrets/org_00000000000000000000000003/unsplash");
    std::fs::write(&key, "a-key\n").expect("the key is written");
    let own = format!("file:{}", key.display());
    assert!(played.run(&[&connect[..], &[&own]].concat()).contains("unsplash is connected"));
    let listed = played.run(&["integration", "ls", "--org", "bella"]);
    assert!(!listed.contains("a-key"), "{listed}");
    let explained = played.json(&["tools", "explain", "--session", "rosa", "--agent", "luca"]);
    let tools = explained["tools"].as_array().expect("a list");
    let unsplash = tools.iter().find(|one| one["name"] == "search_unsplash_images");
    assert_eq!(unsplash.expect("the tool is there")["state"], "active");
    played.run(&["integration", "disconnect", "unsplash", "--org", "bella"]);
    let tools = played.run(&["tools", "ls", "--org", "bella"]);
    assert!(tools.contains("not connected: ostler integration connect unsplash"), "{tools}");
    let said = played.refused(&["integration", "connect", "stripe", "--org", "bella"]);
    assert!(said.contains("no tool here uses `stripe`; those that can be connected are: payments"));
}

/// A key is shown once, listed without its secret, and revoked.
#[test]
fn a_key_is_shown_once() {
    let played = Played::new();
    let create = ["key", "create", "night shift", "--org", "bella", "--role", "viewer"];
    let secret = played.run(&create);
    assert!(secret.starts_with("osk_") && secret.trim().len() > 32, "{secret}");
    let listed = played.run(&["key", "ls", "--org", "bella"]);
    assert!(listed.contains("night shift") && listed.contains("viewer"), "{listed}");
    assert!(!listed.contains(secret.trim()), "{listed}");
    let keys = played.json(&["key", "ls", "--org", "bella"]);
    let id = keys[0]["id"].as_str().expect("an id").to_owned();
    played.run(&["key", "revoke", &id, "--org", "bella"]);
    assert!(played.run(&["key", "ls", "--org", "bella"]).contains("revoked"));
    let said = played.refused(&["key", "create", "x", "--org", "bella", "--role", "king"]);
    assert!(said.contains("use owner, admin, operator, viewer"), "{said}");
}

/// Agents are silent from the moment somebody pauses a conversation.
#[test]
fn a_conversation_is_paused_and_goes_on() {
    let played = Played::new();
    played.run(&["send", "hello", "--org", "bella", "--contact", "otto"]);
    assert!(played.run(&["session", "pause", "otto"]).contains("yours"));
    let silent = played.run(&["send", "are you there?", "--org", "bella", "--contact", "otto"]);
    assert!(!silent.contains("Gia"), "{silent}");
    played.run(&["session", "resume", "otto"]);
    let again = played.run(&["send", "thanks", "--org", "bella", "--contact", "otto"]);
    assert!(again.contains("Gia"), "{again}");
}
