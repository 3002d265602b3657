//! The program as its own sandbox helper.

use std::sync::Arc;

use ostler_workspace::sandbox::{
    CommandEnd, CommandRequest, DiscardOutput, HelperProgram, SandboxOptions, SandboxStatus,
};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};

#[tokio::test]
async fn m36_the_program_runs_commands_in_a_sandbox() {
    let directory = tempfile::tempdir().expect("a directory");
    let helper = HelperProgram { path: env!("CARGO_BIN_EXE_ostler").into() };
    let options = WorkspaceOptions::new(directory.path(), SandboxOptions::new(helper));
    let workspace = Arc::new(Workspace::open(options).expect("a workspace"));
    let request = CommandRequest::shell("echo inside > file; echo outside > /etc/ostler-escape");
    let run = workspace.run(&request, &DiscardOutput).await;
    let status = workspace.sandbox_status().await;
    if let SandboxStatus::Unavailable { .. } = &*status {
        eprintln!("THE SANDBOX IS NOT TESTED HERE: {status}");
        assert!(run.is_err(), "a command ran without a sandbox");
        let is_known = std::env::var_os("OSTLER_TEST_WITHOUT_SANDBOX").is_some();
        assert!(is_known, "{status}; set OSTLER_TEST_WITHOUT_SANDBOX=1 to accept that");
        return;
    }
    let result = run.expect("a command").result;
    assert_ne!(result.end, CommandEnd::Exited(0));
    let written = std::fs::read_to_string(directory.path().join("file")).expect("a file");
    assert_eq!(written, "inside\n");
    assert!(!std::path::Path::new("/etc/ostler-escape").exists(), "it wrote outside");
}

/// Nobody is a helper by chance.
#[test]
fn the_argument_of_the_helper_is_no_command() {
    let error = crate::stderr(&["sandbox-helper"]);
    assert!(error.contains("unrecognized subcommand"), "{error}");
}
