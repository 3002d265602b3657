use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use ostler_store::{SCHEMA_VERSION, Store};
use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::{ostler, stdout};

fn doctor(url: &str) -> Output {
    ostler(&["doctor", "--database", url])
}

/// Returns what a failing check prints.
fn failed(url: &str) -> String {
    let output = doctor(url);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn in_folder(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("ostler.db").display())
}

/// Returns the status and the message of a check.
fn check(home: &str, name: &str) -> (String, String) {
    let output = ostler(&["doctor", "--home", home, "--json"]);
    let checks: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let all = checks.as_array().expect("a list");
    let found = all.iter().find(|one| one["check"] == name).expect("the check");
    let text = |field: &str| found[field].as_str().expect("text").to_owned();
    (text("status"), text("message"))
}

/// O20: a sound installation passes, with a line for each check.
#[test]
fn o20_a_healthy_installation_passes() {
    let demo = DemoInstallation::new();
    let shown = demo.run(&["doctor"]);
    assert!(shown.starts_with("ok  configuration     It is read from "), "{shown}");
    assert_eq!(shown.lines().count(), 24, "{shown}");
    assert!(shown.lines().all(|line| line.starts_with("ok  ")), "{shown}");
    let checks = demo.json(&["doctor"]);
    assert_eq!(checks[2]["check"], "schema");
    assert_eq!(checks[2]["status"], "ok");
    assert_eq!(checks[2]["message"], format!("The schema is at version {SCHEMA_VERSION}."));
}

/// O20: each problem is found, says what to do, and sets the exit code.
#[test]
fn o20_each_problem_says_what_to_do() {
    let demo = DemoInstallation::new();
    let home = demo.home();
    let file = Path::new(&home).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a configuration");
    let (status, message) = check(&home, "channels");
    assert_eq!((status.as_str(), message.as_str()), ("ok", "2 are connected and can be opened."));
    let (status, message) = check(&home, "escalations");
    assert_eq!(status, "ok");
    assert!(message.contains("1, the oldest for 0 min in bella"), "{message}");

    let secrets = Path::new(&home).join("secrets");
    std::fs::rename(&secrets, Path::new(&home).join("elsewhere")).expect("renamed");
    let (status, message) = check(&home, "channels");
    assert_eq!(status, "failed");
    assert!(
        message.contains("webchat of bella: the secret of this webchat binding cannot be read")
    );
    assert!(message.contains("see `ostler channel change bnd_"), "{message}");
    std::fs::rename(Path::new(&home).join("elsewhere"), &secrets).expect("renamed");

    // What is retired is not left alone as an address or as the agent of a channel.
    demo.run(&[
        "settings",
        "set",
        "--org",
        "bella",
        "people.owner={channel = \"webchat\", identifier = \"luigi\"}",
    ]);
    let channel = demo.json(&["channel", "ls", "--org", "bella"])[0]["binding"].clone();
    let channel = channel.as_str().expect("an id");
    demo.run(&["channel", "change", channel, "--org", "bella", "--off"]);
    let (status, message) = check(&home, "channels");
    assert_eq!(status, "failed");
    assert!(
        message.contains("notices of bella to `people.owner` go through the channel"),
        "{message}"
    );
    demo.run(&["channel", "change", channel, "--org", "bella", "--on"]);
    demo.run(&["agent", "archive", "gia", "--org", "bella", "--yes"]);
    let (_, message) = check(&home, "channels");
    assert!(message.contains("webchat of bella: its agent gia is archived"), "{message}");
    demo.run(&["agent", "resume", "gia", "--org", "bella"]);

    std::fs::write(&file, format!("{config}\nbus = 'amqp://g:hunter2@127.0.0.1:1'\n"))
        .expect("written");
    let (status, message) = check(&home, "bus");
    assert_eq!(status, "failed");
    assert!(message.starts_with("amqp://g:…@127.0.0.1:1 "), "{message}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let (status, message) = check(&home, "files");
    assert_eq!(status, "warning");
    assert!(message.contains("others can read "), "{message}");

    std::fs::write(&file, "databse = 'x'\n").expect("written");
    let (status, message) = check(&home, "configuration");
    assert_eq!(status, "failed");
    assert!(message.contains("no key `databse`; did you mean `database`?"), "{message}");
    assert_eq!(ostler(&["doctor", "--home", &home]).status.code(), Some(1));
}

/// O20: a database without orgs is not well.
#[test]
fn o20_an_empty_database_says_how_to_begin() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = in_folder(folder.path());
    stdout(&["migrate", "--database", &url]);
    let shown = failed(&url);
    assert!(
        shown.contains("failed  organizations     There are none; run `ostler init`."),
        "{shown}"
    );
}

