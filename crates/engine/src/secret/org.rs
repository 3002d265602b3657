//! The secrets that orgs may name. Orgs write their own settings, so one could name
//! the operator's secrets or another org's. A named secret is therefore read only
//! if it lies in the org's own namespace or is shared with all orgs.
//!
//! The namespace contains the whole org id. All ids have the same length, so no
//! org's namespace is a prefix of another's.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;

use super::{Secret, SecretError, as_key, read};

/// What orgs may read as secrets on the operator's machine: nothing unless it is
/// added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrgSecrets {
    prefix: Option<String>,
    folder: Option<PathBuf>,
    shared: HashSet<SecretRef>,
}

impl OrgSecrets {
    /// Allows each org its own environment variables: this prefix, the org id in
    /// capitals, `_` and a name. With `OSTLER_SECRET_` that is
    /// `env:OSTLER_SECRET_ORG_01JD…_UNSPLASH`.
    #[must_use]
    pub fn with_variables(self, prefix: &str) -> Self {
        Self { prefix: Some(prefix.to_owned()), ..self }
    }

    /// Allows each org the files in the subfolder named after its id. A path that is not
    /// absolute is one in that folder, so that an installation can be moved.
    #[must_use]
    pub fn with_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Allows every org this secret.
    #[must_use]
    pub fn with_shared(mut self, reference: SecretRef) -> Self {
        self.shared.insert(reference);
        self
    }

    /// Reads a secret named by an org.
    pub fn read(&self, org: OrgId, reference: &SecretRef) -> Result<Secret, SecretError> {
        let reference = &self.resolve(org, reference);
        let allowed = self.shared.contains(reference)
            || match reference {
                SecretRef::Env(name) => self.is_own_variable(org, name),
                SecretRef::File(path) => self.is_own_file(org, Path::new(path)),
            };
        if allowed { read(reference) } else { Err(SecretError::NotAllowed(reference.clone())) }
    }

    /// Returns the place of a secret with the whole path of its file.
    fn resolve(&self, org: OrgId, reference: &SecretRef) -> SecretRef {
        match (reference, &self.folder) {
            (SecretRef::File(path), Some(folder)) if Path::new(path).is_relative() => {
                SecretRef::File(folder.join(org.to_string()).join(path).display().to_string())
            }
            _ => reference.clone(),
        }
    }

    /// Reads an API key named by an org.
    pub fn read_key(&self, org: OrgId, reference: &SecretRef) -> Result<Secret, SecretError> {
        as_key(reference, self.read(org, reference)?)
    }

    fn is_own_variable(&self, org: OrgId, name: &str) -> bool {
        let Some(prefix) = &self.prefix else { return false };
        let own = format!("{prefix}{}_", org.to_string().to_uppercase());
        name.strip_prefix(&own).is_some_and(|rest| !rest.is_empty())
    }

    /// Checks that the path leads down from the org's folder, both as written and after
    /// resolving links.
    fn is_own_file(&self, org: OrgId, path: &Path) -> bool {
        let Some(folder) = &self.folder else { return false };
        let own = folder.join(org.to_string());
        let Ok(rest) = path.strip_prefix(&own) else { return false };
        let down = |part: Component<'_>| matches!(part, Component::Normal(_));
        if rest.as_os_str().is_empty() || !rest.components().all(down) {
            return false;
        }
        match (own.canonicalize(), path.canonicalize()) {
            (Ok(own), Ok(path)) => path.starts_with(own) && path.is_file(),
            // A missing file belongs to the org; reading it reports how to create it.
            (_, Err(error)) => error.kind() == std::io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => false,
        }
    }
}

/// Whose secrets may be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SecretScope {
    /// All that the operator's process can read.
    #[default]
    Operator,
    /// The secrets that belong to an org.
    Org(OrgId, OrgSecrets),
}

impl SecretScope {
    /// Reads a secret.
    pub fn read(&self, reference: &SecretRef) -> Result<Secret, SecretError> {
        match self {
            Self::Operator => read(reference),
            Self::Org(org, secrets) => secrets.read(*org, reference),
        }
    }

    /// Reads an API key: one line of ASCII characters, valid in an HTTP header.
    pub fn read_key(&self, reference: &SecretRef) -> Result<Secret, SecretError> {
        as_key(reference, self.read(reference)?)
    }
}

