//! The web chat of the demo, usable from a browser on this machine.

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_store::Store;

use crate::installation::Installation;
use crate::{random, secrets};

/// Gives the web binding of an org a secret that signs its visitors' tokens, and returns
/// its binding.
pub(super) async fn enable(
    installation: &Installation,
    store: &Store,
    org: OrgId,
) -> anyhow::Result<BindingId> {
    let bindings = store.org(org).bindings(None, 100).await?;
    let binding = bindings.into_iter().find(|binding| binding.binding.channel == Channel::Webchat);
    let mut binding = binding.context("bella has no web chat")?;
    let at = secrets::create(installation, org, "webchat", &random::hex()?)?;
    if binding.secret.as_ref() != Some(&at) {
        binding.secret = Some(at);
        store.org(org).save_binding(binding.clone()).await?;
    }
    Ok(binding.binding.id)
}
