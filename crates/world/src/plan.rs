//! The plan: what applying files would change.
//!
//! Three states are compared field by field: what was applied last, what lives now and
//! what the files say. A field that changed in the files only is a change. A field that
//! changed live only, or in both, is drift, and a person decides which one stays. A decision
//! for the live value holds until it or the file changes. Lists are compared as a whole.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::address::{Address, Kind};
use crate::resource::{InvalidResource, Resource, Resources};

/// Which side stays where the live state changed since the last apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Live,
    File,
}

/// What a change does to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Create,
    Change,
    /// Retires the resource; what happened with it stays on record.
    Remove,
}

/// A change of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// Such as `settings.team.max_handoffs`.
    pub path: String,
    /// `Null` if it was not set.
    pub old: Value,
    /// `Null` if it is not set any more.
    pub new: Value,
}

/// A change of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub address: Address,
    pub action: Action,
    /// The fields that change; every field that is set for a new resource.
    pub fields: Vec<FieldChange>,
}

/// A field that was changed live since the last apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    pub address: Address,
    pub path: String,
    /// The value that was applied last.
    pub applied: Value,
    pub live: Value,
    pub file: Value,
}

/// The live values that a person kept although the files say otherwise, by path.
pub type KeptFields = BTreeMap<Address, BTreeMap<String, Value>>;

/// What files said when they were applied last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppliedFiles {
    pub resources: Resources,
    pub kept: KeptFields,
}

/// What applying files would change.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    pub drift: Vec<Drift>,
    /// The resources as they will be.
    pub after: Resources,
    /// What files say now, to remember as applied.
    pub applied: AppliedFiles,
}

impl Plan {
    /// Compares files with the live state. `applied` is what the files said when they were
    /// applied last. Drift keeps its live value unless `keep` says otherwise.
    pub fn new(
        files: &Resources,
        live: &Resources,
        applied: &AppliedFiles,
        keep: Option<Keep>,
    ) -> Result<Self, (Address, InvalidResource)> {
        let mut plan = Self { after: live.clone(), applied: applied.clone(), ..Self::default() };
        plan.applied.resources.extend(files.clone());
        for (address, file) in files {
            let file = with_kept_fields(address, file, live.get(address));
            match live.get(address) {
                None => plan.create(address, &file),
                Some(live) => plan
                    .merge(address, &file, live, applied, keep)
                    .map_err(|error| (address.clone(), error))?,
            }
        }
        for address in applied.resources.keys().filter(|address| is_gone(files, address)) {
            plan.applied.resources.remove(address);
            plan.applied.kept.remove(address);
            if plan.after.remove(address).is_some() {
                let (address, fields) = (address.clone(), Vec::new());
                plan.changes.push(Change { address, action: Action::Remove, fields });
            }
        }
        plan.changes.sort_by_key(|change| {
            let removes = change.action == Action::Remove;
            (
                removes,
                !is_parentless(&plan.after, &change.address),
                change.address.kind == Kind::Member,
                change.address.clone(),
            )
        });
        Ok(plan)
    }

    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.drift.is_empty()
    }

    /// Returns the orgs that are changed, in the order in which they have to be.
    pub fn orgs(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let orgs = self.changes.iter().map(|change| change.address.org.as_str());
        orgs.filter(|org| seen.insert(*org)).collect()
    }

    fn create(&mut self, address: &Address, file: &Resource) {
        let sparse = file.sparse(address.kind);
        // The address says its org and its name.
        let in_address = |path: &str| {
            path == address.kind.name_key() || (path == "org" && address.kind != Kind::Org)
        };
        let fields = flatten(&sparse)
            .into_iter()
            .filter(|(path, _)| !in_address(path))
            .map(|(path, new)| FieldChange { path, old: Value::Null, new })
            .collect();
        self.after.insert(address.clone(), file.clone());
        self.changes.push(Change { address: address.clone(), action: Action::Create, fields });
    }

    fn merge(
        &mut self,
        address: &Address,
        file: &Resource,
        live: &Resource,
        applied: &AppliedFiles,
        keep: Option<Keep>,
    ) -> Result<(), InvalidResource> {
        let kept_before = self.applied.kept.remove(address).unwrap_or_default();
        if file == live {
            return Ok(());
        }
        let (file, live) = (flatten(file.value()), flatten(live.value()));
        let applied = applied.resources.get(address).map(|one| flatten(one.value()));
        let paths: BTreeSet<&String> = file.keys().chain(live.keys()).collect();
        let mut merged = live.clone();
        let mut fields = Vec::new();
        for path in paths {
            let [new, old] = [&file, &live].map(|side| side.get(path).cloned().unwrap_or_default());
            if new == old {
                continue;
            }
            if let Some(applied) = &applied {
                let base = applied.get(path).cloned().unwrap_or_default();
                let is_kept = base == new && kept_before.get(path) == Some(&old);
                if (is_kept || base != old) && keep != Some(Keep::File) {
                    let kept = self.applied.kept.entry(address.clone()).or_default();
                    kept.insert(path.clone(), old.clone());
                }
                if is_kept && keep != Some(Keep::File) {
                    continue;
                }
                if base != old {
                    self.drift.push(Drift {
                        address: address.clone(),
                        path: path.clone(),
                        applied: base,
                        live: old.clone(),
                        file: new.clone(),
                    });
                    if keep != Some(Keep::File) {
                        continue;
                    }
                }
            }
            match &new {
                Value::Null => merged.remove(path),
                _ => merged.insert(path.clone(), new.clone()),
            };
            fields.push(FieldChange { path: path.clone(), old, new });
        }
        if fields.is_empty() {
            return Ok(());
        }
        let after = Resource::parse(address.kind, &unflatten(merged))?;
        self.after.insert(address.clone(), after);
        self.changes.push(Change { address: address.clone(), action: Action::Change, fields });
        Ok(())
    }
}

