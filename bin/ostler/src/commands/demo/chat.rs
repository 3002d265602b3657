//! Bella Pizza's web chat: a secret that signs its visitors' tokens, so that the
//! chat can be used from a browser on this machine.

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_store::Store;

use crate::home::Home;
use crate::{random, secrets};

/// Opens the web chat of an org, and says which one it is.
pub(super) async fn open(home: &Home, store: &Store, org: OrgId) -> anyhow::Result<BindingId> {
    let bindings = store.org(org).bindings(None, 100).await?;
    let chat = bindings.into_iter().find(|one| one.binding.channel == Channel::Webchat);
    let mut chat = chat.context("bella has no web chat")?;
    let at = secrets::keep(home, org, "webchat", &random::text()?)?;
    if chat.secret.as_ref() != Some(&at) {
        chat.secret = Some(at);
        store.org(org).save_binding(chat.clone()).await?;
    }
    Ok(chat.binding.id)
}
