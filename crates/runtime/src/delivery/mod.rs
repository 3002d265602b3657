//! Delivery: what was committed goes out, in order, and what became of it is
//! known or said to be unknown.
//!
//! Owns the way from an outbox row to a provider. It never decides what is said
//! or to whom; whether something is tried again is
//! [`ostler_domain::channel::delivery`]'s to say, and how a message looks on a
//! channel is `channels`'.
//!
//! | module | what it owns |
//! |---|---|
//! | [`courier`] | the workers that claim rows, and the sweep over what nobody tries |
//! | `attempt` | one claimed row, up to what became of it |
//! | `bus` | an answer to whoever asked on the bus |
//! | `letter` | what is tried again by itself, and what is given up |
//! | `message` | what an outbox row is in the words of channels |
//! | [`typing`] | showing that somebody is writing |

mod attempt;
mod bus;
pub mod courier;
mod letter;
mod message;
pub mod typing;

pub use courier::{Courier, SendOptions};
pub(crate) use message::address;
pub use typing::Typing;

use ostler_channels::BindingConfig;
use ostler_domain::id::OrgId;
use ostler_store::OrgBinding;

/// A binding as channels know it.
pub fn config(org: OrgId, bound: &OrgBinding) -> BindingConfig {
    let OrgBinding { binding, settings, secret, .. } = bound.clone();
    BindingConfig { org, binding, settings, secret }
}
