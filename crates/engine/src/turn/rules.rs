//! The rules a turn runs under at this moment. They are not part of its state: a
//! stored turn is resumed with the current rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_domain::gate::{GateFacts, GateRules};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::ErrorPolicy;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};

use super::account::TurnAccount;
use crate::history::ToolCall;
use crate::model::Model;
use crate::tool::ToolSet;

/// A source of models by name.
pub trait Models: Send + Sync {
    /// Returns the model of this name; `None` as the name means the turn's own.
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>>;
}

/// A source of model chains for many agents.
pub trait ModelChains: Send + Sync {
    /// Returns the models of an agent: the first name is used, the others when it
    /// fails. Without names, the default model is used.
    fn chain(&self, names: &[String]) -> Arc<dyn Models>;

    /// Returns the name of the default model, if it has one.
    fn default_model(&self) -> Option<&str> {
        None
    }
}

/// What a turn is allowed to do.
#[derive(Clone, Copy)]
pub struct TurnRules<'a> {
    /// The tools the agent has, and why it lacks the others.
    pub scope: &'a ToolScope,
    pub tools: &'a Arc<ToolSet>,
    /// Tools that need approval at every autonomy level.
    pub require_approval_for: &'a BTreeSet<ToolName>,
    /// The rules that apply beyond the scope.
    pub authority: GateRules<'a>,
    /// When failures disable a tool.
    pub errors: ErrorPolicy,
    pub models: &'a dyn Models,
    pub now: Timestamp,
}

impl TurnRules<'_> {
    /// Returns the facts the gate decides by.
    pub(super) fn facts<'f>(
        &'f self,
        call: &'f ToolCall,
        account: &'f TurnAccount,
        budget: &'f TurnBudget,
        trust: Trust,
    ) -> GateFacts<'f> {
        GateFacts {
            scope: self.scope,
            errors: &account.errors,
            budget,
            trust,
            require_approval_for: self.require_approval_for,
            rules: self.authority,
            arguments: &call.arguments,
        }
    }
}