#[test]
fn a_missing_broken_or_unreachable_database_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = in_folder(folder.path());
    let missing = failed(&url);
    assert!(missing.contains("`ostler migrate` creates it"), "{missing}");
    assert!(!folder.path().join("ostler.db").exists(), "looking makes no file");
    std::fs::write(folder.path().join("ostler.db"), "a letter, not a database, for once")
        .expect("written");
    let broken = failed(&url);
    assert!(broken.contains("\nfailed   database       "), "{broken}");
    assert!(broken.contains("not a database"), "{broken}");
    let away = failed("postgres://nobody:hunter2@127.0.0.1:1/nothing");
    assert!(away.contains("the database cannot be reached"), "{away}");
    assert!(!away.contains("hunter2"), "{away}");
}

#[tokio::test]
async fn a_schema_of_another_version_fails_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = in_folder(folder.path());
    drop(Store::connect(&url).expect("the file opens"));
    assert!(failed(&url).contains("There are no tables yet; run `ostler migrate`."));
    let older = folder.path().join("older.db");
    std::fs::write(&older, include_bytes!("fixtures/version1.db")).expect("the file is written");
    let older = format!("sqlite:{}", older.display());
    assert!(failed(&older).contains("at version 1"), "{}", failed(&older));
    stdout(&["migrate", "--database", &older]);
    assert!(failed(&older).contains("ok       schema "), "an older database can be migrated");
    let newer = folder.path().join("newer.db");
    std::fs::write(&newer, include_bytes!("fixtures/newer.db")).expect("the file is written");
    let newer = failed(&format!("sqlite:{}", newer.display()));
    assert!(newer.contains("at version 999, newer than this program's"), "{newer}");
    assert!(newer.contains("use a newer ostler."), "{newer}");
}

/// Imitates Telegram: a bot without a webhook, for one token.
fn fake_telegram() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let mut stream = stream;
            let length = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let (status, body) = match request.split(' ').nth(1) {
                Some("/bot1:good/getMe") => {
                    ("200 OK", r#"{"ok":true,"result":{"username":"bella_bot"}}"#)
                }
                Some("/bot1:good/getWebhookInfo") => {
                    ("200 OK", r#"{"ok":true,"result":{"url":""}}"#)
                }
                _ => ("401 Unauthorized", r#"{"ok":false,"description":"Unauthorized"}"#),
            };
            let length = body.len();
            let _gone = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
        }
    });
    format!("http://{address}")
}

/// O20: with --online Telegram is asked about tokens and webhooks; without it, never.
#[test]
fn o20_tokens_and_webhooks_are_checked_online() {
    let demo = DemoInstallation::new();
    let home = demo.home();
    let file = Path::new(&home).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a configuration");
    let base = format!("{config}\nlocal_network = true\n");
    std::fs::write(&file, &base).expect("written");
    let settings = format!("{{\"base_url\": \"{}\"}}", fake_telegram());
    let channels = demo.json(&["channel", "ls", "--org", "bella"]);
    let bella = channels[0]["org"].as_str().expect("the id of the org");
    let token = Path::new(&home).join("secrets").join(bella).join("telegram");
    std::fs::write(&token, "1:good").expect("written");
    let place = format!("file:{}", token.display());
    let add = ["channel", "add", "telegram", "--org", "bella", "--settings", &settings];
    demo.run(&[&add[..], &["--secret", &place]].concat());
    demo.run(&["doctor", "--online"]);

    let public = format!("{base}public_url = 'https://ostler.example'\n");
    std::fs::write(&file, public).expect("written");
    let online = || {
        let output = ostler(&["doctor", "--online", "--home", &home]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).expect("text")
    };
    let shown = online();
    assert!(shown.contains("Telegram does not deliver to https://ostler.example/v1/"), "{shown}");
    std::fs::write(&token, "1:bad").expect("written");
    let shown = online();
    assert!(
        shown.contains("telegram of bella: Telegram: the bot's token is not accepted"),
        "{shown}"
    );
    demo.run(&["doctor"]);
}
