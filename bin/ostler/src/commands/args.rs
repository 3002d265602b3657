//! Arguments that several commands take.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use ostler_bus::EnvelopeKind;

use crate::config::keys;

/// The installation that a command works on.
#[derive(Debug, Args)]
pub(crate) struct InstallationArgs {
    /// Folder of the installation, with its ostler.toml [default: the current
    /// folder, or target/demo]
    #[arg(long, value_name = "FOLDER", env = keys::HOME)]
    pub(crate) home: Option<PathBuf>,
    /// Database to use instead of the one in ostler.toml or OSTLER_DATABASE_URL:
    /// sqlite:PATH or postgres://…
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
}

/// The format of the output.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The org that a command works on.
#[derive(Debug, Args)]
pub(crate) struct OrgArgs {
    /// Org, by slug or id [default: the only one beside the platform]
    #[arg(
        long,
        value_name = "ORG",
        env = "OSTLER_ORG",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) org: String,
    #[command(flatten)]
    pub(crate) installation: InstallationArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The org whose queue agents a command works with, and the bus that reaches them.
#[derive(Debug, Args)]
pub(crate) struct BusArgs {
    /// Org that owns the agents, by slug or id [default: the platform]
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    /// Message bus: memory: for this process alone, or amqp://… for a broker that
    /// processes share [default: the one in ostler.toml or OSTLER_BUS_URL, or memory:]
    #[arg(long = "bus", value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) installation: InstallationArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A message to a queue agent or a team.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// Text of the message
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Type of the message
    #[arg(long = "type", value_name = "TYPE", default_value = "say")]
    pub(crate) kind: EnvelopeKind,
}

/// Parses a positive duration such as `30s`, `500ms` or `2m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    let positive = parsed.and_then(|duration| Duration::try_from(duration).ok());
    positive
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "write a duration like 30s, 500ms or 2m".to_owned())
}

/// Returns the id that `text` names: a complete id, or the known id that ends with
/// `text` (at least two characters, after an optional `…`).
pub(super) fn match_id<I: Copy + Display + FromStr>(text: &str, known: &[I]) -> Option<I> {
    let suffix = text.rsplit('…').next().unwrap_or(text);
    let complete = text.parse().ok();
    complete.or_else(|| {
        let has_suffix = |id: &&I| suffix.len() >= 2 && id.to_string().ends_with(suffix);
        known.iter().find(has_suffix).copied()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse_duration;

    #[test]
    fn durations_are_positive_numbers_with_units() {
        let table = [
            ("30s", Some(30_000)),
            ("500ms", Some(500)),
            ("2m", Some(120_000)),
            ("1m 30s", Some(90_000)),
            ("0s", None),
            ("-3s", None),
            ("soon", None),
            ("", None),
        ];
        for (text, millis) in table {
            assert_eq!(parse_duration(text).ok(), millis.map(Duration::from_millis), "{text}");
        }
    }
}
