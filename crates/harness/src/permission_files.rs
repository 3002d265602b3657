//! Permissions files: where they are, when they are read again, and what they may do.
//!
//! The file of the user decides in full. The file of a project comes with the project, and
//! agents can change it, so it can only make decisions stricter until the user's file trusts
//! exactly this content. A changed file that is not trusted is not read again.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ostler_domain::gate::permission::PermissionPolicy;
use ostler_domain::gate::permission::rule::{PlacedRule, RuleForce, RuleScope};
use ostler_domain::tool::ToolCategory;
use ostler_world::file::Problems;
use ostler_world::permissions::{
    FileRule, PermissionFile, TrustedProject, parse_permissions, set_trust,
};
use sha2::{Digest as _, Sha256};

/// The permissions file of a project, in its folder.
pub const PROJECT_PERMISSIONS: &str = ".ostler/permissions.toml";
/// The most bytes that a permissions file may have.
const MAX_BYTES: u64 = 1024 * 1024;
/// How often a writer looks whether another one is done, and for how long.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);
const LOCK_ATTEMPTS: u32 = 500;

/// Where the permissions files of a harness are. Files that do not exist have no rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionFiles {
    /// The file of the user.
    pub user: Option<PathBuf>,
    /// The folder of the project, which is the workspace.
    pub project: Option<PathBuf>,
}

/// A permissions file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PermissionFileError {
    #[error("cannot read {}: {cause}", file.display())]
    Read { file: PathBuf, cause: io::Error },
    #[error("cannot write {}: {cause}", file.display())]
    Write { file: PathBuf, cause: io::Error },
    #[error(transparent)]
    Invalid(#[from] Problems),
    #[error("another program is changing {}; try again when it is done", .0.display())]
    Locked(PathBuf),
    #[error("there is no file of the user to write to")]
    NoUserFile,
    #[error("there is no project to trust")]
    NoProject,
}

/// The rules of the files, in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct LoadedPermissions {
    pub rules: Vec<PlacedRule>,
    /// The tests that fail; their rules are refused.
    pub failures: Vec<String>,
    /// What else people should know: files that only narrow.
    pub notes: Vec<String>,
    /// Whether the project's file may allow calls.
    pub project_trusted: bool,
    /// How many tests the rules have.
    pub tests: usize,
}

/// The category of a tool by its name, if it is known.
pub type CategoryOf<'a> = &'a dyn Fn(&str) -> Option<ToolCategory>;

/// What a file looked like when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FileStamp(Option<(SystemTime, u64)>);

impl PermissionFiles {
    /// Returns the path of the project's file.
    pub fn project_file(&self) -> Option<PathBuf> {
        self.project.as_ref().map(|folder| folder.join(PROJECT_PERMISSIONS))
    }

    /// Reads the files and runs the tests of their rules. Fails if a file cannot be read or is
    /// not a permissions file.
    pub fn load(
        &self,
        category_of: CategoryOf<'_>,
    ) -> Result<LoadedPermissions, PermissionFileError> {
        let user = self.user.as_deref().map(|path| read(path, category_of)).transpose()?.flatten();
        let project =
            self.project_file().map(|path| read(&path, category_of)).transpose()?.flatten();
        let mut loaded = LoadedPermissions::default();
        if let Some(file) = &user {
            let inside = self.is_inside_project(&file.path);
            let force = if inside { RuleForce::NarrowsOnly } else { RuleForce::Full };
            loaded.add(file, RuleScope::User, force);
            if inside {
                loaded.notes.push(format!(
                    "{} is in the workspace, where agents can change it: its rules can ask and \
                     deny, but not allow",
                    file.path.display()
                ));
            }
        }
        // Without a file, the project has nothing that could be distrusted.
        loaded.project_trusted = project.is_none();
        if let Some(file) = &project {
            let trusted = user.as_ref().is_some_and(|user| self.trusts(user, file));
            loaded.project_trusted = trusted;
            let force = if trusted { RuleForce::Full } else { RuleForce::NarrowsOnly };
            let allows = |rule: &FileRule| rule.rule.verdict == PermissionPolicy::Allow;
            if !trusted && file.content.rules.iter().any(allows) {
                loaded.notes.push(format!(
                    "{} is not trusted: its rules can ask and deny, but not allow; `ostler \
                     permission trust` trusts it as it is",
                    file.path.display()
                ));
            }
            loaded.add(file, RuleScope::Project, force);
        }
        Ok(loaded)
    }

