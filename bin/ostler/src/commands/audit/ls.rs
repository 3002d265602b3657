//! `ostler audit ls`.

use std::cmp::Reverse;

use anyhow::{anyhow, bail};
use clap::Args;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use ostler_api::audit::{AuditEntry, AuditedChange};
use ostler_api::org::OrgSummary;
use ostler_api::problem::{Problem, ProblemCode};
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::api_client::open_orgs;
use crate::commands::args::{InstallationArgs, OutputArgs};
use crate::commands::session::view::format_time;
use crate::config::keys;
use crate::screen::{Cell, DIM, HEADER, format_rows, shorten, terminal_width};

#[derive(Debug, Args)]
pub(crate) struct AuditLsArgs {
    /// Org, by slug or id [default: all orgs]
    #[arg(long, value_name = "ORG", env = keys::ORG)]
    org: Option<String>,
    /// Actor: terminal, system, a person by e-mail, a key or an agent by name
    #[arg(long, value_name = "ACTOR")]
    actor: Option<String>,
    /// Changed object, by id, e-mail, agent or contact
    #[arg(long, value_name = "OBJECT")]
    object: Option<String>,
    /// Action, such as add_member
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// From this time on: 2026-11-18, 2026-11-18T14:00 or 24h ago
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
    /// Most entries to list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(args: &AuditLsArgs) -> anyhow::Result<()> {
    let orgs = open_orgs(&args.installation, args.org.as_deref().unwrap_or_default()).await?;
    let times = [args.since, args.until].map(|at| at.map(|at| at.as_millis().to_string()));
    let names = ["actor", "action", "object", "since", "until"];
    let values = [&args.actor, &args.action, &args.object, &times[0], &times[1]];
    let given = names.into_iter().zip(values);
    let query: Vec<(&str, &str)> =
        given.filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
    let mut found: Vec<(&OrgSummary, AuditEntry)> = Vec::new();
    let mut actor_is_known = false;
    for org in &orgs {
        match org.list(&["audit"], &query, args.limit as usize).await {
            Ok(entries) => {
                actor_is_known = true;
                found.extend(entries.into_iter().map(|entry| (&org.org, entry)));
            }
            Err(error) if is_unknown_actor(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if let (Some(actor), false) = (&args.actor, actor_is_known) {
        bail!(
            "no actor `{actor}`; use terminal, system, an e-mail address, or the name of a key or agent"
        );
    }
    found.sort_by_key(|(_, one)| Reverse((one.at, one.id)));
    found.truncate(args.limit as usize);
    if args.output.json {
        let all: Vec<Value> = found.iter().map(|(org, one)| entry_json(org, one)).collect();
        return crate::commands::print_json(&all);
    }
    if found.is_empty() {
        anstream::println!("no changes are recorded that match");
        return Ok(());
    }
    print(&found, args.org.is_none());
    Ok(())
}

/// Returns whether an org has no actor of the name that was given.
fn is_unknown_actor(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    problem.is_some_and(|problem| {
        problem.code == ProblemCode::Invalid && problem.detail.starts_with("no actor")
    })
}

fn entry_json(org: &OrgSummary, one: &AuditEntry) -> Value {
    json!({"id": one.id, "at": one.at, "org": org.slug, "org_id": org.id,
        "actor": one.actor_id, "actor_name": one.actor, "action": one.action,
        "object": one.subject, "object_name": one.object, "before": one.data["before"],
        "after": one.data["after"], "data": one.data})
}

/// Prints one line for each entry and one for each changed field below it.
fn print(found: &[(&OrgSummary, AuditEntry)], with_org: bool) {
    let header = ["time", "actor", "action", "object"].map(|text| Cell::styled(text, HEADER));
    let mut rows = vec![header];
    let mut details: Vec<Vec<String>> = vec![Vec::new()];
    for (org, one) in found {
        let object =
            if with_org { format!("{}: {}", org.slug, one.object) } else { one.object.clone() };
        rows.push([
            Cell::whole(format_time(one.at)),
            one.actor.as_str().into(),
            one.action.as_str().into(),
            object.into(),
        ]);
        details.push(one.changes.iter().map(change_text).collect());
    }
    let columns = terminal_width().map_or(usize::MAX, |width| width.saturating_sub(4));
    let lines: Vec<String> = format_rows(&rows);
    for (line, details) in lines.into_iter().zip(details) {
        anstream::println!("{line}");
        for detail in details {
            let detail = shorten(&detail, columns);
            anstream::println!("{DIM}    {detail}{DIM:#}");
        }
    }
}

/// Formats a change as `field: old → new`.
fn change_text(change: &AuditedChange) -> String {
    let AuditedChange { field, before, after } = change;
    match (before, after) {
        (before, after) if before == after => format!("{field}: {}", value_text(after)),
        (Value::Null, after) => format!("{field}: {}", value_text(after)),
        (before, Value::Null) => format!("{field}: {} → (none)", value_text(before)),
        (before, after) => format!("{field}: {} → {}", value_text(before), value_text(after)),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Parses a moment: an exact time, a local date or time, or how long ago it was.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let zone = TimeZone::system();
    let local = |time: DateTime| time.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    let exact = text.parse::<jiff::Timestamp>().ok();
    let by_date = || {
        text.parse::<Date>()
            .ok()
            .filter(|_| !text.contains([':', 'T']))
            .map(|date| date.at(0, 0, 0, 0))
    };
    let moment = exact
        .or_else(|| by_date().and_then(local))
        .or_else(|| text.parse::<DateTime>().ok().and_then(local))
        .or_else(|| {
            let ago = text.trim_end_matches("ago").trim().parse::<jiff::SignedDuration>().ok()?;
            (!ago.is_negative()).then(|| jiff::Timestamp::now().checked_sub(ago).ok()).flatten()
        });
    let moment =
        moment.ok_or_else(|| anyhow!("write a time as 2026-11-18, 2026-11-18T14:00 or 24h"));
    moment.map(|at| Timestamp::from_millis(at.as_millisecond())).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, change_text, parse_time};
    use ostler_api::audit::AuditedChange;
    use serde_json::{Value, json};

    #[test]
    fn o15_a_change_reads_as_old_and_new() {
        let table = [
            (json!("viewer"), json!("owner"), "role: viewer → owner"),
            (Value::Null, json!(["a", "b"]), "role: a, b"),
            (json!(3), Value::Null, "role: 3 → (none)"),
            (json!(true), json!(true), "role: true"),
        ];
        for (before, after, expected) in table {
            let change = AuditedChange { field: "role".into(), before, after };
            assert_eq!(change_text(&change), expected);
        }
    }

    #[test]
    fn times_are_exact_local_or_ago() {
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Ok(Timestamp::from_millis(1000)));
        for text in ["2026-11-18", "2026-11-18T14:00", "24h", "24h ago"] {
            assert!(parse_time(text).is_ok(), "{text}");
        }
        for text in ["", "soon", "-3h", "2026-13-01"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
