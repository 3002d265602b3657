//! Bindings: an org's connections to channels, and the choice of one to send
//! through.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Channel;
use crate::id::BindingId;
use crate::secret::SecretRef;

/// A connection of an org to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub id: BindingId,
    /// The name in commands and files, unique in the org. Empty in bindings that were
    /// stored without one; see [`Binding::name`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub channel: Channel,
    pub enabled: bool,
    /// The lowest number is preferred.
    pub priority: u32,
}

impl Binding {
    /// Returns the name in commands and files.
    pub fn name(&self) -> String {
        if self.name.is_empty() { self.id.to_string() } else { self.name.clone() }
    }

    /// Returns a name for a new binding that none of the org has: that of the channel,
    /// with a number if it is taken.
    pub fn free_name<'a>(channel: &Channel, taken: impl Iterator<Item = &'a Self>) -> String {
        let taken: BTreeSet<String> = taken.map(Self::name).collect();
        let numbered = (2..).map(|number| format!("{channel}-{number}"));
        let mut names = std::iter::once(channel.to_string()).chain(numbered);
        names.find(|name| !taken.contains(name)).unwrap_or_default()
    }
}

/// No enabled binding for a channel. The message is kept and the owner is notified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no enabled binding for {0}")]
pub struct NoBinding(pub Channel);

/// Chooses the enabled binding with the lowest priority number.
pub fn choose_binding<'a>(
    bindings: impl IntoIterator<Item = &'a Binding>,
    channel: &Channel,
) -> Result<&'a Binding, NoBinding> {
    bindings
        .into_iter()
        .filter(|binding| binding.enabled && binding.channel == *channel)
        .min_by_key(|binding| (binding.priority, binding.id))
        .ok_or_else(|| NoBinding(channel.clone()))
}

/// Returns another enabled binding of the same Telegram bot, if there is one.
/// Telegram delivers each update once, so only one binding of a bot can be enabled.
pub fn binding_of_same_bot<'a>(
    (new, token): (&Binding, Option<&SecretRef>),
    others: impl IntoIterator<Item = (&'a Binding, Option<&'a SecretRef>)>,
) -> Option<BindingId> {
    let is_active_bot = |binding: &Binding| binding.enabled && binding.channel == Channel::Telegram;
    let is_same_bot = |(other, other_token): &(&Binding, Option<&SecretRef>)| {
        is_active_bot(other) && other.id != new.id && *other_token == token
    };
    let same = others.into_iter().find(is_same_bot);
    same.filter(|_| is_active_bot(new)).map(|(other, _)| other.id)
}

#[cfg(test)]
mod tests {
    use super::{Binding, NoBinding, binding_of_same_bot, choose_binding};
    use crate::channel::Channel;
    use crate::id::BindingId;
    use crate::secret::SecretRef;

    fn binding(id: u128, channel: &str, priority: u32, enabled: bool) -> Binding {
        let (id, channel) = (BindingId::from_u128(id), Channel::from(channel));
        Binding { id, name: String::new(), channel, enabled, priority }
    }

    /// C15: the enabled binding with the lowest number is used; without one it is an
    /// error.
    #[test]
    fn c15_the_enabled_binding_with_the_lowest_number_is_used() {
        let bindings = [
            binding(1, "telegram", 20, true),
            binding(2, "telegram", 10, true),
            binding(3, "telegram", 5, false),
            binding(4, "email", 1, true),
            binding(5, "sms", 1, false),
        ];
        let chosen = |channel: &str| {
            choose_binding(&bindings, &Channel::from(channel)).map(|binding| binding.id.as_u128())
        };
        assert_eq!(chosen("telegram"), Ok(2));
        assert_eq!(chosen("email"), Ok(4));
        assert_eq!(chosen("sms"), Err(NoBinding(Channel::Sms)));
        assert_eq!(chosen("webchat"), Err(NoBinding(Channel::Webchat)));
    }

    #[test]
    fn a_bot_has_at_most_one_enabled_binding() {
        let place = |name: &str| SecretRef::Env(name.to_owned());
        let (a, b) = (place("A"), place("B"));
        let used = binding(1, "telegram", 1, true);
        let check = |new: &Binding, token: &SecretRef, other: &Binding, expected: Option<u128>| {
            let found = binding_of_same_bot((new, Some(token)), [(other, Some(&a))]);
            assert_eq!(found.map(BindingId::as_u128), expected, "{new:?} beside {other:?}");
        };
        check(&binding(2, "telegram", 1, true), &a, &used, Some(1));
        check(&binding(2, "telegram", 1, true), &b, &used, None);
        check(&binding(2, "telegram", 1, false), &a, &used, None);
        check(&binding(2, "telegram", 1, true), &a, &binding(1, "telegram", 1, false), None);
        check(&binding(2, "webchat", 1, true), &a, &binding(1, "webchat", 1, true), None);
        check(&used, &a, &used, None);
    }
}
