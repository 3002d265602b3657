//! The templates and conditions of workflow definitions, which only the runtime can check.

use ostler_world::rules::Violation;
use ostler_world::spec::WorkflowResource;
use ostler_world::{Address, Kind, Resources};

use crate::workflow::check_expressions;

/// Returns the expressions of changed workflow definitions that cannot be evaluated.
pub fn expression_violations<'a>(
    resources: &Resources,
    changed: impl IntoIterator<Item = &'a Address>,
) -> Vec<Violation> {
    let workflows = changed.into_iter().filter(|address| address.kind == Kind::Workflow);
    let violations = workflows.filter_map(|address| {
        let spec: WorkflowResource = resources.get(address)?.spec().ok()?;
        let message = check_expressions(&spec.definition).err()?.to_string();
        Some(Violation { address: address.clone(), path: "step".to_owned(), message })
    });
    violations.collect()
}
