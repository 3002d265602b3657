//! What people with few rights see on a server, and the export of a person's data from there.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use super::{Server, serve_copy};
use crate::demo::DemoInstallation;

/// A server with a copy of the demo, and a key of Bella's for somebody with a role.
struct KeyHolder {
    demo: DemoInstallation,
    server: Server,
    key: String,
    _folder: tempfile::TempDir,
}

impl KeyHolder {
    fn with_role(role: &str) -> Self {
        let demo = DemoInstallation::new();
        let key = demo.json(&["key", "create", "desk", "--org", "bella", "--role", role]);
        let key = key["secret"].as_str().expect("a key").to_owned();
        let folder = tempfile::tempdir().expect("a folder");
        let server = serve_copy(&demo, &folder.path().join("copy"));
        Self { demo, server, key, _folder: folder }
    }

    fn run(&self, args: &[&str]) -> Output {
        let args: Vec<String> = args.iter().map(|&word| word.to_owned()).collect();
        self.server.run_as(&self.key, &args)
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn error(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(!output.status.success(), "{args:?} succeeds");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// K02, K03: a viewer reads what commands show on a server, without what only admins may export,
/// and changes nothing.
#[test]
fn k02_a_viewers_key_reads_and_changes_nothing() {
    let holder = KeyHolder::with_role("viewer");
    let rosa = holder.json(&["contact", "show", "rosa", "--org", "bella"]);
    assert_eq!((&rosa["stored"], &rosa["kind"]), (&json!(null), &json!("contact")), "{rosa}");
    assert!(rosa["interactions"][0]["session"].is_string(), "{rosa}");
    let agents = holder.json(&["agent", "ls", "--org", "bella"]);
    assert!(agents.as_array().is_some_and(|all| !all.is_empty()), "{agents}");
    let channels = holder.json(&["channel", "ls", "--org", "bella"]);
    assert_eq!(channels[0]["channel"], "webchat", "{channels}");
    let refused: [&[&str]; 9] = [
        &["contact", "export", "rosa", "--org", "bella"],
        &["contact", "delete", "rosa", "--org", "bella", "--yes"],
        &["contact", "link", "webchat:kim", "rosa", "--org", "bella"],
        &["channel", "add", "webchat", "--org", "bella"],
        &["integration", "disconnect", "payments", "--org", "bella"],
        &["tools", "add", "tool.toml", "--org", "bella"],
        &["mcp", "add", "server.toml", "--org", "bella"],
        &["agent", "promotion", "review", "--org", "bella"],
        &["agent", "send", "gia", "hello", "--no-reply", "--org", "bella"],
    ];
    for args in refused {
        let said = holder.error(args);
        assert!(said.contains("may not"), "{args:?}: {said}");
    }
    let said = holder.error(&["link", "ls"]);
    assert!(said.contains("only those who look after the platform"), "{said}");
    let said = holder.error(&["agent", "show", "luca", "--org", "harbour"]);
    assert!(said.contains("no org `harbour`"), "{said}");
}

/// K03: what is stored about a person is the same from a server as from an installation, is
/// written to a private file, and is gone after it was deleted there.
#[test]
fn k03_a_persons_data_is_exported_with_files_from_a_server() {
    let holder = KeyHolder::with_role("owner");
    let folder = holder.server.config.path();
    let out = folder.join("rosa.json");
    let export = ["contact", "export", "rosa", "--org", "bella"];
    let written = holder.run(&[&export[..], &["--out", "rosa.json", "--files", "files"]].concat());
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let exported: Value =
        serde_json::from_slice(&fs::read(&out).expect("a file")).expect("one document");
    let local: Value = serde_json::from_str(&holder.demo.run(&export)).expect("JSON");
    assert_eq!((&exported["org"], &exported["contact"]), (&local["org"], &local["contact"]));
    let kinds = |export: &Value| -> Vec<String> {
        let entries = export["entries"].as_array().expect("a list").iter();
        entries.map(|entry| entry["kind"].as_str().expect("a kind").to_owned()).collect()
    };
    let (there, here) = (kinds(&exported), kinds(&local));
    for kind in ["contact", "conversation", "session", "message"] {
        assert!(
            there.iter().any(|one| one == kind) && here.iter().any(|one| one == kind),
            "{kind}"
        );
    }
    let deleted = holder.json(&["contact", "delete", "rosa", "--org", "bella", "--yes"]);
    assert_eq!(deleted["contact"], 1, "{deleted}");
    let gone = holder.error(&export);
    assert!(gone.contains("no contact or visitor `rosa`"), "{gone}");
    assert!(holder.demo.run(&export).contains("rosa"), "the local one is another installation");
}
