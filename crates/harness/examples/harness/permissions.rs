//! Permissions: a rule for a tool, and a person who decides on the others.

use ostler_domain::tool::ToolName;
use ostler_harness::{ApprovalResponse, PermissionPolicy};

use super::{Printed, harness};

const SCRIPT: &str = "rules:\n  - when: { user: go }\n    answer:\n      - call: write_file\n        with: { path: note.txt, content: hello }\n      - \"{{ result }}\"";

pub(super) async fn run() -> Printed {
    let folder = tempfile::tempdir()?;
    let workspace = super::workspace::in_folder(folder.path())?;
    let harness = harness(SCRIPT).await?.workspace(workspace).build()?;
    harness.init().await?;
    let mut events = harness.subscribe();
    let answering = harness.clone();
    let answers = tokio::spawn(async move {
        loop {
            events.next().await;
            for ask in answering.open_asks().await {
                let decline = ApprovalResponse::Decline { reason: Some("Not now.".into()) };
                let _ = answering.respond_to_tool_approval(&ask.id, decline).await;
            }
        }
    });
    let declined = harness.send_message("go").await?;
    answers.abort();
    let tool = ToolName::from_static("write_file");
    harness.set_tool_policy(tool, Some(PermissionPolicy::Allow)).await?;
    let allowed = harness.send_message("go").await?;
    let written = folder.path().join("root/note.txt").exists();
    Ok(format!("{:?}\n{:?}\nwritten: {written}", declined.end, allowed.end))
}
