//! What the world allows a turn, at this moment. It is not part of the turn's
//! state: whoever takes a stored turn up again brings the rules of that moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::gate::{Authority, GateFacts};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::ErrorPolicy;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};

use super::account::Account;
use crate::model::Model;
use crate::tool::ToolSet;

/// Models by name.
pub trait Models: Send + Sync {
    /// The model of this name, or the turn's own.
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>>;
}

/// The models of many agents.
pub trait ModelChains: Send + Sync {
    /// The first of these models for a turn, and the others when it fails. With
    /// no names at all it is whatever is used where none is named.
    fn chain(&self, names: &[String]) -> Arc<dyn Models>;
}

/// What the world allows a turn.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The tools that the agent has, and why not the others.
    pub scope: &'a ToolScope,
    /// The tools themselves.
    pub tools: &'a Arc<ToolSet>,
    /// Tools that ask first at every level.
    pub require_approval_for: &'a BTreeSet<ToolName>,
    /// Whose rules apply beyond the scope.
    pub authority: Authority<'a>,
    /// When failures have consequences.
    pub errors: ErrorPolicy,
    /// The models.
    pub models: &'a dyn Models,
    /// The time.
    pub now: Timestamp,
}

impl Rules<'_> {
    /// What the gate looks at.
    pub(super) fn facts<'f>(
        &'f self,
        account: &'f Account,
        budget: &'f TurnBudget,
        trust: Trust,
    ) -> GateFacts<'f> {
        GateFacts {
            scope: self.scope,
            errors: &account.errors,
            budget,
            trust,
            require_approval_for: self.require_approval_for,
            authority: self.authority,
        }
    }
}
