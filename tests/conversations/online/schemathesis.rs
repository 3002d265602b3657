//! Schemathesis against a running server: requests that are made from the document, and an
//! answer to each that the document has.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ostler_domain::org::role::Role;
use tokio::process::Command;

use super::{Online, key};
use crate::support::{ECHO, GIA, ORG, Scenario, WEBCHAT, is_whole_campaign};

const OWNER_KEY: &str = "osk_the-owner-of-bella-pizza-by-a-program";
/// Streams do not end by themselves, MCP has a conformance suite of its own (K05), and agents for
/// which a model is chosen that nobody has cannot answer.
const EXCLUDED: &str = "/events$|^/mcp$|\\}/models$";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance";

/// Returns the folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// K01: Schemathesis finds no error of the server and no answer that the document does not have.
#[tokio::test(flavor = "multi_thread")]
async fn k01_schemathesis_finds_no_answer_outside_the_document() {
    let script = root().join("scripts/install-pypi");
    let installed = Command::new(script).output().await.unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let python = String::from_utf8(installed.stdout).unwrap();
    let online = Online::with(Scenario::new(ECHO).await).await;
    key(&online.scenario, ORG, 2, OWNER_KEY, Role::Owner).await;
    online.scenario.write("rosa", "hello").await;
    let session = loop {
        if let Some(session) = online.scenario.sessions().await.first() {
            break session.id;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    // Without ids that exist, every answer would be that something does not.
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[parameters]\n\"path.org\" = \"bella\"\n\"path.session\" = \"{session}\"\n\
         \"path.binding\" = \"{WEBCHAT}\"\n\"path.agent\" = \"{GIA}\"\n"
    );
    std::fs::write(folder.path().join("schemathesis.toml"), config).unwrap();
    let seconds = if is_whole_campaign() { "300" } else { "20" };
    let child = Command::new(Path::new(python.trim_end()).join("bin/schemathesis"))
        .args(["run", &online.url("/openapi.json"), "--url", &online.url("/")])
        .args(["-H", &format!("Authorization: Bearer {OWNER_KEY}"), "-c", CHECKS])
        .args(["--phases", "examples,coverage,fuzzing", "--max-time", seconds, "-n", "5"])
        .args(["--seed", "1", "--exclude-path-regex", EXCLUDED, "--continue-on-failure"])
        .args(["--request-timeout", "20", "--suppress-health-check", "all"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    let output = tokio::time::timeout(Duration::from_secs(420), child).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains(" passed"), "{text}");
}