#[cfg(test)]
mod tests {
    use super::OrgSecrets;
    use crate::secret::SecretError;
    use ostler_domain::id::OrgId;
    use ostler_domain::secret::SecretRef;
    use std::path::Path;

    const ORG: OrgId = OrgId::from_u128(1);
    const OTHER: OrgId = OrgId::from_u128(2);

    fn refused(secrets: &OrgSecrets, at: &str) -> bool {
        let at: SecretRef = at.parse().unwrap();
        secrets.read(ORG, &at) == Err(SecretError::NotAllowed(at))
    }

    /// Every process has `PATH`, so it would be read if it were allowed.
    #[test]
    fn an_org_cannot_read_variables_of_the_operator_or_another_org() {
        let (own, theirs) = (ORG.to_string().to_uppercase(), OTHER.to_string().to_uppercase());
        let secrets = OrgSecrets::default().with_variables("OSTLER_SECRET_");
        let yes = format!("env:OSTLER_SECRET_{own}_UNSPLASH");
        assert!(!refused(&secrets, &yes));
        for no in [
            "env:PATH".to_owned(),
            "env:OSTLER_SECRET_".to_owned(),
            format!("env:OSTLER_SECRET_{own}"),
            format!("env:OSTLER_SECRET_{own}_"),
            format!("env:OSTLER_SECRET_{theirs}_UNSPLASH"),
            format!("env:OSTLER_SECRET_{ORG}_UNSPLASH"),
            format!("env:X_OSTLER_SECRET_{own}_UNSPLASH"),
            "file:/etc/passwd".to_owned(),
        ] {
            assert!(refused(&secrets, &no), "{no}");
            assert!(refused(&OrgSecrets::default(), &no), "{no}");
        }
        assert!(refused(&OrgSecrets::default(), &yes));
    }

    #[test]
    fn a_relative_path_is_one_in_the_folder_of_the_org() {
        let folder = std::env::temp_dir().join(format!("ostler-relative-{}", std::process::id()));
        let own = folder.join(ORG.to_string());
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("token"), "abc").unwrap();
        std::fs::write(folder.join("theirs"), "xyz").unwrap();
        let secrets = OrgSecrets::default().with_folder(&folder);
        let read = |path: &str| secrets.read(ORG, &SecretRef::File(path.to_owned()));
        assert_eq!(read("token").unwrap().expose(), "abc");
        assert!(matches!(read("../theirs"), Err(SecretError::NotAllowed(_))));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn shared_secrets_are_readable_by_every_org() {
        let path: SecretRef = "env:PATH".parse().unwrap();
        let secrets = OrgSecrets::default().with_shared(path.clone());
        for org in [ORG, OTHER] {
            assert_eq!(secrets.read(org, &path).unwrap().expose(), std::env::var("PATH").unwrap());
        }
        assert!(refused(&secrets, "env:HOME"));
    }

    #[test]
    fn an_org_cannot_read_files_outside_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            folder
        };
        let put = |folder: &Path, name: &str| {
            let path = folder.join(name);
            std::fs::write(&path, "hunter2").unwrap();
            format!("file:{}", path.display())
        };
        let (own, theirs) = (folder(&ORG.to_string()), folder(&OTHER.to_string()));
        let (mine, other, outside) = (put(&own, "key"), put(&theirs, "key"), put(root.path(), "x"));
        std::os::unix::fs::symlink(theirs.join("key"), own.join("link")).unwrap();
        std::os::unix::fs::symlink(own.join("key"), own.join("alias")).unwrap();
        std::os::unix::fs::symlink(theirs.join("none"), own.join("dangling")).unwrap();
        let secrets = OrgSecrets::default().with_folder(root.path());
        let read = |at: &str| secrets.read(ORG, &at.parse().unwrap());
        let at = |rest: &str| format!("file:{}/{rest}", own.display());
        assert_eq!(read(&mine).unwrap().expose(), "hunter2");
        assert_eq!(read(&at("alias")).unwrap().expose(), "hunter2");
        // A relative path is one in the folder of the org itself.
        let relative = format!("file:{ORG}/key");
        for missing in [at("none"), at("dangling"), relative] {
            assert!(matches!(read(&missing), Err(SecretError::FileUnreadable { .. })), "{missing}");
        }
        let up = at(&format!("../{OTHER}/key"));
        for no in [other, outside, at("link"), at(""), at("."), up] {
            assert!(refused(&secrets, &no), "{no}");
        }
    }
}
