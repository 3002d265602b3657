//! Bindings and peers in the form that channels take.

use ostler_channels::BindingConfig;
use ostler_domain::id::OrgId;
use ostler_domain::session::key::Peer;
use ostler_store::OrgBinding;

/// Returns the configuration that a channel connects with.
pub fn binding_config(org: OrgId, bound: &OrgBinding) -> BindingConfig {
    let OrgBinding { binding, settings, secret, .. } = bound.clone();
    BindingConfig { org, binding, settings, secret }
}

/// Returns the channel's identifier of a person or a group.
pub(crate) fn peer_address(peer: &Peer) -> &str {
    match peer {
        Peer::Person(name) | Peer::Group(name) => name,
    }
}