    /// Trusts the project's file as it is now.
    pub fn trust_project(&self) -> Result<(), PermissionFileError> {
        let _lock = self.lock()?;
        self.write_trust()
    }

    /// Keeps other writers away from the files until the lock is dropped. All of them lock a
    /// file beside that of the user, which agents cannot reach.
    pub(crate) fn lock(&self) -> Result<fs::File, PermissionFileError> {
        let user = self.user.as_deref().ok_or(PermissionFileError::NoUserFile)?;
        let failed = |cause| PermissionFileError::Write { file: user.to_owned(), cause };
        let folder = user.parent().filter(|folder| !folder.as_os_str().is_empty());
        fs::create_dir_all(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        let mut name = user.as_os_str().to_owned();
        name.push(".lock");
        let file = fs::File::create(name).map_err(failed)?;
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
                Err(fs::TryLockError::Error(cause)) => return Err(failed(cause)),
            }
        }
        Err(PermissionFileError::Locked(user.to_owned()))
    }

    /// Writes into the user's file that the project's is trusted. The caller holds the lock.
    pub(crate) fn write_trust(&self) -> Result<(), PermissionFileError> {
        let user = self.user.as_deref().ok_or(PermissionFileError::NoUserFile)?;
        let folder = self.project.as_deref().ok_or(PermissionFileError::NoProject)?;
        let text = read_text(&folder.join(PROJECT_PERMISSIONS))?.unwrap_or_default();
        let trusted = TrustedProject { project: folder_name(folder), sha256: sha256(&text) };
        let of_user = read_text(user)?.unwrap_or_default();
        let changed =
            set_trust(&of_user, &trusted).map_err(|error| PermissionFileError::Write {
                file: user.to_owned(),
                cause: io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
            })?;
        write(user, &changed)
    }

    fn trusts(&self, user: &ReadFile, project: &ReadFile) -> bool {
        let Some(folder) = &self.project else { return false };
        let (name, hash) = (folder_name(folder), sha256(&project.text));
        !self.is_inside_project(&user.path)
            && user.content.trust.iter().any(|entry| entry.project == name && entry.sha256 == hash)
    }

    fn is_inside_project(&self, file: &Path) -> bool {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.project.as_deref().is_some_and(|root| canonical(file).starts_with(canonical(root)))
    }

    /// Returns what the files look like now.
    pub(crate) fn stamps(&self) -> [FileStamp; 2] {
        [self.user.clone(), self.project_file()].map(|path| FileStamp(path.and_then(stamp)))
    }
}

/// A file as it was read.
struct ReadFile {
    path: PathBuf,
    text: String,
    content: PermissionFile,
}

impl LoadedPermissions {
    fn add(&mut self, file: &ReadFile, scope: RuleScope, force: RuleForce) {
        let name: Arc<str> = file.path.display().to_string().into();
        for FileRule { rule, line, tests, failures } in &file.content.rules {
            self.tests += tests;
            let refused = !failures.is_empty();
            self.failures.extend(failures.iter().map(ToString::to_string));
            if refused && rule.verdict == PermissionPolicy::Allow {
                continue;
            }
            let force = if refused { RuleForce::FailsTests } else { force };
            let (rule, file) = (rule.clone(), name.clone());
            self.rules.push(PlacedRule { rule, scope, file, line: *line, force });
        }
    }
}

fn read(path: &Path, category_of: CategoryOf<'_>) -> Result<Option<ReadFile>, PermissionFileError> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    let content = parse_permissions(&path.display().to_string(), &text, category_of)?;
    Ok(Some(ReadFile { path: path.to_owned(), text, content }))
}

/// Reads the text of a file; `None` if there is none.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, PermissionFileError> {
    let failed = |cause| PermissionFileError::Read { file: path.to_owned(), cause };
    let invalid = |text: &str| failed(io::Error::new(io::ErrorKind::InvalidData, text));
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(invalid("it is not a file")),
        Ok(metadata) if metadata.len() > MAX_BYTES => return Err(invalid("it is too large")),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut text = String::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
    read.map(|_| Some(text)).map_err(failed)
}

/// Replaces a file as a whole, and creates its folder.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), PermissionFileError> {
    let replace = || -> io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let temporary = folder.join(format!(".permissions.{}.tmp", std::process::id()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    replace().map_err(|cause| PermissionFileError::Write { file: path.to_owned(), cause })
}

fn stamp(path: PathBuf) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn folder_name(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
