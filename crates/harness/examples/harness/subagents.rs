//! Subagents: an agent gives work away; the messages of the other stay under its own run.

use ostler_harness::{HarnessMessageContent, HarnessSubagent};

use super::{Printed, harness};

const SCRIPT: &str = "rules:\n  - when: { agent: You explore }\n    answer: There are three rooms.\n  - when: { user: go }\n    answer:\n      - call: subagent\n        with: { agentType: explore, task: Count the rooms }\n      - Three rooms it is.";

pub(super) async fn run() -> Printed {
    let explore = HarnessSubagent::new("explore", "Looks around", "You explore.");
    let harness = harness(SCRIPT).await?.subagent(explore).build()?;
    harness.init().await?;
    harness.send_message("go").await?;
    let thread = harness.current_thread().await.ok_or("no thread")?.id;
    let mut printed = String::new();
    for run in harness.subagent_runs(thread).await? {
        for message in harness.subagent_messages(run.run_id).await? {
            for part in message.content {
                if let HarnessMessageContent::Text { text } = part {
                    printed += &format!("{} {:?}: {text}\n", run.agent_type, message.role);
                }
            }
        }
    }
    Ok(printed)
}
