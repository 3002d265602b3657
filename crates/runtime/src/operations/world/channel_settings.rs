//! Rules about the settings of channels, which only the channels themselves know.

use ostler_channels::check_settings;
use ostler_domain::channel::Channel;
use ostler_world::rules::Violation;
use ostler_world::spec::ChannelDefinition;
use ostler_world::{Address, Kind, Resources, unknown_name};

/// Returns what is wrong with the settings of the changed channels that are on. A channel whose
/// settings are not changed is left alone, so that an old one never prevents other changes.
pub(super) fn violations<'a>(
    before: &Resources,
    after: &Resources,
    changed: impl IntoIterator<Item = &'a Address>,
) -> Vec<Violation> {
    let channels = changed.into_iter().filter(|address| address.kind == Kind::Channel);
    let found = channels.filter_map(|address| {
        let spec = |side: &Resources| side.get(address)?.spec::<ChannelDefinition>().ok();
        let channel = spec(after)?;
        let is_known = |old: ChannelDefinition| old.enabled && old.settings == channel.settings;
        if !channel.enabled || spec(before).is_some_and(is_known) {
            return None;
        }
        let (path, message) = violation(&channel)?;
        Some(Violation { address: address.clone(), path, message })
    });
    found.collect()
}

fn violation(channel: &ChannelDefinition) -> Option<(String, String)> {
    if let Channel::Named(name) = &channel.kind
        && !channel.settings.contains_key("url")
    {
        let unknown = unknown_name("channel", name, Channel::KNOWN);
        let message = format!("{unknown} (a webhook of that name needs its `url` in `settings`)");
        return Some(("kind".to_owned(), message));
    }
    let settings = serde_json::to_string(&channel.settings).ok()?;
    let invalid = check_settings(&channel.kind, &settings).err()?;
    Some(match invalid.path.as_str() {
        "" => {
            let message = format!("the settings of this {} channel: {invalid}", channel.kind);
            ("settings".to_owned(), message)
        }
        path => (format!("settings.{path}"), invalid.reason),
    })
}
