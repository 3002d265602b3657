//! The rooms of the runtime use each other in one direction: the table of
//! `crates/runtime/src/lib.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::metadata::root;
use crate::words::sources;

/// Each room and the rooms it may use.
const MAY_USE: [(&str, &[&str]); 13] = [
    ("assembly", &[]),
    ("team", &["assembly"]),
    ("agent_changes", &[]),
    ("hierarchy", &[]),
    ("outreach", &[]),
    ("conversation", &["assembly", "team", "agent_changes", "hierarchy", "outreach"]),
    ("workflow", &["assembly"]),
    ("agents", &[]),
    ("delivery", &["agents"]),
    ("webhooks", &[]),
    (
        "operations",
        &["assembly", "team", "agent_changes", "hierarchy", "conversation", "workflow", "agents"],
    ),
    ("administration", &["operations"]),
    ("bus_bridge", &["agents", "conversation"]),
];

/// Modules that every room may use, and what each of them may use.
const SHARED: [(&str, &[&str]); 23] = [
    ("faults", &[]),
    ("ids", &[]),
    ("outage_log", &[]),
    ("trace_context", &[]),
    ("deltas", &[]),
    ("channel_binding", &[]),
    ("records", &[]),
    ("toolbox", &[]),
    ("deps", &["deltas", "metrics", "toolbox"]),
    ("org_view", &["records", "toolbox"]),
    ("run_error", &["records"]),
    ("running_turns", &["org_view", "records"]),
    ("turn_tool", &["org_view", "running_turns"]),
    ("change_audit", &["ids", "records"]),
    ("workers", &["ids", "records"]),
    ("account_links", &["ids", "records"]),
    ("colleagues", &["records"]),
    ("deep_links", &["account_links", "ids", "org_view", "records", "shared_bot"]),
    ("sign_up", &["account_links", "deep_links", "ids", "org_view", "records", "shared_bot"]),
    ("shared_bot", &["channel_binding", "ids", "org_view", "records"]),
    ("pending_commit", &["ids", "records"]),
    ("inbox", &["faults", "ids", "records"]),
    ("metrics", &["records"]),
];

#[test]
fn rooms_of_the_runtime_use_each_other_in_one_direction() {
    let used = used_modules();
    let mut refused = Vec::new();
    for (module, uses) in &used {
        let shared = SHARED.iter().find(|(name, _)| name == module);
        let room = MAY_USE.iter().find(|(name, _)| name == module);
        let (allowed, may_share) = match (room, shared) {
            (Some((_, allowed)), _) => (*allowed, true),
            (None, Some((_, allowed))) => (*allowed, false),
            (None, None) => panic!("`{module}` is in no table of this test"),
        };
        for other in uses {
            let is_shared = SHARED.iter().any(|(name, _)| name == other);
            let is_allowed = allowed.contains(&other.as_str()) || (may_share && is_shared);
            if !is_allowed {
                refused.push(format!("{module} uses {other}"));
            }
        }
    }
    assert!(refused.is_empty(), "arrows that are not in the table: {refused:?}");
    let listed = MAY_USE.iter().chain(&SHARED).map(|(name, _)| (*name).to_owned());
    assert_eq!(used.into_keys().collect::<BTreeSet<_>>(), listed.collect::<BTreeSet<_>>());
}

#[test]
fn the_table_of_rooms_has_no_cycle() {
    let mut done: Vec<&str> = Vec::new();
    while done.len() < MAY_USE.len() {
        let free = |(name, uses): &&(&str, &[&str])| {
            !done.contains(name) && uses.iter().all(|used| done.contains(used))
        };
        let next = MAY_USE.iter().find(free).map(|(name, _)| *name);
        done.push(next.unwrap_or_else(|| panic!("a cycle besides {done:?}")));
    }
}

#[test]
fn the_page_of_the_crate_shows_the_same_table() {
    let page = fs::read_to_string(root().join("crates/runtime/src/lib.rs")).expect("lib.rs exists");
    for (room, uses) in MAY_USE {
        let line = page.lines().find(|line| line.starts_with(&format!("//! | [`{room}`] |")));
        let line = line.unwrap_or_else(|| panic!("lib.rs does not list `{room}`"));
        let cell = line.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        assert_eq!(cell, uses.join(", "), "the rooms that `{room}` may use");
    }
}

/// Returns each module of the runtime with the other modules that it names.
fn used_modules() -> BTreeMap<String, BTreeSet<String>> {
    let src = root().join("crates/runtime/src");
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources() {
        let Ok(inside) = path.strip_prefix(&src) else { continue };
        let first = inside.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        let module = first.trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a readable file");
        let names = used.entry(module.clone()).or_default();
        names.extend(crate_paths(&text).filter(|name| *name != module));
    }
    used
}

/// Returns the first segment of each path that begins with `crate::`, also in a list such
/// as `use crate::{team, records}`.
fn crate_paths(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("crate::").skip(1).flat_map(|rest| {
        let (list, rest) = match rest.strip_prefix('{') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let end = if list { rest.find('}') } else { rest.find(|c| !is_name(c)) };
        let names = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        names
            .split(',')
            .filter_map(|name| name.trim().split("::").next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
