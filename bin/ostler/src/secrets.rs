//! Secrets that this program makes for an org, in files that only whoever runs it
//! can read, and what is said of those that others keep.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use anyhow::{Context as _, bail};
use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;
use ostler_engine::secret::{NoSecret, Secret};

use crate::home::Home;
use crate::screen::WAITS;

/// A secret of an org under this name: the one that is there, or this new one.
pub(crate) fn keep(home: &Home, org: OrgId, name: &str, new: &str) -> anyhow::Result<SecretRef> {
    let folder = home.secrets().join(org.to_string());
    let file = folder.join(name);
    let wrong = || format!("cannot write {}", file.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).with_context(wrong)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
        Ok(mut made) => made.write_all(new.as_bytes()).with_context(wrong)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(wrong),
    }
    Ok(SecretRef::File(file.display().to_string()))
}

/// Takes a place that was named for a secret. It has to be the org's own; the
/// secret has to be there where it is used, which may be elsewhere.
pub(crate) fn accept(found: Result<Secret, NoSecret>) -> anyhow::Result<()> {
    match found {
        Ok(_) => Ok(()),
        Err(missing @ (NoSecret::NotSet(_) | NoSecret::NoFile { .. })) => {
            anstream::eprintln!("{WAITS}note{WAITS:#}: the secret is not here yet; {missing}");
            Ok(())
        }
        Err(refused) => bail!(refused),
    }
}
