//! Commands that show or change one resource. They use the definition, the rules and the
//! plan of `ostler apply`.

mod assign;
mod editor;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use ostler_api::page::Page;
use ostler_api::resource::{
    CallWindow, LiveResource, PlanRequest, ResourcePlan, ResourceSource, RuleViolation,
};
use ostler_domain::org::Org;
use ostler_world::export::fields;
use ostler_world::spec::{NameMap, Names, OrgDefinition};
use ostler_world::{Address, Kind, Resource, Resources, unknown_name};
use serde_json::Value;

use super::apply::{PlannedChange, confirm};
use super::args::OutputArgs;
use crate::api_client::{ApiClient, OrgApi, not_here};

pub(crate) use assign::Assignment;
pub(crate) use editor::{EditedFile, edit_text};

/// How a change is made.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Show what would change and stop
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

impl ChangeArgs {
    /// Returns whether nothing is changed.
    pub(crate) const fn is_dry_run(&self) -> bool {
        self.dry_run
    }
}

/// Whether a person is asked before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The command says exactly what to change.
    Never,
    First,
}

/// The live resources, for commands that look at or change one of them.
pub(crate) struct ResourceEditor {
    api: ApiClient,
    resources: Resources,
    /// By address; what changes are based on.
    versions: BTreeMap<String, String>,
}

/// Returns the live resources that the caller may view.
pub(crate) async fn live_resources(api: &ApiClient) -> anyhow::Result<Resources> {
    Ok(ResourceEditor::open(api).await?.resources)
}

impl ResourceEditor {
    /// Reads the live resources.
    pub(crate) async fn open(api: &ApiClient) -> anyhow::Result<Self> {
        let page: Page<LiveResource> = api.get(&["resources"], &[]).await?;
        let (mut resources, mut versions) = (Resources::new(), BTreeMap::new());
        for LiveResource { resource: name, value, version } in page.items {
            let address: Address = name.parse()?;
            let resource = Resource::parse(address.kind, &value)
                .with_context(|| format!("{address} cannot be read"))?;
            resources.insert(address, resource);
            versions.insert(name, version);
        }
        Ok(Self { api: api.clone(), resources, versions })
    }

    /// Returns the live resources.
    pub(crate) const fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Finds a resource of an org by name.
    pub(crate) fn find(&self, org: &str, kind: Kind, name: &str) -> anyhow::Result<Address> {
        let address = Address { org: org.to_owned(), kind, name: name.to_owned() };
        if self.resources.contains_key(&address) {
            return Ok(address);
        }
        let same = self.resources.keys().filter(|one| one.kind == kind && one.org == org);
        let known = same.map(|one| one.name.as_str());
        Err(not_here(unknown_name(kind.table(), name, known)))
    }

    /// Returns a resource.
    pub(crate) fn get(&self, address: &Address) -> anyhow::Result<&Resource> {
        self.resources.get(address).with_context(|| format!("no {address}"))
    }

    /// Returns an org as its rules see it.
    pub(crate) fn org(&self, api: &OrgApi) -> anyhow::Result<Org> {
        let summary = &api.org;
        let spec: OrgDefinition = self.get(&Address::of_org(&summary.slug))?.spec()?;
        let mut orgs = NameMap::default();
        orgs.insert(&summary.slug, summary.id);
        if let (Some(slug), Some(parent)) = (&spec.parent, summary.parent) {
            orgs.insert(slug, parent);
        }
        let names = Names { orgs: Arc::new(orgs), ..Names::default() };
        Ok(spec.to_org(summary.id, &names)?)
    }

    /// Prints a resource as TOML, or as JSON with every field.
    pub(crate) fn show(&self, address: &Address, output: &OutputArgs) -> anyhow::Result<()> {
        let resource = self.get(address)?;
        if output.json {
            return super::print_json(resource.value());
        }
        anstream::print!("{}", fields(address, resource));
        Ok(())
    }

    /// Changes fields of a resource.
    pub(crate) async fn set(
        self,
        address: &Address,
        assignments: &[Assignment],
        how: &Change<'_>,
    ) -> anyhow::Result<()> {
        let mut value = self.get(address)?.value().clone();
        for assignment in assignments {
            assignment.apply(&mut value);
        }
        self.replace(address, &value, how).await
    }

    /// Opens a resource in an editor and makes the change after a look at the plan.
    pub(crate) async fn edit(self, address: &Address, how: &Change<'_>) -> anyhow::Result<()> {
        let text = fields(address, self.get(address)?);
        let (edited, file) = editor::edit(address, &text)?;
        file.keep_if_failed(self.replace(address, &edited, how).await)
    }

    /// Creates a resource or replaces it as a whole.
    pub(crate) async fn replace(
        self,
        address: &Address,
        value: &Value,
        how: &Change<'_>,
    ) -> anyhow::Result<()> {
        let resource = Resource::parse(address.kind, value)
            .map_err(|error| anyhow::anyhow!("{address}: {error}"))?;
        let changed = [(address.clone(), resource)].into();
        self.plan(&changed, None).await?.make(how).await
    }

    /// Plans a change of a few resources. Fails if somebody else has changed one of them since
    /// they were read.
    pub(crate) async fn plan(
        &self,
        changed: &Resources,
        window: Option<CallWindow>,
    ) -> anyhow::Result<PlannedChange> {
        let request = request(changed, ResourceSource::Change);
        let mut based_on = self.versions.clone();
        based_on.retain(|address, _| request.resources.contains_key(address));
        let request = PlanRequest { window, based_on, ..request };
        let planned = PlannedChange::request(&self.api, request).await?;
        check_rules(&planned.plan)?;
        Ok(planned)
    }
}

/// Returns the request to plan resources.
pub(crate) fn request(resources: &Resources, source: ResourceSource) -> PlanRequest {
    let each = resources.iter().map(|(address, one)| (address.to_string(), one.value().clone()));
    PlanRequest { source, resources: each.collect(), ..PlanRequest::default() }
}

/// Fails with the rules that a plan breaks.
fn check_rules(plan: &ResourcePlan) -> anyhow::Result<()> {
    if plan.violations.is_empty() {
        return Ok(());
    }
    let lines = plan.violations.iter().map(|RuleViolation { resource, path, message }| {
        let separator = if path.is_empty() { "" } else { ": " };
        format!("{resource}{separator}{path}: {message}")
    });
    anyhow::bail!(lines.collect::<Vec<_>>().join("\n"))
}

/// How a change is made and reported.
pub(crate) struct Change<'a> {
    pub(crate) args: &'a ChangeArgs,
    pub(crate) output: &'a OutputArgs,
    pub(crate) ask: Ask,
}

impl PlannedChange {
    /// Shows a plan, asks if necessary, and makes the change.
    pub(crate) async fn make(&self, how: &Change<'_>) -> anyhow::Result<()> {
        self.show(how.output.json)?;
        if how.args.dry_run || self.plan.changes.is_empty() {
            return Ok(());
        }
        confirm(how.args.yes || how.ask == Ask::Never, "Make this change?")?;
        self.apply(how.output.json).await
    }
}
