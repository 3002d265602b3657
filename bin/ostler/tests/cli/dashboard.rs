//! The dashboard in a browser, on the installation of a demo and on a new one.

use std::net::TcpListener;
use std::process::Command;

use ostler_runtime::agents::StoredRecords;
use ostler_store::Store;

use crate::demo::DemoInstallation;
use crate::queue_agents::start_on_broker;
use crate::queue_operations::QueueInstallation;
use crate::running_server::RunningServer;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ostler");

/// S13, U01-U15, A02, D06, G38, G40, G43, G45, Z06, Z07: `web/tests` in
/// headless Chromium.
#[test]
fn u03_operators_work_in_the_dashboard() {
    let demo = DemoInstallation::new();
    let server = RunningServer::start(&demo.home());
    let keys = [
        key(&demo, "ada", "bella", "owner"),
        key(&demo, "ben", "bella", "operator"),
        key(&demo, "mara", "harbour", "owner"),
    ];
    let added = demo.json(&[
        "member",
        "add",
        "eva@example.com",
        "--name",
        "Eva",
        "--role",
        "operator",
        "--org",
        "bella",
    ]);
    let link = added["password_link"]["link"].as_str().expect("a link").to_owned();
    let (_, code) = link.split_once("?code=").expect("a code");
    // What `runtime.test.mjs` finds: an agent that asks before it does something.
    demo.run(&["agent", "start", "approver", "--type", "human", "--org", "bella"]);
    demo.run(&["agent", "start", "bob", "--type", "echo", "--org", "bella"]);
    for text in ["Sign the contract", "Burn the contract"] {
        let send = ["agent", "send", "bob", text, "--approver", "approver", "--no-reply"];
        demo.run(&[&send[..], &["--org", "bella"]].concat());
    }
    let url = format!("http://{}", server.address);
    browse(None, &[("OSTLER_URL", &url), ("OSTLER_KEYS", &keys.join(" ")), ("OSTLER_CODE", code)]);
}

/// U13: a list of many conversations, and a restart of the server. In `make soak` they are
/// 100,000.
#[test]
fn u13_the_dashboard_lists_many_conversations_and_survives_a_restart() {
    let demo = DemoInstallation::new();
    let keys = key(&demo, "ada", "bella", "owner");
    let sessions = std::env::var("OSTLER_LISTED_SESSIONS").unwrap_or_else(|_| "5000".to_owned());
    let (url, home) = (free_address(), demo.home());
    browse(
        Some("web/tests/own_server.mjs"),
        &[
            ("OSTLER_URL", &url),
            ("OSTLER_KEYS", &keys),
            ("OSTLER_PROGRAM", PROGRAM),
            ("OSTLER_HOME", &home),
            ("OSTLER_SESSIONS", &sessions),
        ],
    );
}

/// U09: the queues of a broker, and a message that an agent cannot handle, which is put back.
#[test]
fn u09_queues_and_dead_letters_of_a_broker_are_shown_and_put_back() {
    let Ok(broker) = std::env::var("OSTLER_TEST_AMQP_URL") else { return };
    let desk = QueueInstallation::new(&broker);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let database = format!("sqlite:{}/ostler.db", desk.home());
    let _agents = runtime.block_on(async {
        let store = Store::open(&database).await.expect("the store");
        start_on_broker(StoredRecords::new(store, desk.org), &broker).await
    });
    desk.run(&["agent", "send", "broken", "This is for nobody", "--no-reply"]);
    let server = RunningServer::start(&desk.home());
    let key = desk.json(&["key", "create", "ada", "--role", "owner"]);
    let key = key["secret"].as_str().expect("a secret").to_owned();
    let url = format!("http://{}", server.address);
    browse(Some("web/tests/broker.mjs"), &[("OSTLER_URL", &url), ("OSTLER_KEYS", &key)]);
}

/// U12, S13: the first administrator of a new installation, with the one-time link of `init`.
#[test]
fn u12_the_first_administrator_sets_up_an_organization() {
    let folder = tempfile::tempdir().expect("a folder");
    let (url, home) = (free_address(), folder.path().to_string_lossy().into_owned());
    browse(
        Some("web/tests/first_run.mjs"),
        &[("OSTLER_URL", &url), ("OSTLER_PROGRAM", PROGRAM), ("OSTLER_HOME", &home)],
    );
}

fn key(demo: &DemoInstallation, name: &str, org: &str, role: &str) -> String {
    let created = demo.json(&["key", "create", name, "--org", org, "--role", role]);
    created["secret"].as_str().expect("a secret").to_owned()
}

/// Returns the URL of a free port. Nobody listens there, so that a test can start a server.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("its address"))
}

/// Runs the tests of the pages, or one file of them, with these variables.
fn browse(file: Option<&str>, variables: &[(&str, &str)]) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let tests = Command::new("scripts/dashboard")
        .arg("browse")
        .args(file)
        .current_dir(root)
        .envs(variables.iter().copied())
        .output()
        .expect("the tests run");
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
}
