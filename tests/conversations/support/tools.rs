//! Tools that a test controls.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use serde_json::{Value, json};

/// A tool with a function as its body.
struct StubTool<F> {
    definition: ToolDefinition,
    act: F,
}

impl<F: Fn(&Value) -> ToolOutcome + Send + Sync> Tool for StubTool<F> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        let outcome = match call.arguments::<Value>() {
            Ok(arguments) => (self.act)(&arguments),
            Err(invalid) => invalid,
        };
        std::future::ready(ToolReply::Done(outcome)).boxed()
    }
}

/// Returns a tool with a name of the catalogue and this body.
pub(crate) fn stub_tool(
    name: &str,
    act: impl Fn(&Value) -> ToolOutcome + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let spec = built_in().into_iter().find(|spec| spec.name.as_str() == name);
    stub_tool_with(spec.expect("a tool of the catalogue"), act)
}

/// Returns a tool with this specification and body.
pub(crate) fn stub_tool_with(
    spec: ToolSpec,
    act: impl Fn(&Value) -> ToolOutcome + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let schema = json!({"type": "object"});
    Arc::new(StubTool { definition: ToolDefinition::new(spec, "A tool of a test.", schema), act })
}

/// Returns a tool with a name of the catalogue that always fails.
pub(crate) fn failing_tool(name: &str) -> Arc<dyn Tool> {
    stub_tool(name, |_| ToolOutcome::failed("It broke."))
}
