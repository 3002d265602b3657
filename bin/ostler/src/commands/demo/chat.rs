//! Bella Pizza's web chat: a secret that signs its visitors' tokens, so that the
//! chat can be used from a browser on this machine.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_store::Store;

use crate::home::Home;
use crate::random;

/// Opens the web chat of an org, and says which one it is.
pub(super) async fn open(home: &Home, store: &Store, org: OrgId) -> anyhow::Result<BindingId> {
    let bindings = store.org(org).bindings(None, 100).await?;
    let chat = bindings.into_iter().find(|one| one.binding.channel == Channel::Webchat);
    let mut chat = chat.context("bella has no web chat")?;
    let at = secret(home, org)?;
    if chat.secret.as_ref() != Some(&at) {
        chat.secret = Some(at);
        store.org(org).save_binding(chat.clone()).await?;
    }
    Ok(chat.binding.id)
}

/// The file with the secret, which only its owner can read.
fn secret(home: &Home, org: OrgId) -> anyhow::Result<SecretRef> {
    let folder = home.secrets().join(org.to_string());
    let file = folder.join("webchat");
    let wrong = || format!("cannot write {}", file.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).with_context(wrong)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
        Ok(mut new) => new.write_all(random::text()?.as_bytes()).with_context(wrong)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(wrong),
    }
    Ok(SecretRef::File(file.display().to_string()))
}
