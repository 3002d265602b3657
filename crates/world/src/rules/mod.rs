//! The rules that resources keep, alone and among each other. What passes here starts.

mod agent;
mod org;
mod other;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostler_domain::id::OrgId;
use ostler_domain::org::Org;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::tool::ToolName;

use crate::address::{Address, Kind};
use crate::resource::{Resource, Resources};
use crate::spec::{NameMap, Names, OrgDefinition, Spec};
use crate::suggestion::unknown_name;

/// A rule that a resource breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub address: Address,
    /// The field, such as `tools.deny[0]`; empty for the whole resource.
    pub path: String,
    /// What is wrong and what is expected.
    pub message: String,
}

/// The names that exist in this build and installation.
#[derive(Debug, Clone, Default)]
pub struct KnownNames {
    /// Every tool.
    pub tools: BTreeSet<String>,
    /// Every service that a tool can use.
    pub services: BTreeSet<String>,
}

/// Checks resources as they would be after a change and returns the rules that they break.
/// Only the resources in `changed` are checked, against all of `after`.
pub fn check<'a>(
    before: &Resources,
    after: &Resources,
    changed: impl IntoIterator<Item = &'a Address>,
    known: &KnownNames,
) -> Vec<Violation> {
    check_around(before, after, changed, known, &BTreeSet::new())
}

/// Checks resources like [`check`], where some of them are incomplete: others may refer to
/// them, but what follows from their content is not checked.
pub fn check_around<'a>(
    before: &Resources,
    after: &Resources,
    changed: impl IntoIterator<Item = &'a Address>,
    known: &KnownNames,
    incomplete: &BTreeSet<Address>,
) -> Vec<Violation> {
    let mut checker = Checker::new(before, after, known);
    checker.orgs.retain(|slug, _| !incomplete.contains(&Address::of_org(slug)));
    let mut orgs_changed = false;
    let changed: BTreeSet<&Address> = changed.into_iter().collect();
    let dangling = dangling_references(before, after, &changed, known);
    checker
        .violations
        .extend(dangling.into_iter().filter(|one| !incomplete.contains(&one.address)));
    for address in changed {
        orgs_changed |= address.kind == Kind::Org;
        if !incomplete.contains(address) {
            checker.resource(address);
        }
    }
    if orgs_changed && incomplete.iter().all(|address| address.kind != Kind::Org) {
        checker.tree();
    }
    checker.violations
}

/// Returns what removed resources and changed workflows leave behind: rules that others of
/// their orgs break after the change, and did not break before.
fn dangling_references(
    before: &Resources,
    after: &Resources,
    changed: &BTreeSet<&Address>,
    known: &KnownNames,
) -> Vec<Violation> {
    let touched: BTreeSet<&str> = changed
        .iter()
        .filter(|address| address.kind == Kind::Workflow || !after.contains_key(address))
        .map(|address| address.org.as_str())
        .collect();
    if touched.is_empty() {
        return Vec::new();
    }
    // What is off or archived itself needs nothing any more.
    let refers = |address: &Address, resource: &Resource| match address.kind {
        Kind::Org => true,
        Kind::Agent => resource.value()["status"] != "archived",
        Kind::Channel => resource.value()["enabled"] != false,
        Kind::Workflow | Kind::Schedule => true,
        _ => false,
    };
    let others = before.iter().filter(|(address, resource)| {
        refers(address, resource)
            && touched.contains(address.org.as_str())
            && !changed.contains(address)
    });
    let (mut earlier, mut now) =
        (Checker::new(before, before, known), Checker::new(before, after, known));
    for (address, _) in others {
        earlier.resource(address);
        now.resource(address);
    }
    now.violations.retain(|violation| !earlier.violations.contains(violation));
    now.violations
}

struct Checker<'a> {
    before: &'a Resources,
    after: &'a Resources,
    known: &'a KnownNames,
    /// The valid orgs, with ids that hold for this check only.
    orgs: BTreeMap<String, (OrgDefinition, Org)>,
    violations: Vec<Violation>,
}

impl<'a> Checker<'a> {
    fn new(before: &'a Resources, after: &'a Resources, known: &'a KnownNames) -> Self {
        let specs: Vec<OrgDefinition> = after
            .iter()
            .filter(|(address, _)| address.kind == Kind::Org)
            .filter_map(|(_, resource)| resource.spec().ok())
            .collect();
        let mut org_names = NameMap::default();
        for (spec, id) in specs.iter().zip(1..) {
            org_names.insert(&spec.slug, OrgId::from_u128(id));
        }
        let names = Names { orgs: Arc::new(org_names), ..Names::default() };
        let orgs = specs.into_iter().zip(1..).filter_map(|(spec, id)| {
            let org = spec.to_org(OrgId::from_u128(id), &names).ok()?;
            Some((spec.slug.clone(), (spec, org)))
        });
        Self { before, after, known, orgs: orgs.collect(), violations: Vec::new() }
    }

