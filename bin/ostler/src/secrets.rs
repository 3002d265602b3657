//! The secrets of orgs: where they are, and files for the secrets that this program creates.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use anyhow::{Context as _, bail};
use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;
use ostler_engine::secret::OrgSecrets;
use ostler_engine::secret::{Secret, SecretError};

use crate::config::keys::{ORG_SECRET_PREFIX, UNSPLASH_KEY};
use crate::installation::Installation;

/// Returns the secrets of orgs: the variables of an org, and the files in its folder
/// below `secrets`.
pub(crate) fn org_secrets(installation: &Installation) -> OrgSecrets {
    OrgSecrets::default()
        .with_variables(ORG_SECRET_PREFIX)
        .with_folder(installation.secrets_folder())
}

/// Returns the secrets of services that tools use: those of the org and the operator's
/// key. Channels must not get the latter: an org chooses where a channel sends its
/// secret.
pub(crate) fn service_secrets(installation: &Installation) -> OrgSecrets {
    org_secrets(installation).with_shared(shared_unsplash_key())
}

/// Returns the place of the operator's key for Unsplash.
pub(crate) fn shared_unsplash_key() -> SecretRef {
    SecretRef::Env(UNSPLASH_KEY.to_owned())
}

/// Returns the default variable for an org's key of a service.
pub(crate) fn org_variable(org: OrgId, service: &str) -> SecretRef {
    let name = format!("{ORG_SECRET_PREFIX}{org}_{service}").to_uppercase();
    SecretRef::Env(name)
}

/// Writes a new secret of an org into a file that only its owner can read. An existing
/// file is left unchanged.
pub(crate) fn create(
    installation: &Installation,
    org: OrgId,
    name: &str,
    secret: &str,
) -> anyhow::Result<SecretRef> {
    let folder = installation.secrets_folder().join(org.to_string());
    let file = folder.join(name);
    let context = || format!("cannot write {}", file.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).with_context(context)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
        Ok(mut created) => created.write_all(secret.as_bytes()).with_context(context)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(context),
    }
    // Relative to the folder of the org, so that the installation can be moved.
    Ok(SecretRef::File(name.to_owned()))
}

/// Checks the result of reading a secret. A place that belongs to another org is an
/// error; a secret that is missing gets only a note, because it may exist where it is
/// used. `of` is what the secret belongs to, such as a channel with its name.
pub(crate) fn missing_note(
    of: &str,
    read: Result<Secret, SecretError>,
) -> anyhow::Result<Option<String>> {
    match read {
        Ok(_) => Ok(None),
        Err(missing @ (SecretError::NotSet(_) | SecretError::FileUnreadable { .. })) => {
            Ok(Some(format!("the secret of {of} is not on this machine yet; {missing}")))
        }
        Err(error) => bail!(error),
    }
}
