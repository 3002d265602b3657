//! `ostler tools add|show|rm|test` and `ostler mcp`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use ostler_testkit::OrderSystem;

use crate::demo::DemoInstallation;

fn definition(url: &str) -> String {
    format!(
        r#"name = "shop_order"
description = "Looks up an order."
risk = "read"
audience = "customer"
url = "{url}/echo?{{order}}"
headers = {{ Authorization = "Bearer file:shop_token" }}
[input]
required = ["order"]
properties.order = {{ type = "string" }}
"#
    )
}

struct Files(tempfile::TempDir);

impl Files {
    fn put(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        fs::write(&path, text).expect("the file is written");
        path.to_string_lossy().into_owned()
    }
}

/// O18: a person adds a tool with a file, tries it, sees it, and removes it. The secret is
/// never printed.
#[test]
fn o18_a_person_adds_tries_and_removes_an_http_tool() {
    let demo = DemoInstallation::new();
    let files = Files(tempfile::tempdir().expect("a folder"));
    let shop = OrderSystem::start();
    let file = files.put("shop.toml", &definition(&shop.url));
    let added = demo.run(&["tools", "add", &file, "--org", "bella"]);
    assert!(added.contains("HTTP tool shop_order added"), "{added}");
    let again = demo.json(&["tools", "add", &file, "--org", "bella"]);
    assert_eq!(again["change"], "unchanged");
    let test =
        ["tools", "test", "shop_order", "--org", "bella", "--arguments", r#"{"order": "7"}"#];
    let tried = demo.run(&test);
    assert!(tried.contains("Nothing was sent: put the secret into the file"), "{tried}");
    let folder =
        PathBuf::from(demo.home()).join("secrets").join(again["org"].as_str().expect("an id"));
    fs::create_dir_all(&folder).expect("a folder of secrets");
    fs::write(folder.join("shop_token"), "hunter2-secret\n").expect("a secret");
    let tried = demo.run(&test);
    assert!(tried.contains("only `local_network = true` in ostler.toml allows it"), "{tried}");
    let config =
        OpenOptions::new().append(true).open(PathBuf::from(demo.home()).join("ostler.toml"));
    writeln!(config.expect("the configuration"), "local_network = true").expect("it is written");
    let tried = demo.json(&test);
    assert_eq!(tried["status"], "ok", "{tried}");
    let content = tried["content"].as_str().expect("a text");
    assert!(content.contains("Bearer [hidden]") && content.contains("user-agent"), "{content}");

    let listed = demo.json(&["tools", "ls", "--org", "bella"]);
    let listed = listed.as_array().expect("a list").iter();
    let own = listed.filter(|tool| tool["name"] == "shop_order").collect::<Vec<_>>();
    assert_eq!(own[0]["audience"], "customer");
    let elsewhere = demo.run(&["tools", "ls", "--org", "harbour"]);
    assert!(!elsewhere.contains("shop_order"), "{elsewhere}");
    let explained = demo.run(&["tools", "explain", "--session", "rosa", "--tool", "shop_order"]);
    assert!(explained.contains("business layer  passes"), "{explained}");
    let shown = demo.run(&["tools", "show", "shop_order", "--org", "bella"]);
    let copy = files.put("copy.toml", &shown);
    let copied = demo.json(&["tools", "add", &copy, "--org", "bella"]);
    assert_eq!(copied["change"], "unchanged", "what is shown can be added: {shown}");
    demo.run(&["tools", "rm", "shop_order", "--org", "bella"]);
    let gone = demo.error(&["tools", "show", "shop_order", "--org", "bella"]);
    assert!(gone.contains("no HTTP tool `shop_order` in this organization"), "{gone}");
}

/// O18: an order system that fails, refuses, answers twice or does not answer is told as
/// what it is; a call that may have taken effect is not repeated.
#[test]
fn o18_faults_of_an_order_system_are_told_to_people() {
    let demo = DemoInstallation::new();
    let files = Files(tempfile::tempdir().expect("a folder"));
    let config =
        OpenOptions::new().append(true).open(PathBuf::from(demo.home()).join("ostler.toml"));
    writeln!(config.expect("the configuration"), "local_network = true").expect("it is written");
    let shop = OrderSystem::start();
    let check = |path: &str, status: &str, expected: &str| {
        let definition = definition(&format!("{}{path}", shop.url))
            .replace("/echo?{order}", "")
            .replace(
                "risk = \"read\"",
                "risk = \"destructive\"\nmethod = \"POST\"\ntimeout_secs = 1",
            )
            .replace("headers = { Authorization = \"Bearer file:shop_token\" }\n", "");
        demo.run(&["tools", "add", &files.put("shop.toml", &definition), "--org", "bella"]);
        let tried = demo.json(&[
            "tools",
            "test",
            "shop_order",
            "--org",
            "bella",
            "--arguments",
            r#"{"order": "7"}"#,
        ]);
        assert_eq!(tried["status"], status, "{path}: {tried}");
        let content = tried["content"].as_str().expect("a text");
        assert!(content.contains(expected), "{path}: {content}");
        let lines = shop.requests();
        let calls = lines.iter().filter(|one| one.line.starts_with(&format!("POST {path} ")));
        assert_eq!(calls.count(), 1, "{path}");
    };
    check("/refunds", "ok", "re_1");
    check("/twice", "ok", "re_1");
    check("/locked", "refused", "The system refused");
    check("/fail", "outcome_unknown", "It is not known whether the call took effect");
    check("/hang", "outcome_unknown", "did not answer within 1 s");
}

/// O18: a wrong definition changes nothing, and each mistake is told with its place.
#[test]
fn o18_wrong_definitions_are_told_with_their_place() {
    let demo = DemoInstallation::new();
    let files = Files(tempfile::tempdir().expect("a folder"));
    let good = definition("https://shop.example");
    let check = |text: &str, expected: &[&str]| {
        let file = files.put("wrong.toml", text);
        let said = demo.error(&["tools", "add", &file, "--org", "bella"]);
        for part in expected {
            assert!(said.contains(part), "{part}: {said}");
        }
    };
    check("name = 3", &["line 1, column 8", "expected a string"]);
    check(&format!("colour = 1\n{good}"), &["unknown field `colour`"]);
    let two = good.replace("shop_order", "get_order").replace("{order}\"", "{number}\"");
    check(&two, &["name: there is a built-in tool", "url: `{number}` is not in"]);
    let foreign = good.replace("file:shop_token", "env:PATH");
    check(&foreign, &["env:PATH does not belong to this organization"]);
    let stored = demo.run(&["tools", "ls", "--org", "bella"]);
    assert!(!stored.contains("shop_order"), "{stored}");
}

/// O17: a person adds an MCP server; a broken one says why and takes nothing else away.
#[test]
fn o17_a_person_adds_tries_and_removes_an_mcp_server() {
    let demo = DemoInstallation::new();
    let files = Files(tempfile::tempdir().expect("a folder"));
    let file = files.put("stock.toml", "name = \"stock\"\ncommand = \"/no/such/program\"\n");
    let added = demo.run(&["mcp", "add", &file, "--org", "bella"]);
    assert!(added.contains("MCP server stock added"), "{added}");
    let listed = demo.json(&["mcp", "ls", "--org", "bella"]);
    assert_eq!(listed[0]["server"]["name"], "stock");
    let tried = demo.error(&["mcp", "test", "stock", "--org", "bella"]);
    assert!(tried.contains("cannot start `/no/such/program`"), "{tried}");
    let tools = demo.run(&["tools", "ls", "--org", "bella"]);
    assert!(tools.contains("mcp__stock__*") && tools.contains("get_order"), "{tools}");
    let answer = demo.run(&["send", "hello", "--org", "bella", "--contact", "otto"]);
    assert!(!answer.is_empty());
    demo.run(&["mcp", "rm", "stock", "--org", "bella"]);
    let none = demo.run(&["mcp", "ls", "--org", "bella"]);
    assert!(none.contains("Bella Pizza has no MCP servers"), "{none}");
}
