//! The tools that agents can have: those of every org, and a source of the tools that an org
//! has defined itself.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::id::OrgId;
use ostler_domain::tool::org_tools::OrgToolDefinitions;
use ostler_engine::tool::{OrgToolList, ToolSet};

/// Returns the tools that an org has defined, the same list until something changes.
pub type OrgToolSource = Arc<
    dyn Fn(OrgId, Arc<OrgToolDefinitions>) -> BoxFuture<'static, Arc<OrgToolList>> + Send + Sync,
>;

/// The tools that agents can have: those of every org, and a source of the tools that an org
/// has defined itself.
#[derive(Clone)]
pub struct Toolbox {
    pub built_in: Arc<ToolSet>,
    org_tools: Option<OrgToolSource>,
}

impl Toolbox {
    /// Creates a toolbox in which orgs have no tools of their own.
    pub const fn new(built_in: Arc<ToolSet>) -> Self {
        Self { built_in, org_tools: None }
    }

    /// Adds the tools that orgs have defined.
    #[must_use]
    pub fn with_org_tools(self, source: OrgToolSource) -> Self {
        Self { org_tools: Some(source), ..self }
    }

    /// Returns the tools that an org has defined.
    pub(crate) async fn org_tools(
        &self,
        org: OrgId,
        definitions: &Arc<OrgToolDefinitions>,
    ) -> Arc<OrgToolList> {
        match &self.org_tools {
            Some(source) => source(org, definitions.clone()).await,
            None => Arc::default(),
        }
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.built_in.fmt(f)
    }
}
