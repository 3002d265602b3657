//! `ostler agent ls` and `ostler agent show`.

use serde_json::json;

use crate::demo::DemoInstallation;

/// O09: agents that answer people are listed beside those on queues, and shown with all that
/// is configured.
#[test]
fn o09_agents_are_listed_and_shown_with_their_configuration() {
    let demo = DemoInstallation::new();
    let listed = demo.run(&["agent", "ls", "--org", "bella"]);
    assert!(listed.contains("bella  gia    customer_service"), "{listed}");
    let (answering, queues) = listed.split_once("on queues").expect("two lists");
    assert!(answering.contains("semi_autonomous") && queues.contains("shared"), "{listed}");
    let all = demo.json(&["agent", "ls"]);
    let gia = all
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["slug"] == "gia" || one["name"] == "gia");
    let runs_on: Vec<_> = gia.map(|one| one["runs_on"].clone()).collect();
    assert_eq!(runs_on, ["conversations", "queue"]);
    let queued = demo.json(&["agent", "ls", "--queues"]);
    assert!(queued.as_array().expect("a list").iter().all(|one| one["runs_on"] == "queue"));

    demo.run(&[
        "agent",
        "set",
        "gia",
        "--org",
        "bella",
        "models=[\"a/one\", \"b/two\"]",
        "limits.max_messages_per_day=50",
        "tools.deny=[\"delete_contact\"]",
    ]);
    let shown = demo.run(&["agent", "show", "Gia"]);
    for part in [
        "gia of bella (Bella Pizza)",
        "customer_service, business layer 4",
        "a/one, then b/two",
        "profile support; without delete_contact",
        "asks before     create_contact",
        "blocked topics  medical advice",
        "50 messages and $5.00 a day",
        "channels        webchat",
        "gia on queues",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let json = demo.json(&["agent", "show", "gia"]);
    assert_eq!(json["limits"], json!({"max_messages_per_day": 50, "max_cents_per_day": 500}));
    assert_eq!(
        (&json["models"], &json["autonomy"]),
        (&json!(["a/one", "b/two"]), &json!("semi_autonomous"))
    );
    assert_eq!(
        (&json["channels"][0]["channel"], &json["business_layer"]),
        (&json!("webchat"), &json!(4))
    );
    assert!(demo.run(&["agent", "show", "quinn"]).contains("a system agent; only platform admins"));

    demo.run(&["agent", "archive", "luca", "--org", "bella", "--yes"]);
    assert!(!demo.run(&["agent", "ls", "--org", "bella"]).contains("luca   pm"));
    assert!(demo.run(&["agent", "ls", "--org", "bella", "--all"]).contains("archived"));
    assert!(demo.error(&["agent", "show", "zed"]).contains("no agent `zed`"));
}

/// O09: an agent is edited as a file; a mistake in it changes nothing.
#[test]
fn o09_an_agent_is_edited_in_an_editor() {
    let demo = DemoInstallation::new();
    let editor = std::path::Path::new(&demo.home()).join("editor.sh");
    let edit = |change: &str| {
        std::fs::write(&editor, format!("sed -i '{change}' \"$1\"\n")).expect("a script");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(["agent", "edit", "gia", "--org", "bella", "--yes", "--home", &demo.home()])
            .env("EDITOR", format!("sh {}", editor.display()))
            .output()
            .expect("ostler runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).expect("text"))
    };
    let (changed, said) = edit("s/^autonomy = .*/autonomy = \"supervised\"/");
    assert!(changed && said.contains("autonomy"), "{said}");
    assert_eq!(demo.json(&["agent", "show", "gia"])["autonomy"], "supervised");
    let (changed, said) = edit("s/^autonomy = .*/autonomy = \"autonomous\"/");
    assert!(!changed && said.contains("cannot be autonomous"), "{said}");
    assert_eq!(demo.json(&["agent", "show", "gia"])["autonomy"], "supervised");
}