    fn resource(&mut self, address: &Address) {
        if !self.after.contains_key(address) {
            return;
        }
        if address.kind != Kind::Platform
            && address.kind != Kind::Org
            && !self.exists(&Address::of_org(&address.org))
        {
            let known: Vec<String> = self.orgs.keys().cloned().collect();
            let known = known.iter().map(String::as_str);
            let message = unknown_name("org", &address.org, known);
            return self.report(address, "org", message);
        }
        match address.kind {
            Kind::Platform => self.with(address, Self::platform),
            Kind::Org => self.with(address, Self::org),
            Kind::Tool => self.with(address, Self::http_tool),
            Kind::McpServer => self.with(address, Self::mcp_server),
            Kind::Agent => self.with(address, Self::agent),
            Kind::Channel => self.with(address, Self::channel),
            Kind::Integration => self.with(address, Self::integration),
            Kind::Document => self.with(address, Self::document),
            Kind::Member => self.with(address, Self::member),
            Kind::Workflow => self.with(address, Self::workflow),
            Kind::Schedule => self.with(address, Self::schedule),
        }
    }

    /// Runs a check on the spec of a resource.
    fn with<S: Spec>(&mut self, address: &Address, check: fn(&mut Self, &Address, &S)) {
        match self.after.get(address).map(crate::resource::Resource::spec::<S>) {
            Some(Ok(spec)) => check(self, address, &spec),
            Some(Err(error)) => self.report(address, &error.path, error.cause.to_string()),
            None => {}
        }
    }

    fn exists(&self, address: &Address) -> bool {
        self.after.contains_key(address)
    }

    fn report(&mut self, address: &Address, path: &str, message: impl Into<String>) {
        let (address, path) = (address.clone(), path.to_owned());
        self.violations.push(Violation { address, path, message: message.into() });
    }

    /// Checks a reference to another resource of the same org.
    fn reference(&mut self, address: &Address, path: &str, kind: Kind, name: &str) {
        let target = Address { org: address.org.clone(), kind, name: name.to_owned() };
        if self.exists(&target) {
            return;
        }
        let same = self.after.keys().filter(|one| one.kind == kind && one.org == address.org);
        let known: Vec<&str> = same.map(|one| one.name.as_str()).collect();
        let message = unknown_name(kind.table(), name, known);
        self.report(address, path, message);
    }

    /// Checks a slug: lower-case letters, digits and `-`.
    fn slug(&mut self, address: &Address, path: &str, slug: &str) {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if slug.is_empty() || slug.len() > MAX_SLUG || !slug.chars().all(allowed) {
            let message = format!(
                "`{slug}` is not a slug; use 1 to {MAX_SLUG} lower-case letters, digits, `-` or `_`"
            );
            self.report(address, path, message);
        }
    }

    fn not_empty(&mut self, address: &Address, path: &str, text: &str) {
        if text.trim().is_empty() {
            self.report(address, path, format!("`{path}` must not be empty"));
        }
    }

    /// Checks that the tools of a policy exist.
    fn policy(&mut self, address: &Address, path: &str, policy: &ToolPolicy) {
        for (list, tools) in [("allow", &policy.allow), ("deny", &policy.deny)] {
            self.tools(address, &format!("{path}.{list}"), tools.iter().map(ToolName::as_str));
        }
    }

    fn tools<'t>(&mut self, address: &Address, path: &str, tools: impl Iterator<Item = &'t str>) {
        for tool in tools {
            if !self.known.tools.contains(tool) && !self.is_org_tool(address, tool) {
                let known = self.known.tools.iter().map(String::as_str);
                let message = unknown_name("tool", tool, known);
                self.report(address, &value_path(path, tool), message);
            }
        }
    }
}

impl Checker<'_> {
    /// Returns whether an org has defined a tool of this name: an HTTP tool, or one of an
    /// MCP server, whose tools begin with the name of the server.
    fn is_org_tool(&self, address: &Address, tool: &str) -> bool {
        let own = |one: &&Address| address.org.is_empty() || one.org == address.org;
        self.after.keys().filter(own).any(|one| match one.kind {
            Kind::Tool => one.name == tool,
            Kind::McpServer => tool.starts_with(&one.name),
            _ => false,
        })
    }
}

/// The longest slug.
const MAX_SLUG: usize = 63;

/// Returns the path of an entry of a list by its text; the file knows where it is.
fn value_path(path: &str, value: &str) -> String {
    format!("{path}[{value}]")
}
