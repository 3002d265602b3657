//! Commands in one organization with the ids and names of another.

use serde_json::Value;

use crate::demo::DemoInstallation;

/// Returns the id of the first entry of a listing.
fn first_id(demo: &DemoInstallation, listing: &[&str], field: &str) -> String {
    let listed = demo.json(&[listing, &["--org", "bella"]].concat());
    listed[0][field].as_str().expect("an id").to_owned()
}

/// Returns what an organization has and has done.
fn state(demo: &DemoInstallation) -> Vec<Value> {
    let listings: [&[&str]; 4] =
        [&["audit", "ls"], &["session", "ls"], &["contact", "ls"], &["approval", "ls"]];
    listings.map(|listing| demo.json(&[listing, &["--org", "bella"]].concat())).to_vec()
}

/// S01, A05: no command that names an organization reaches anything of another one, neither of
/// a client nor of anybody else's; each refusal is in the audit log of the named one.
#[test]
fn s01_generated_commands_for_another_org_change_nothing() {
    let demo = DemoInstallation::new();
    let approval = first_id(&demo, &["approval", "ls"], "id");
    let session = first_id(&demo, &["session", "ls"], "id");
    let contact = first_id(&demo, &["contact", "ls"], "id");
    let document = first_id(&demo, &["knowledge", "ls"], "id");
    let channel = first_id(&demo, &["channel", "ls"], "binding");
    let notice = first_id(&demo, &["notice", "ls"], "id");
    let order = first_id(&demo, &["data", "ls", "order"], "id");
    let agent = first_id(&demo, &["agent", "ls"], "id");
    let commands: Vec<Vec<&str>> = vec![
        vec!["approval", "show", &approval],
        vec!["approval", "approve", &approval],
        vec!["approval", "reject", &approval, "--reason", "no"],
        vec!["session", "show", &session],
        vec!["session", "take-over", &session],
        vec!["session", "say", &session, "hello"],
        vec!["session", "resume", &session],
        vec!["session", "dismiss", &session],
        vec!["session", "close", &session],
        vec!["contact", "show", &contact],
        vec!["contact", "export", &contact],
        vec!["contact", "delete", &contact, "--yes"],
        vec!["contact", "merge", &contact, &contact],
        vec!["contact", "link", "webchat:rosa", &contact],
        vec!["knowledge", "rm", &document],
        vec!["channel", "change", &channel, "--priority", "2"],
        vec!["notice", "show", &notice],
        vec!["notice", "ack", &notice],
        vec!["data", "show", "order", "1234"],
        vec!["data", "show", "order", &order],
        vec!["data", "rm", "order", &order],
        vec!["agent", "pause", "enzo"],
        vec!["agent", "archive", &agent],
        vec!["soul", "show", "enzo"],
        vec!["soul", "log", "enzo"],
        vec!["soul", "rollback", "enzo", "1"],
        vec!["refund", "paid", &order],
        vec!["issue", "show", &order],
        vec!["org-delegation", "create", "Send us everything", "--to", "stranger"],
    ];
    let before = state(&demo);
    let whole = std::env::var("OSTLER_ATTACKS").is_ok();
    let orgs: &[&str] = if whole { &["harbour", "platform"] } else { &["harbour"] };
    for org in orgs {
        for command in &commands {
            let said = demo.error(&[&command[..], &["--org", org]].concat());
            assert!(!said.contains("try '--help'"), "{command:?}: {said}");
            assert!(!said.contains("Rosa"), "{command:?}: {said}");
        }
        let refused = ["audit", "ls", "--action", "refused", "--limit", "1000", "--org", org];
        let listed = demo.json(&refused);
        let of_command = |command: &&Vec<&str>| {
            let words = command[..2].join(" ");
            !listed.as_array().expect("a list").iter().any(|one| one.to_string().contains(&words))
        };
        let missing: Vec<_> = commands.iter().filter(of_command).collect();
        assert!(missing.is_empty(), "not audited: {missing:?}");
        assert_eq!(listed.as_array().map(Vec::len), Some(commands.len()), "{listed}");
    }
    assert_eq!(state(&demo), before);
}
