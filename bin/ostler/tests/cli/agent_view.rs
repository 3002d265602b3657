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

/// O09: what is opened in an editor and closed again stays as it is, also what stands in tables
/// of its own; nothing stays behind in the folder of temporary files.
#[test]
fn o09_an_editor_that_changes_nothing_changes_nothing() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let soul = folder.path().join("SOUL.md");
    let long = "+++\npersonality = \"Friendly, quick, and never in doubt about the menu.\"\n\
                never_do = [\"Promise a time\", \"Guess what is in a dish\"]\n+++\n[Menu](m)\n";
    std::fs::write(&soul, long).expect("a soul");
    let soul = soul.to_string_lossy();
    demo.run(&["soul", "import", "gia", &soul, "--org", "bella", "--yes"]);
    demo.run(&["settings", "set", "team.max_handoffs=4", "--org", "bella", "--yes"]);
    let shown = demo.run(&["org", "show", "bella"]);
    assert!(shown.contains("max_handoffs = 4"), "{shown}");
    let edit = |args: &[&str], editor: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .args(["--yes", "--home", &demo.home()])
            .env("EDITOR", editor)
            .env("TMPDIR", folder.path())
            .output()
            .expect("ostler runs");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    for args in [&["agent", "edit", "gia", "--org", "bella"][..], &["org", "edit", "bella"]] {
        let said = edit(args, "true");
        assert!(said.contains("nothing to change"), "{args:?}: {said}");
        let said = edit(args, "false");
        assert!(said.contains("the editor `false` failed; nothing was changed"), "{said}");
    }
    let changed = edit(&["agent", "edit", "gia", "--org", "bella"], "sed -i s/quick/calm/");
    assert!(changed.contains("soul.personality") && changed.contains("applied"), "{changed}");
    assert!(!changed.contains("never_do"), "{changed}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "only the soul that was imported");
}

/// K09: what somebody else has changed while a resource was in the editor is not overwritten, and
/// the edited text is kept.
#[test]
fn k09_an_edit_does_not_overwrite_a_change_of_somebody_else() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let editor = folder.path().join("editor.sh");
    let ostler = env!("CARGO_BIN_EXE_ostler");
    let set = format!("agent set gia --org bella name=Giada --home {}", demo.home());
    let script = format!("sed -i 's/quick/calm/' \"$1\"\n{ostler} {set} >/dev/null\n");
    std::fs::write(&editor, script).expect("a script");
    for args in [&["agent", "edit", "gia"][..], &["soul", "edit", "gia"]] {
        demo.run(&["agent", "set", "gia", "--org", "bella", "name=Gia"]);
        let output = std::process::Command::new(ostler)
            .args(args)
            .args(["--org", "bella", "--yes", "--home", &demo.home()])
            .env("EDITOR", format!("sh {}", editor.display()))
            .env("TMPDIR", folder.path())
            .output()
            .expect("ostler runs");
        let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        assert!(!output.status.success(), "{args:?}: {said}");
        assert!(said.contains("somebody else changed the configuration"), "{said}");
        assert!(said.contains("your text is kept in "), "{said}");
        let gia = demo.json(&["agent", "show", "gia"]);
        assert_eq!(gia["name"], "Giada", "{gia}");
        assert!(!gia.to_string().contains("calm"), "{gia}");
    }
    let kept = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(kept, 3, "the script and both texts");
}