/// Returns whether a resource was applied and is not in the files any more. Files that
/// define an org define all of it; an org itself is retired by `archived`, never by its
/// absence.
fn is_gone(files: &Resources, address: &Address) -> bool {
    address.kind != Kind::Org
        && address.kind != Kind::Platform
        && !files.contains_key(address)
        && files.contains_key(&Address::of_org(&address.org))
}

/// Fills in what a file leaves to the installation: an account keeps the name that its
/// owner gave it, and a channel the secret that was made for it.
fn with_kept_fields(address: &Address, file: &Resource, live: Option<&Resource>) -> Resource {
    let Some(live) = live else { return file.clone() };
    match address.kind {
        Kind::Member => file.with("name", live.value()["name"].clone()),
        Kind::Channel if file.value()["secret"].is_null() => {
            file.with("secret", live.value()["secret"].clone())
        }
        _ => file.clone(),
    }
}

/// Agencies come before their clients.
fn is_parentless(after: &Resources, address: &Address) -> bool {
    let org = after.get(&Address::of_org(&address.org));
    org.is_none_or(|org| org.value()["parent"].is_null())
}

/// Separates the keys of a path. It cannot be part of a TOML key that is written bare.
const SEPARATOR: char = '.';

/// Returns the values of a resource by path. An empty table is as good as none.
pub fn flatten(value: &Value) -> BTreeMap<String, Value> {
    fn walk(prefix: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
        match value {
            Value::Null => {}
            Value::Object(fields) => {
                for (key, value) in fields {
                    let key = key.replace(SEPARATOR, ESCAPED);
                    let path = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
                    walk(&path, value, found);
                }
            }
            _ => {
                found.insert(prefix.to_owned(), value.clone());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk("", value, &mut found);
    found
}

/// Stands for a separator inside a key.
const ESCAPED: &str = "\u{b7}";

fn unflatten(values: BTreeMap<String, Value>) -> Value {
    let mut root = Value::Object(Map::new());
    for (path, value) in values {
        let mut at = &mut root;
        for key in path.split(SEPARATOR) {
            let key = key.replace(ESCAPED, ".");
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[key];
        }
        *at = value;
    }
    root
}
