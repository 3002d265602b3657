//! `ostler config`: the configuration that applies, and where each value comes from.

use clap::Args;
use serde_json::{Value, json};

use super::args::{InstallationArgs, OutputArgs};
use crate::config::keys::{KEYS, Key};
use crate::config::redact::redact;
use crate::config::{Config, Source, reference};
use crate::installation::{CONFIG_FILE, Installation};
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler config
  ostler config --home /srv/ostler --json
  ostler config --reference

Flags win over variables, and variables win over ostler.toml. Passwords in URLs are
not shown. docs/CONFIGURATION.md describes every key; --reference prints it.")]
pub(crate) struct ConfigArgs {
    /// Print the description of every key and variable, as Markdown
    #[arg(long)]
    reference: bool,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<()> {
    if args.reference {
        anstream::print!("{}", reference::render_page());
        return Ok(());
    }
    let installation = Installation::find(&args.installation)?;
    let values = effective_values(&installation.config)?;
    let file = installation.folder.join(CONFIG_FILE).display().to_string();
    let source = |key: &Key| match installation.sources.of(key.name) {
        Source::Default => "default".to_owned(),
        Source::File => file.clone(),
        Source::Variable(name) | Source::Flag(name) => name.to_owned(),
    };
    if args.output.json {
        let all: Vec<Value> = KEYS
            .iter()
            .zip(&values)
            .map(|(key, value)| {
                json!({"key": key.name, "value": value, "source": source(key),
                    "variable": key.variable})
            })
            .collect();
        return super::print_json(&all);
    }
    let header = ["key", "value", "from"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    for (key, value) in KEYS.iter().zip(&values) {
        let source = match installation.sources.of(key.name) {
            Source::Default => Cell::styled("default", DIM),
            _ => source(key).into(),
        };
        rows.push([key.name.into(), show(value).into(), source]);
    }
    print_rows(&rows);
    Ok(())
}

/// Returns the value of each key, in the order of [`KEYS`], without passwords. `Null` means
/// that it is not set and has no default.
fn effective_values(config: &Config) -> anyhow::Result<Vec<Value>> {
    let set = serde_json::to_value(config)?;
    let value = |key: &Key| match (&set[key.name], key.default) {
        (Value::Null, Some(default)) => {
            serde_json::from_str(default).unwrap_or_else(|_| Value::String(default.to_owned()))
        }
        (value, _) => without_passwords(value),
    };
    Ok(KEYS.iter().map(value).collect())
}

fn without_passwords(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(text)),
        Value::Array(items) => Value::Array(items.iter().map(without_passwords).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::Object(
                fields.map(|(name, value)| (name.clone(), without_passwords(value))).collect(),
            )
        }
        other => other.clone(),
    }
}

/// Formats a value for people: lists and tables by what tells their items apart.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(show_item).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.keys().cloned().collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Formats an item of a list: a text, or the name and the address of a provider.
fn show_item(item: &Value) -> String {
    match (item["name"].as_str(), item["base_url"].as_str()) {
        (Some(name), Some(url)) => format!("{name} ({url})"),
        _ => show(item),
    }
}
