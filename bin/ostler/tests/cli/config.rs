//! `ostler config`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs `ostler` in a folder with variables.
fn run(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(args)
        .current_dir(folder)
        .envs(variables.iter().copied())
        .output()
        .expect("ostler runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// O01: flags beat variables, variables beat the file, and passwords are never shown.
#[test]
fn o01_config_shows_each_value_with_its_source_and_no_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "database = 'postgres://o:hunter2@db/o'\nlisten = '127.0.0.1:8080'\n\
        [[provider]]\nname = 'shop'\nkind = 'openai'\nbase_url = 'http://u:hunter2@shop/v1'\n";
    std::fs::write(folder.path().join("ostler.toml"), text).expect("written");
    let variables = [("OSTLER_BUS_URL", "amqp://g:hunter2@mq"), ("OSTLER_LOG", "debug")];
    let (ok, shown, _) = run(folder.path(), &["config"], &variables);
    assert!(ok && !shown.contains("hunter2"), "{shown}");
    let (ok, json, _) = run(folder.path(), &["config", "--json"], &variables);
    assert!(ok && !json.contains("hunter2"), "{json}");
    let values: Value = serde_json::from_str(&json).expect("JSON");
    let of = |key: &str| {
        let all = values.as_array().expect("a list").iter();
        all.clone().find(|one| one["key"] == key).expect("the key").clone()
    };
    for (key, value, source) in [
        ("database", "postgres://o:…@db/o", "./ostler.toml"),
        ("bus", "amqp://g:…@mq", "OSTLER_BUS_URL"),
        ("log", "debug", "OSTLER_LOG"),
        ("listen", "127.0.0.1:8080", "./ostler.toml"),
    ] {
        let found = of(key);
        assert_eq!((&found["value"], &found["source"]), (&value.into(), &source.into()), "{key}");
    }
    assert_eq!(of("lease_timeout_secs")["value"], 60);
    assert_eq!(of("provider")["value"][0]["base_url"], "http://u:…@shop/v1");
    let flag = ["config", "--json", "--database", "sqlite:x.db"];
    let (_, json, _) = run(folder.path(), &flag, &[("OSTLER_DATABASE_URL", "sqlite:y.db")]);
    let values: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(values[0]["source"], "--database");
    assert!(values[0]["value"].as_str().is_some_and(|url| url.ends_with("/x.db")), "{json}");
}

/// O01: mistakes name their place.
#[test]
fn o01_a_mistake_in_the_configuration_names_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ostler.toml");
    std::fs::write(&file, "bus = 'memory:'\nlisen = '127.0.0.1:1'\n").expect("written");
    let (ok, _, error) = run(folder.path(), &["session", "ls"], &[]);
    let expected = "ostler.toml:2:1: no key `lisen`; did you mean `listen`?";
    assert!(!ok && error.contains(expected), "{error}");
    std::fs::write(&file, "").expect("written");
    let (ok, _, error) = run(folder.path(), &["config"], &[("OSTLER_LEASE_TIMEOUT_SECS", "soon")]);
    assert!(!ok && error.contains("OSTLER_LEASE_TIMEOUT_SECS: "), "{error}");
    let nowhere = tempfile::tempdir().expect("a folder");
    let (ok, _, error) = run(nowhere.path(), &["config"], &[]);
    assert!(!ok && error.contains("create one with `ostler init`"), "{error}");
}
