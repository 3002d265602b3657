//! The file with the keys of the user.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::KeyPress;

/// The keys of actions, by name; an action without keys is not bound.
pub(crate) type UserKeys = BTreeMap<String, Vec<String>>;

/// The file of the user: a section for the chat and one for the inbox.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyFile {
    #[serde(default)]
    pub(crate) keys: UserKeys,
    #[serde(default)]
    pub(crate) inbox: UserKeys,
}

impl KeyFile {
    /// Reads the file, if there is one.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, String> {
        let Some(file) = file.filter(|file| file.exists()) else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        Self::parse(&text).map_err(|error| format!("in {}: {error}", file.display()))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}

/// Fails if the user has a name that the table does not have.
pub(super) fn check_names(names: &[&str], user: &UserKeys) -> Result<(), String> {
    match user.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(format!("there is no action `{name}`; docs/CHAT.md lists them")),
        None => Ok(()),
    }
}

/// Returns the keys of a table whose names are those that the user may write.
pub(crate) fn bind_keys<A: Copy>(
    rows: impl Iterator<Item = (&'static str, A, &'static [&'static str])>,
    user: &UserKeys,
) -> Result<Vec<(KeyPress, A)>, String> {
    let rows: Vec<_> = rows.collect();
    let names: Vec<&str> = rows.iter().map(|(name, ..)| *name).collect();
    check_names(&names, user)?;
    bind_rows(rows.into_iter(), user)
}

/// Returns the keys of a table: a name, its action and its default keys. Keys of the user are
/// last, so that they take keys from other actions.
pub(super) fn bind_rows<A: Copy>(
    rows: impl Iterator<Item = (&'static str, A, &'static [&'static str])>,
    user: &UserKeys,
) -> Result<Vec<(KeyPress, A)>, String> {
    let rows: Vec<_> = rows.collect();
    let mut bound: Vec<(KeyPress, A)> = Vec::new();
    let mut add = |key: &str, action: A| -> Result<(), String> {
        let key: KeyPress = key.parse()?;
        bound.retain(|(other, _)| *other != key);
        bound.push((key, action));
        Ok(())
    };
    for (_, action, keys) in rows.iter().filter(|(name, ..)| !user.contains_key(*name)) {
        keys.iter().try_for_each(|key| add(key, *action))?;
    }
    for (name, action, _) in &rows {
        let own = user.get(*name).into_iter().flatten();
        own.into_iter().try_for_each(|key| add(key, *action))?;
    }
    Ok(bound)
}
