//! `ostler audit`, and that every change is in it once.

use serde_json::{Value, json};

use crate::demo::DemoInstallation;

fn entries(demo: &DemoInstallation, more: &[&str]) -> Vec<Value> {
    let listed = demo.json(&[&["audit", "ls", "--limit", "1000"], more].concat());
    listed.as_array().expect("a list").clone()
}

/// O15: each command that changes something leaves one entry, and a repeat that changes
/// nothing leaves none.
#[test]
fn o15_every_change_is_recorded_once() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the file is written");
        path.to_string_lossy().into_owned()
    };
    let note = file("note.md", "We close on Mondays.");
    let products = file("products.csv", "sku,name\nC-1,Calzone\n");
    let people = file("people.csv", "name,email\nOtto,otto@x.de\nMara,mara@x.de\n");
    demo.write_secret("bella", "unsplash", "a-key\n");
    demo.run(&["send", "hello", "--org", "bella", "--contact", "otto"]);
    let approval = demo.json(&["approval", "ls", "--org", "bella"])[0]["id"].clone();
    let approval = approval.as_str().expect("an id");
    let key =
        || demo.json(&["key", "ls", "--org", "bella"])[0]["id"].as_str().expect("an id").to_owned();
    let document = || {
        let listed = demo.json(&["knowledge", "ls", "--org", "bella"]);
        listed[0]["id"].as_str().expect("an id").to_owned()
    };
    let mut known = entries(&demo, &[]).len();
    let mut check = |words: &[&str], org: &[&str], action: Option<&str>| {
        demo.run(&[words, org].concat());
        let found = entries(&demo, &[]);
        assert_eq!(found.len(), known + usize::from(action.is_some()), "{words:?}: {found:?}");
        if let Some(action) = action {
            assert_eq!(found[0]["action"], action, "{words:?}");
            assert_eq!(found[0]["actor"], "terminal", "{words:?}");
        }
        known = found.len();
    };
    let bella = &["--org", "bella"][..];
    check(&["member", "add", "ada@x.org", "--role", "owner"], bella, Some("add_member"));
    check(&["member", "set", "ada@x.org", "--role", "owner"], bella, None);
    check(&["member", "invite", "t@x.org", "--role", "viewer"], bella, Some("invite_member"));
    check(&["member", "remove", "t@x.org"], bella, Some("withdraw_invitation"));
    check(&["member", "add", "t@x.org", "--role", "viewer"], bella, Some("add_member"));
    check(&["member", "set", "t@x.org", "--role", "admin"], bella, Some("set_member_role"));
    check(&["member", "remove", "t@x.org"], bella, Some("remove_member"));
    check(&["user", "set", "ada@x.org", "--name", "Ada"], &[], Some("change_user"));
    check(&["user", "set", "ada@x.org", "--name", "Ada"], &[], None);
    check(&["key", "create", "shift"], bella, Some("create_key"));
    check(&["key", "revoke", &key()], bella, Some("revoke_key"));
    check(&["key", "revoke", &key()], bella, None);
    let connect = ["integration", "connect", "unsplash", "--secret", "file:unsplash"];
    check(&connect, bella, Some("connect_integration"));
    check(&["integration", "disconnect", "unsplash"], bella, Some("disconnect_integration"));
    check(&["knowledge", "add", &note], bella, Some("add_document"));
    check(&["knowledge", "rm", &document()], bella, Some("remove_document"));
    let grant = ["credit", "grant", "5", "--reference", "gift"];
    check(&grant, bella, Some("grant_credits"));
    check(&grant, bella, None);
    let import = ["data", "import", &products, "--kind", "products"];
    check(&import, bella, Some("import_data"));
    check(&import, bella, None);
    check(&["data", "rm", "product", "C-1"], bella, Some("remove_data"));
    check(&["data", "import", &people, "--kind", "contacts"], bella, Some("import_data"));
    check(&["contact", "merge", "Otto", "Mara"], bella, Some("merge_contacts"));
    check(&["contact", "delete", "otto@x.de", "--yes"], bella, Some("contact_deleted"));
    check(&["session", "pause", "otto"], &[], Some("take_over"));
    check(&["session", "say", "otto", "one moment"], &[], Some("human_message"));
    check(&["session", "resume", "otto"], &[], Some("resume"));
    check(&["session", "assign", "otto", "--agents", "gia,enzo"], &[], Some("assign_team"));
    check(&["session", "close", "otto"], &[], Some("close_session"));
    check(&["approval", "reject", approval, "--reason", "no"], bella, Some("reject"));
    let workflow = ["workflow", "signal", "paid", "--payload", "{}"];
    check(&workflow, bella, Some("publish_event"));
}

/// O15: entries have names, the state before and after, and are found by all filters.
#[test]
fn o15_entries_are_filtered_and_named() {
    let demo = DemoInstallation::new();
    demo.run(&[
        "member",
        "add",
        "ada@x.org",
        "--name",
        "Ada",
        "--role",
        "viewer",
        "--org",
        "bella",
    ]);
    demo.run(&["member", "set", "ada@x.org", "--role", "owner", "--org", "bella"]);
    demo.run(&["member", "add", "ada@x.org", "--role", "viewer", "--org", "harbour"]);
    let all = entries(&demo, &["--org", "bella", "--object", "ada@x.org"]);
    assert_eq!(all.len(), 2, "{all:?}");
    let newest = &all[0];
    assert_eq!(
        (&newest["before"]["role"], &newest["after"]["role"]),
        (&json!("viewer"), &json!("owner"))
    );
    assert_eq!((&newest["object_name"], &newest["org"]), (&json!("Ada"), &json!("bella")));
    assert!(newest["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{newest}");
    let count = |more: &[&str]| entries(&demo, more).len();
    let all = entries(&demo, &[]);
    let by_agents = all.iter().filter(|entry| entry["actor"] != "terminal").count();
    let every = all.len();
    assert_eq!(count(&["--actor", "terminal"]), every - by_agents, "of all orgs");
    assert_eq!(count(&["--actor", "ada@x.org"]), 0);
    assert_eq!(count(&["--action", "add_member"]), 2);
    assert_eq!(count(&["--object", "ada@x.org", "--org", "bella"]), 2);
    assert_eq!(count(&["--since", "1h"]), every);
    assert_eq!(count(&["--until", "1h"]), 0);
    let shown = demo.run(&["audit", "ls", "--org", "bella", "--limit", "1"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].contains("terminal") && lines[1].contains("set_member_role"), "{shown}");
    assert_eq!(lines[2].trim(), "role: viewer → owner");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let nobody = demo.error(&["audit", "ls", "--actor", "nobody"]);
    assert!(nobody.contains("no actor `nobody`"), "{nobody}");
}
