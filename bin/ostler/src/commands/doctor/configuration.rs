//! Checks `ostler.toml` and the variables.

use ostler_store::HealthCheck;

use super::{failed, join_problems, ok, warning};
use crate::config::keys::{KEYS, OTHER_VARIABLES, is_known_variable};
use crate::installation::{CONFIG_FILE, Installation};
use ostler_world::unknown_name;

const NAME: &str = "configuration";

/// Returns the check of a configuration that cannot be read.
pub(super) fn unreadable(error: &anyhow::Error) -> HealthCheck {
    failed(NAME, format!("{error:#}."))
}

pub(super) fn check(installation: &Installation) -> Vec<HealthCheck> {
    let problems = unknown_variables();
    if problems.is_empty() {
        let file = installation.folder.join(CONFIG_FILE);
        let place = if file.exists() { file.display().to_string() } else { "variables".into() };
        return vec![ok(NAME, format!("It is read from {place}; see `ostler config`."))];
    }
    vec![warning(NAME, join_problems(&problems))]
}

/// Returns the variables that look like ours and are not.
fn unknown_variables() -> Vec<String> {
    let known = KEYS.iter().map(|key| key.variable);
    let known: Vec<&str> = known.chain(OTHER_VARIABLES.iter().map(|(name, _)| *name)).collect();
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = names.filter(|name| name.starts_with("OSTLER_") && !is_known_variable(name));
    unknown.map(|name| unknown_name("variable", &name, known.iter().copied())).collect()
}
