//! Commands that show or change one resource. They use the definition, the rules and the
//! plan of `ostler apply`.

mod assign;
mod editor;

use anyhow::Context as _;
use clap::Args;
use ostler_runtime::operations::Actor;
use ostler_runtime::operations::world::{CheckedPlan, LiveWorld};
use ostler_world::export::fields;
use ostler_world::{Address, Kind, Resource, Resources, unknown_name};
use serde_json::Value;

use super::apply::{apply, confirm, plan_resources, show_plan};
use super::args::OutputArgs;
use super::operator::Operator;

use crate::refused_command::NotHere;

pub(crate) use assign::Assignment;
pub(crate) use editor::edit_text;

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
pub(crate) struct ResourceEditor<'o> {
    operator: &'o Operator,
    live: LiveWorld,
}

impl<'o> ResourceEditor<'o> {
    /// Reads the live resources.
    pub(crate) async fn open(operator: &'o Operator) -> anyhow::Result<Self> {
        let live = operator.operations.live_world(Actor::Terminal).await?;
        Ok(Self { operator, live })
    }

    /// Returns the live resources.
    pub(crate) const fn resources(&self) -> &Resources {
        &self.live.resources
    }

    /// Finds a resource of an org by name.
    pub(crate) fn find(&self, org: &str, kind: Kind, name: &str) -> anyhow::Result<Address> {
        let address = Address { org: org.to_owned(), kind, name: name.to_owned() };
        if self.live.resources.contains_key(&address) {
            return Ok(address);
        }
        let same = self.live.resources.keys().filter(|one| one.kind == kind && one.org == org);
        let known = same.map(|one| one.name.as_str());
        anyhow::bail!(NotHere(unknown_name(kind.table(), name, known)))
    }

    /// Returns a resource.
    pub(crate) fn get(&self, address: &Address) -> anyhow::Result<&Resource> {
        self.live.resources.get(address).with_context(|| format!("no {address}"))
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
        let edited = editor::edit(address, &text)?;
        self.replace(address, &edited, how).await
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
        let operator = self.operator;
        let plan = self.plan(&[(address.clone(), resource)].into())?;
        operator.make(&plan, how).await
    }

    /// Plans a change of a few resources.
    pub(crate) fn plan(self, changed: &Resources) -> anyhow::Result<CheckedPlan> {
        plan_resources(self.operator, self.live, changed)
    }
}

/// How a change is made and reported.
pub(crate) struct Change<'a> {
    pub(crate) args: &'a ChangeArgs,
    pub(crate) output: &'a OutputArgs,
    pub(crate) ask: Ask,
}

impl Operator {
    /// Shows a plan, asks if necessary, and makes the change.
    pub(crate) async fn make(&self, plan: &CheckedPlan, how: &Change<'_>) -> anyhow::Result<()> {
        show_plan(self, plan, how.output.json).await?;
        if how.args.dry_run || plan.plan.changes.is_empty() {
            return Ok(());
        }
        confirm(how.args.yes || how.ask == Ask::Never, "Make this change?")?;
        apply(self, plan, how.output.json).await
    }
}
