//! `ostler model`, and models of an own provider.

use std::path::Path;

use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::mock_model::Server;
use crate::running_server::RunningServer;
use crate::{ostler, stdout};

/// Configures a provider at an address as the only one that is used.
fn use_provider(home: &str, address: &str) {
    let text = format!(
        "model = 'shop/gia'\n[[provider]]\nname = 'shop'\nkind = 'openai'\n\
         base_url = 'http://{address}/v1'\nkey = 'file:shop.key'\nmodels = ['gia']\n\
         [price.'shop/']\ninput = 0.5\noutput = 1.25\n"
    );
    std::fs::write(Path::new(home).join("ostler.toml"), text).expect("written");
    std::fs::write(Path::new(home).join("shop.key"), "sk-shop\n").expect("written");
}

fn find<'v>(models: &'v Value, name: &str) -> &'v Value {
    let all = models.as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).expect("the model")
}

/// O19, M41: a local server at any port is a provider; it answers customers and `run`, and
/// its uses are counted.
#[test]
fn o19_m41_a_provider_at_any_port_answers_and_its_uses_are_counted() {
    let (_server, address) = Server::start("examples/scripts/support.yaml");
    let demo = DemoInstallation::new();
    use_provider(&demo.home(), &address);
    let models = demo.json(&["model", "ls"]);
    let gia = find(&models, "shop/gia");
    assert_eq!((&gia["key"], &gia["default"]), (&"present".into(), &true.into()));
    assert_eq!((&gia["price"]["output"], &gia["uses"]), (&1.25.into(), &0.into()));
    let claude = find(&models, "anthropic/claude-sonnet-4");
    assert_eq!(claude["how_to_set_key"], "set ANTHROPIC_API_KEY to use it");

    let tested = demo.run(&["model", "test"]);
    assert!(tested.starts_with("ok  shop/gia answered"), "{tested}");
    let said = demo.run(&["send", "--org", "bella", "--contact", "otto", "Hello!"]);
    assert!(said.contains("Gia"), "{said}");
    let answered = demo.run(&["run", "Hello!", "--no-web"]);
    assert!(!answered.is_empty());
    let gia = demo.json(&["model", "ls"]);
    let gia = find(&gia, "shop/gia");
    assert_eq!(gia["uses"], 1, "{gia}");
    assert!(gia["last_used_at"].is_string(), "{gia}");
    let shown = demo.run(&["model", "ls"]);
    assert!(shown.contains("shop/gia (default)  set"), "{shown}");
    assert!(shown.contains("anthropic  set ANTHROPIC_API_KEY to use it"), "{shown}");
}

/// O19: a test that fails says why, and exits with 1.
#[test]
fn o19_a_model_test_that_fails_says_why() {
    let demo = DemoInstallation::new();
    use_provider(&demo.home(), "127.0.0.1:1");
    let home = demo.home();
    let output = ostler(&["model", "test", "--home", &home, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["ok"], &report["model"]), (&false.into(), &"shop/gia".into()));
    assert!(report["error"].as_str().is_some_and(|why| why.contains("reached")), "{report}");
    assert!(report["total_ms"].is_u64(), "{report}");
    let error = demo.error(&["model", "test", "shp/gia"]);
    assert!(error.contains("unknown model `shp/gia`"), "{error}");
    std::fs::remove_file(Path::new(&home).join("shop.key")).expect("removed");
    let error = demo.error(&["model", "test"]);
    assert!(error.contains("`shop/gia` has no key: put the secret into the file"), "{error}");
}

/// O19: processes say at their start which agents cannot answer, and why.
#[test]
fn o19_serve_says_which_agents_have_no_usable_model() {
    let demo = DemoInstallation::new();
    let file = Path::new(&demo.home()).join("ostler.toml");
    std::fs::write(file, "model = 'nowhere/gia'\n").expect("written");
    let mut server = RunningServer::start(&demo.home());
    let said = server.kill();
    assert!(said.contains("have no usable model: unknown model `nowhere/gia`"), "{said}");
    assert!(said.contains("gia of bella"), "{said}");
    let doctor = ostler(&["doctor", "--home", &demo.home()]);
    assert_eq!(doctor.status.code(), Some(1));
    let shown = String::from_utf8(doctor.stdout).expect("text");
    let line = shown.lines().find(|line| line.starts_with("warning  models ")).expect("a line");
    assert!(line.contains("gia of bella") && line.contains("`nowhere/gia`"), "{line}");
    let listed = stdout(&["model", "ls", "--home", &demo.home()]);
    assert!(!listed.contains("no default"), "{listed}");
}

/// O19: an org has a default of its own for agents that name no model.
#[test]
fn o19_an_org_has_its_own_default_model() {
    let (_server, address) = Server::start("examples/scripts/support.yaml");
    let demo = DemoInstallation::new();
    use_provider(&demo.home(), &address);
    let file = Path::new(&demo.home()).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a configuration");
    std::fs::write(&file, config.replace("model = 'shop/gia'", "")).expect("written");
    let send = || demo.run(&["send", "--org", "bella", "--contact", "otto", "Hello!"]);
    assert!(!send().contains("Welcome to Bella Pizza"));

    let error = demo.error(&["model", "use", "shp/gia", "--org", "bella"]);
    assert!(error.contains("unknown model `shp/gia`"), "{error}");
    let said = demo.run(&["model", "use", "shop/gia", "--org", "bella"]);
    assert_eq!(said, "agents of Bella Pizza without a model use shop/gia\n");
    let again = demo.run(&["model", "use", "shop/gia", "--org", "bella"]);
    assert_eq!(again, "Bella Pizza has these models already\n");
    let said = demo.run(&["send", "--org", "bella", "--contact", "paul", "Hello!"]);
    assert!(said.contains("Welcome to Bella Pizza"), "{said}");

    let home = demo.home();
    let missing = ["model", "use", "anthropic/claude-sonnet-4", "--org", "bella", "--home", &home];
    let output = ostler(&missing);
    let note = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && note.contains("set ANTHROPIC_API_KEY to use it"), "{note}");
    // A plan notes a model that cannot be used; a customer's conversation says why nobody
    // answered.
    let set = ["agent", "set", "gia", "--org", "bella", "models=[\"shp/gia\"]", "--home", &home];
    let output = ostler(&[&set[..], &["--yes"]].concat());
    let note = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{note}");
    assert!(note.contains("note: agent bella/gia: unknown model `shp/gia`"), "{note}");
    demo.run(&["send", "--org", "bella", "--contact", "mia", "Hello!"]);
    let shown = demo.run(&["session", "show", "mia", "--org", "bella"]);
    assert!(shown.contains("no answer: there is no model shp/gia here"), "{shown}");
    let changed = demo.json(&["model", "use", "--default", "--org", "bella"]);
    assert_eq!(changed["before"], serde_json::json!(["anthropic/claude-sonnet-4"]));
}
