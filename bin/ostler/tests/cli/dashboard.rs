//! The dashboard in a browser, on the installation of a demo.

use std::process::Command;

use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

/// S13, U01-U08, U10-U15, A02, D06, G38, G40, G43, G45, Z06, Z07: `web/tests` in
/// headless Chromium.
#[test]
fn u03_operators_work_in_the_dashboard() {
    let demo = DemoInstallation::new();
    let server = RunningServer::start(&demo.home());
    let key = |name: &str, role: &str| {
        let created = demo.json(&["key", "create", name, "--org", "bella", "--role", role]);
        created["secret"].as_str().expect("a secret").to_owned()
    };
    let keys = [key("ada", "owner"), key("ben", "operator")];
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
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let tests = Command::new("scripts/dashboard")
        .arg("browse")
        .current_dir(root)
        .env("OSTLER_URL", format!("http://{}", server.address))
        .env("OSTLER_KEYS", keys.join(" "))
        .env("OSTLER_CODE", code)
        .output()
        .expect("the tests run");
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
}
