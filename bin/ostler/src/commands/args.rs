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
    /// Work on the server at this address, to which you have logged in
    #[arg(long, value_name = "URL", conflicts_with = "context")]
    pub(crate) server: Option<String>,
    /// Work on the server of this context; `ostler context ls` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl InstallationArgs {
    /// The installation that is found without arguments.
    pub(crate) const fn none() -> Self {
        Self { home: None, database: None, server: None, context: None }
    }
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
        env = keys::ORG,
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) org: String,
    #[command(flatten)]
    pub(crate) installation: InstallationArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The orgs that a listing is about.
#[derive(Debug, Args)]
pub(crate) struct OrgsArgs {
    /// Org, by slug or id [default: all orgs]
    #[arg(
        long,
        value_name = "ORG",
        env = keys::ORG,
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

impl BusArgs {
    /// Returns the option that names the same org in another command, after a space.
    pub(crate) fn org_option(&self) -> String {
        self.org.as_ref().map_or_else(String::new, |org| format!(" --org {org}"))
    }
}

/// A message to a queue agent or a team.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// Text of the message
    #[arg(value_name = "TEXT", value_parser = parse_text)]
    pub(crate) text: String,
    /// Type of the message
    #[arg(long = "type", value_name = "TYPE", default_value = "say")]
    pub(crate) kind: EnvelopeKind,
}

/// Parses a text that has at least one visible character.
pub(super) fn parse_text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("it must not be empty".to_owned());
    }
    Ok(text.to_owned())
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
/// `text` (at least two characters, after an optional `…`). Fails if several do.
pub(super) fn match_id<I: Copy + Display + FromStr>(
    text: &str,
    known: &[I],
) -> anyhow::Result<Option<I>> {
    if let Ok(id) = text.parse() {
        return Ok(Some(id));
    }
    let suffix = text.rsplit('…').next().unwrap_or(text);
    let has_suffix = |id: &&I| suffix.len() >= 2 && id.to_string().ends_with(suffix);
    let found: Vec<I> = known.iter().filter(has_suffix).copied().collect();
    if found.len() > 1 {
        let found: Vec<String> = found.iter().map(|id| format!("\n  {id}")).collect();
        anyhow::bail!(
            "several ids end in `{suffix}`; write more of the one you mean:{}",
            found.concat()
        );
    }
    Ok(found.first().copied())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ostler_domain::id::SessionId;

    use super::{match_id, parse_duration};

    #[test]
    fn an_id_is_named_by_its_end_unless_that_is_ambiguous() {
        let known = [1, 33, 34].map(SessionId::from_u128);
        let ends = known.map(|id| id.to_string().split_off(28));
        let found = |text: &str| match_id(text, &known).map_err(|error| error.to_string());
        assert_eq!(found(&known[1].to_string()), Ok(Some(known[1])));
        assert_eq!(found(&ends[2]), Ok(Some(known[2])), "{ends:?}");
        assert_eq!(found(&format!("ses_…{}", ends[2])), Ok(Some(known[2])));
        assert_eq!(found("zz"), Ok(None));
        let several = match_id("01", &[1, 1 << 10 | 1].map(SessionId::from_u128));
        assert!(several.is_err_and(|error| error.to_string().contains("several ids end in `01`")));
    }

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
