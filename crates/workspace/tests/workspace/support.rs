//! A workspace in a temporary directory.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_workspace::sandbox::{
    CommandRequest, CommandResult, DiscardOutput, HelperProgram, SandboxOptions, SandboxStatus,
    Unsandboxed,
};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};
use tempfile::TempDir;

/// What is in the file outside that nothing may read or change.
pub(crate) const SECRET: &str = "do not read this";

/// A workspace with undo, and a directory beside it that must not be reached.
pub(crate) struct TestWorkspace {
    pub(crate) workspace: Arc<Workspace>,
    directory: TempDir,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Creates a workspace with other options.
    pub(crate) fn with(change: impl FnOnce(&mut WorkspaceOptions)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        // Only the sandbox protects what is outside, not permissions.
        open_to_all(directory.path());
        let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
        for directory in [&root, &outside] {
            std::fs::create_dir(directory).expect("a directory");
        }
        std::fs::write(outside.join("secret.txt"), SECRET).expect("a file");
        open_to_all(&outside);
        open_to_all(&outside.join("secret.txt"));
        let mut options = WorkspaceOptions::new(root, sandbox_options());
        options.data = Some(directory.path().join("data"));
        change(&mut options);
        let workspace = Workspace::open(options).expect("a workspace");
        Self { workspace: Arc::new(workspace), directory }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.workspace.root().to_owned()
    }

    /// Returns the directory that must not be reached.
    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("a directory").join("outside")
    }

    /// Asserts that nothing outside was changed.
    pub(crate) fn assert_outside_is_untouched(&self, what: &str) {
        let names: Vec<_> = std::fs::read_dir(self.outside())
            .expect("the directory outside")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names, ["secret.txt"], "{what}");
        let path = self.outside().join("secret.txt");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), SECRET, "{what}");
        let mode = std::fs::metadata(&path).expect("the file").permissions().mode() & 0o7777;
        assert_eq!(mode, 0o777, "{what}");
    }

    /// Puts a file into the root without the workspace.
    pub(crate) fn put(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, content).expect("a file");
    }

    /// Returns the content of a file in the root, if there is one.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(path)).ok()
    }

    /// Runs a line in the sandbox.
    pub(crate) async fn shell(&self, line: &str) -> CommandResult {
        self.run(&CommandRequest::shell(line)).await
    }

    pub(crate) async fn run(&self, request: &CommandRequest) -> CommandResult {
        self.workspace.run(request, &DiscardOutput).await.expect("a command").result
    }

    /// Returns whether there is a sandbox. A machine without one fails the test, unless it is
    /// told that this is known; commands must be refused then.
    pub(crate) async fn has_sandbox(&self) -> bool {
        let status = self.workspace.sandbox_status().await;
        if let SandboxStatus::Active(_) = &*status {
            return true;
        }
        let is_known = std::env::var_os("OSTLER_TEST_WITHOUT_SANDBOX").is_some();
        eprintln!("THE SANDBOX IS NOT TESTED HERE: {status}");
        assert!(is_known, "{status}; set OSTLER_TEST_WITHOUT_SANDBOX=1 to accept that");
        let refused = self.workspace.run(&CommandRequest::shell("true"), &DiscardOutput).await;
        assert!(refused.is_err(), "a command ran without a sandbox");
        false
    }
}

/// A command that runs for a long time and can be recognized among all processes.
pub(crate) struct Marker(String);

impl Marker {
    pub(crate) fn new(name: &str, variant: bool) -> Self {
        let hash: u32 = name.bytes().map(u32::from).sum();
        Self(format!("sleep 98765.{}{hash}{}", std::process::id(), u8::from(variant)))
    }

    /// Counts the processes that run it.
    pub(crate) fn processes(&self) -> usize {
        let wanted = self.0.replace(' ', "\0") + "\0";
        let processes = std::fs::read_dir("/proc").expect("the processes").flatten();
        let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| line == wanted.as_bytes()).count()
    }
}

impl std::fmt::Display for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gives every user all permissions.
pub(crate) fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("permissions");
}

/// Uses Landlock, whether or not bubblewrap is installed.
pub(crate) fn sandbox_options() -> SandboxOptions {
    let path = env!("CARGO_BIN_EXE_ostler-sandbox").into();
    SandboxOptions { bubblewrap: None, ..SandboxOptions::new(HelperProgram { path }) }
}

/// Allows a command without a sandbox, to show that it would do harm.
pub(crate) fn unsandboxed() -> Option<Unsandboxed> {
    Some(Unsandboxed::accepted_by("the test"))
}
