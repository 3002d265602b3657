//! `ostler model ls`.

use std::collections::BTreeMap;

use clap::Args;
use ostler_domain::money::Usd;
use ostler_models::catalogue::{CatalogueEntry, KeyStatus};
use ostler_models::price::PriceSource;
use ostler_store::{ModelUses, Store};
use serde_json::{Value, json};

use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::installation::Installation;
use crate::model_catalogue;
use crate::screen::{Cell, DIM, GOOD, HEADER, WARNING, print_rows, thousands};

#[derive(Debug, Args)]
pub(crate) struct ModelLsArgs {
    /// List models without a key too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &ModelLsArgs) -> anyhow::Result<()> {
    let installation = Installation::find(&args.installation)?;
    let store = Store::open(&installation.database()).await?;
    let uses = store.model_uses().await?;
    let mut options = model_catalogue::options(&installation)?;
    options.usage = uses.iter().map(|(name, one)| (name.clone(), one.uses)).collect();
    let catalogue = model_catalogue::build_with(&installation, options)?;
    let default = catalogue.default_model().map(str::to_owned);
    let entries = catalogue.entries();
    if args.output.json {
        let all: Vec<Value> =
            entries.iter().map(|entry| entry_json(entry, &uses, default.as_deref())).collect();
        return crate::commands::print_json(&all);
    }
    let is_listed = |entry: &&CatalogueEntry| {
        let usable = !matches!(entry.key_status, KeyStatus::Missing { .. });
        args.all || usable || entry.uses > 0 || Some(&entry.name) == default.as_ref()
    };
    let listed: Vec<&CatalogueEntry> = entries.iter().filter(is_listed).collect();
    if !listed.is_empty() {
        let header = ["model", "key", "in", "out", "uses"];
        let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
        rows.extend(listed.iter().map(|entry| row(entry, default.as_deref())));
        print_rows(&rows);
    }
    print_notes(&entries, listed.len(), default.as_deref());
    Ok(())
}

fn row(entry: &CatalogueEntry, default: Option<&str>) -> [Cell; 5] {
    let name = match default {
        Some(default) if default == entry.name => format!("{} (default)", entry.name),
        _ => entry.name.clone(),
    };
    let key = match &entry.key_status {
        KeyStatus::KeyPresent => Cell::styled("set", GOOD),
        KeyStatus::NotNeeded => "not needed".into(),
        KeyStatus::Missing { .. } => Cell::styled("missing", WARNING),
    };
    let assumed = if entry.price_source == PriceSource::Assumed { "?" } else { "" };
    let price = |usd: Usd| format!("{usd}{assumed}");
    [
        name.into(),
        key,
        price(entry.price.input).into(),
        price(entry.price.output).into(),
        thousands(entry.uses).into(),
    ]
}

/// Prints how to set missing keys, once for each provider, and what is not shown.
fn print_notes(entries: &[CatalogueEntry], shown: usize, default: Option<&str>) {
    let mut missing: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in entries {
        if let KeyStatus::Missing { how } = &entry.key_status {
            missing.insert(&entry.provider, how);
        }
    }
    anstream::println!();
    for (provider, how) in missing {
        anstream::println!("{WARNING}{provider}{WARNING:#}  {how}");
    }
    if entries.iter().any(|entry| entry.price_source == PriceSource::Assumed) {
        anstream::println!(
            "{DIM}? is an assumed price; set yours with [price.\"NAME\"] in ostler.toml{DIM:#}"
        );
    }
    if default.is_none() {
        anstream::println!(
            "{WARNING}no default{WARNING:#}  agents without a model of their own cannot answer; \
             set `model` in ostler.toml"
        );
    }
    if shown < entries.len() {
        let hidden = entries.len() - shown;
        anstream::println!("{DIM}{hidden} models without a key are not shown; see --all{DIM:#}");
    }
}

fn entry_json(
    entry: &CatalogueEntry,
    uses: &BTreeMap<String, ModelUses>,
    default: Option<&str>,
) -> Value {
    let (key, how) = match &entry.key_status {
        KeyStatus::KeyPresent => ("present", None),
        KeyStatus::NotNeeded => ("not_needed", None),
        KeyStatus::Missing { how } => ("missing", Some(how)),
    };
    let dollars = |usd: Usd| usd.to_string().trim_start_matches('$').parse::<f64>().ok();
    json!({"name": entry.name, "provider": entry.provider, "key": key, "how_to_set_key": how,
        "default": default == Some(entry.name.as_str()),
        "price": {
            "input": dollars(entry.price.input),
            "output": dollars(entry.price.output),
            "assumed": entry.price_source == PriceSource::Assumed,
        },
        "uses": entry.uses,
        "last_used_at": uses.get(&entry.name).and_then(last_used)})
}

/// Returns when a model was last used, in the form of RFC 3339.
fn last_used(uses: &ModelUses) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(uses.last_used_at.as_millis()).ok()?;
    Some(at.to_string())
}
