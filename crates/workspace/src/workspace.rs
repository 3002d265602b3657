//! The workspace: one root with its files, commands and saved states.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::WorkspaceError;
use crate::files::{FileDiff, Files, TextEdit, WriteAccess, unified_diff};
use crate::path::is_protected;
use crate::sandbox::{
    CommandError, CommandOutput, CommandRequest, CommandResult, Sandbox, SandboxOptions,
    SandboxStatus,
};
use crate::undo::{RestoreReport, UndoLimits, UndoStore};

/// What a workspace is made of.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    /// The directory that agents work in.
    pub root: PathBuf,
    /// Where states for undo are saved, outside the root; without it, nothing can be undone.
    pub data: Option<PathBuf>,
    pub undo: UndoLimits,
    pub sandbox: SandboxOptions,
}

impl WorkspaceOptions {
    /// Creates options without undo.
    pub fn new(root: impl Into<PathBuf>, sandbox: SandboxOptions) -> Self {
        Self { root: root.into(), data: None, undo: UndoLimits::default(), sandbox }
    }
}

/// A directory that agents work in. Operations on files block; [`Workspace::run`] does not.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ostler_workspace::files::TextEdit;
/// use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
/// use ostler_workspace::workspace::{Workspace, WorkspaceOptions};
///
/// let directory = tempfile::tempdir()?;
/// let root = directory.path().join("project");
/// std::fs::create_dir(&root)?;
/// let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
/// let mut options = WorkspaceOptions::new(&root, sandbox);
/// options.data = Some(directory.path().join("undo"));
/// let workspace = Workspace::open(options)?;
///
/// workspace.write("src/main.rs", "fn main() {}\n")?;
/// workspace.begin_turn("turn-1")?;
/// let edit = TextEdit { old: "{}".into(), new: "{ run(); }".into(), all: false };
/// let diff = workspace.edit("src/main.rs", &edit)?;
/// assert!(diff.unified.ends_with("-fn main() {}\n+fn main() { run(); }\n"));
/// assert!(workspace.write("../elsewhere.rs", "").is_err());
///
/// workspace.restore("turn-1")?;
/// assert_eq!(workspace.files().read_text("src/main.rs")?, "fn main() {}\n");
/// # Ok(())
/// # }
/// ```
///
/// A command, in a program whose `main` begins with
/// [`run_helper_if_requested`](crate::sandbox::run_helper_if_requested):
///
/// ```no_run
/// # async fn run(workspace: std::sync::Arc<ostler_workspace::workspace::Workspace>)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// use ostler_workspace::sandbox::{CommandEnd, CommandRequest, DiscardOutput};
///
/// println!("sandbox: {}", workspace.sandbox_status().await);
/// let run = workspace.run(&CommandRequest::shell("make test"), &DiscardOutput).await?;
/// if run.result.end != CommandEnd::Exited(0) {
///     println!("{}", run.result.output.text());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Workspace {
    files: Files,
    undo: Option<UndoStore>,
    sandbox: Sandbox,
    /// Held while files change, so that no change is lost between reading and writing.
    changing: Mutex<()>,
}

/// The result of a command in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    pub result: CommandResult,
    /// Why the changes of the command cannot be undone, if they cannot.
    pub not_undoable: Option<String>,
}

impl Workspace {
    /// Opens the root, which must exist. Fails if the data directory is inside it, where
    /// commands could change it.
    pub fn open(options: WorkspaceOptions) -> Result<Self, WorkspaceError> {
        let WorkspaceOptions { root, data, undo, sandbox } = options;
        let files = Files::open(&root)?;
        if files.root().parent().is_none() {
            let why = "the whole file system cannot be a workspace";
            return Err(WorkspaceError::InvalidPath { path: "/".to_owned(), why });
        }
        let undo = data.map(|data| open_undo(&data, files.root(), undo)).transpose()?;
        let sandbox = Sandbox::new(sandbox, files.root());
        Ok(Self { files, undo, sandbox, changing: Mutex::new(()) })
    }

    /// Returns the path of the root.
    pub fn root(&self) -> &Path {
        self.files.root()
    }

    /// Returns the files, for reading, listing and searching.
    pub const fn files(&self) -> &Files {
        &self.files
    }

    /// Returns what is enforced for commands.
    pub async fn sandbox_status(&self) -> Arc<SandboxStatus> {
        self.sandbox.status().await
    }

    /// Writes a whole file and returns the difference.
    pub fn write(&self, path: &str, content: &str) -> Result<FileDiff, WorkspaceError> {
        let relative = self.writable(path)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match self.files.read_text(path) {
            Err(WorkspaceError::NotFound { .. }) => None,
            // The difference to a binary file is the whole text.
            Err(WorkspaceError::Binary { .. }) => Some(String::new()),
            read => Some(read?),
        };
        self.replace(&relative, content)?;
        Ok(unified_diff(&relative.display().to_string(), before.as_deref(), Some(content)))
    }

    /// Replaces a text in a file and returns the difference.
    pub fn edit(&self, path: &str, edit: &TextEdit) -> Result<FileDiff, WorkspaceError> {
        let relative = self.writable(path)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.files.read_text(path)?;
        let after = edit.apply(path, &before)?;
        self.replace(&relative, &after)?;
        Ok(unified_diff(&relative.display().to_string(), Some(&before), Some(&after)))
    }

