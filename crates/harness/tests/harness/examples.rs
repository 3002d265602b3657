//! The example programs run, and print what they show.

#[allow(dead_code, unreachable_pub, reason = "the main function of the program")]
#[path = "../../examples/harness/main.rs"]
mod program;

async fn check(name: &str, expected: &[&str]) {
    let printed = program::run(name).await.unwrap();
    for part in expected {
        assert!(printed.contains(part), "{name} prints {printed}");
    }
}

#[tokio::test]
async fn m01_m03_m11_m21_m23_m24_m33_m36_m38_m39_every_concept_has_an_example() {
    check("modes", &["plan with large:", "build with small:", "plan with large-2:"]).await;
    check("threads", &["found 1, copied 1 message, left Apples and Pears again"]).await;
    check("permissions", &["Not now.", "written: true"]).await;
    check("questions", &["Which colour? blue\nPaint it: approved\n", "Painted."]).await;
    check("tasks", &["Buy paint, Paint: ", "\"completed\":1"]).await;
    check("subagents", &["explore User: Count the rooms", "Assistant: There are three rooms."])
        .await;
    check("state", &["House { rooms: 8 }, refused: true", "Large."]).await;
    check("workspace", &["written: hello, there after undo: false"]).await;
    check("heartbeats", &["three beats, removed: true"]).await;
    check("events", &["\"agent_start\"", "\"agent_end\"\nthen \"agent_start\""]).await;
    assert!(program::run("nothing").await.is_err());
}

const CHILD: &str = "OSTLER_HEARTBEAT_CHILD";

/// The program of the next test. Does nothing when it is run as a test.
#[test]
fn child_with_a_heartbeat() {
    if std::env::var(CHILD).is_ok() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async { program::run("heartbeats").await.map(drop) }).unwrap();
    }
}

/// M38: a program with one heartbeat and nothing else exits.
#[tokio::test]
async fn m38_a_heartbeat_does_not_keep_a_program_alive() {
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "examples::child_with_a_heartbeat"])
        .env(CHILD, "1")
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), child.wait()).await;
    assert!(ended.expect("the program exits").unwrap().success());
}