    /// Applies a unified diff to any number of files, completely or not at all, and returns the
    /// differences.
    pub fn apply_patch(&self, patch: &str) -> Result<Vec<FileDiff>, WorkspaceError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        crate::patch::apply_to_workspace(self, patch)
    }

    /// Runs a command in the sandbox and passes its output on. Dropping the future kills all
    /// its processes.
    ///
    /// # Errors
    ///
    /// Fails without running anything if no sandbox is available, unless the request says that
    /// a person has accepted it.
    pub async fn run(
        self: &Arc<Self>,
        request: &CommandRequest,
        output: &dyn CommandOutput,
    ) -> Result<CommandRun, CommandError> {
        let relative = self.files.relative(&request.directory)?;
        let directory = self
            .files
            .dir()
            .canonicalize(&relative)
            .map_err(|error| WorkspaceError::from_io(&relative, error))?;
        // Refused commands need no saved state.
        self.sandbox.status().await;
        let workspace = self.clone();
        let saved = tokio::task::spawn_blocking(move || ChangeRecorder::start(workspace)).await;
        let (recorder, not_undoable) = match saved {
            Ok(Ok(recorder)) => (Some(recorder), None),
            Ok(Err(why)) => (None, Some(why)),
            Err(error) => (None, Some(error.to_string())),
        };
        let result = self.sandbox.run(request, &self.root().join(directory), output).await;
        if let Some(recorder) = recorder {
            recorder.finish().await;
        }
        Ok(CommandRun { result: result?, not_undoable })
    }

    /// Starts a turn: what changes from now on can be undone with [`Workspace::restore`].
    pub fn begin_turn(&self, id: &str) -> Result<(), WorkspaceError> {
        self.undo.as_ref().map_or(Ok(()), |undo| undo.begin_turn(&self.files, id))
    }

    /// Brings the files back to the state before a turn. Later turns are undone as well.
    pub fn restore(&self, turn: &str) -> Result<RestoreReport, WorkspaceError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let undo = self.undo.as_ref();
        undo.ok_or_else(|| WorkspaceError::UnknownTurn(turn.to_owned()))?.restore(&self.files, turn)
    }

    /// Returns the saved states, if the workspace has any.
    pub const fn undo(&self) -> Option<&UndoStore> {
        self.undo.as_ref()
    }

    /// Returns a path that may be changed, relative to the root.
    pub(crate) fn writable(&self, path: &str) -> Result<PathBuf, WorkspaceError> {
        let relative = self.files.relative(path)?;
        // Links may lead to a protected directory under another name.
        let existing = relative.ancestors().find_map(|ancestor| {
            let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
            self.files.dir().canonicalize(ancestor).ok()
        });
        if is_protected(&relative) || existing.is_some_and(|path| is_protected(&path)) {
            return Err(WorkspaceError::Protected { path: path.to_owned() });
        }
        Ok(relative)
    }

    /// Saves the state of a file and replaces it.
    pub(crate) fn replace(&self, path: &Path, content: &str) -> Result<(), WorkspaceError> {
        self.save_state(path)?;
        self.files.replace(path, content.as_bytes(), WriteAccess::Agent)
    }

    /// Saves the state of a file and removes it.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), WorkspaceError> {
        self.save_state(path)?;
        self.files.dir().remove_file(path).map_err(|error| WorkspaceError::from_io(path, error))
    }

    fn save_state(&self, path: &Path) -> Result<(), WorkspaceError> {
        self.undo.as_ref().map_or(Ok(()), |undo| undo.before_change(&self.files, path))
    }

    fn record_command(&self) {
        if let Some(undo) = &self.undo
            && let Err(error) = undo.after_command(&self.files)
        {
            tracing::warn!(%error, "changes of a command not recorded");
        }
    }
}

/// Records what a command has changed, also if it was aborted.
struct ChangeRecorder(Option<Arc<Workspace>>);

impl ChangeRecorder {
    /// Saves the files before a command. Fails with the reason why that is not possible.
    fn start(workspace: Arc<Workspace>) -> Result<Self, String> {
        let no_directory = || "the workspace has no directory for saved states".to_owned();
        let undo = workspace.undo.as_ref().ok_or_else(no_directory)?;
        undo.before_command(&workspace.files).map_err(|error| error.to_string())?;
        Ok(Self(Some(workspace)))
    }

    async fn finish(mut self) {
        if let Some(workspace) = self.0.take() {
            let _ = tokio::task::spawn_blocking(move || workspace.record_command()).await;
        }
    }
}

impl Drop for ChangeRecorder {
    fn drop(&mut self) {
        if let Some(workspace) = self.0.take() {
            // The processes of the command are being killed at this moment.
            std::thread::spawn(move || {
                std::thread::sleep(ABORT_DELAY);
                workspace.record_command();
            });
        }
    }
}

/// How long killed processes may take to end.
const ABORT_DELAY: std::time::Duration = std::time::Duration::from_millis(200);

fn open_undo(data: &Path, root: &Path, limits: UndoLimits) -> Result<UndoStore, WorkspaceError> {
    // It holds what was in the files, also in those that others cannot read.
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    created.map_err(|error| WorkspaceError::from_io(data, error))?;
    let data = data.canonicalize().map_err(|error| WorkspaceError::from_io(data, error))?;
    if data.starts_with(root) {
        let path = data.display().to_string();
        return Err(WorkspaceError::InvalidPath { path, why: "the data must be outside the root" });
    }
    UndoStore::open(&data, limits)
}
