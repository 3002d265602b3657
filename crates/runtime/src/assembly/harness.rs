//! An agent that is ready for a turn.

use std::sync::Arc;

use ostler_domain::gate::GateRules;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::scope::ToolScope;
use ostler_domain::time::Timestamp;
use ostler_engine::history::Item;
use ostler_engine::tokens;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{Models, TurnLimits, TurnRules};
use ostler_store::StoreError;

use super::SessionFacts;
use super::briefing::AgentBriefing;
use super::credits::{self, FundsShortage, TurnFunds};
use super::documents::LoadedDocument;
use super::prompt::build_prompt;
use super::scope::resolve_scope;
use crate::deps::Deps;
use crate::org_view::{AgentView, OrgView};

/// An agent with the tools, models and limits of one turn.
pub(crate) struct AgentHarness<'a> {
    deps: &'a Deps,
    view: &'a OrgView,
    pub(crate) agent: &'a AgentView,
    tools: &'a Arc<ToolSet>,
    pub(crate) scope: Arc<ToolScope>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) limits: TurnLimits,
}

impl<'a> AgentHarness<'a> {
    /// Assembles an agent with its resolved tool scope, its models and the
    /// installation's limits.
    pub(crate) fn assemble(
        deps: &'a Deps,
        view: &'a OrgView,
        agent: &'a AgentView,
        session: &SessionFacts<'_>,
        tools: &'a Arc<ToolSet>,
    ) -> Self {
        let scope = resolve_scope(view, agent, session, tools);
        let models = deps.models.chain(view.settings.models_of(&agent.agent));
        Self { deps, view, agent, tools, scope, models, limits: deps.settings.turn_limits }
    }

    /// Assembles an agent without any tool, for a short question to its model.
    pub(crate) fn without_tools(deps: &'a Deps, view: &'a OrgView, agent: &'a AgentView) -> Self {
        let scope = Arc::new(ToolScope::unrestricted([]));
        let models = deps.models.chain(view.settings.models_of(&agent.agent));
        let (tools, limits) = (&view.tools, deps.settings.turn_limits);
        Self { deps, view, agent, tools, scope, models, limits }
    }

    /// Builds the system prompt.
    pub(crate) fn system_prompt(
        &self,
        session: &SessionFacts<'_>,
        documents: &[LoadedDocument],
        briefing: &AgentBriefing,
    ) -> String {
        build_prompt(self.view, self.agent, session, &self.scope, documents, briefing)
    }

    /// Returns the price of the agent's first model, or `None` if it has no model here.
    pub(crate) fn model_price(&self) -> Option<ModelPrice> {
        self.models.model(None).map(|model| model.price())
    }

    /// Reserves what the first answer to this request may cost.
    pub(crate) async fn reserve_credits(
        &self,
        session: &SessionFacts<'_>,
        price: ModelPrice,
        system: &str,
        history: &[Item],
    ) -> Result<Result<TurnFunds, FundsShortage>, StoreError> {
        let offered: Vec<String> =
            self.scope.active().map(|spec| spec.name.as_str().to_owned()).collect();
        let size = tokens::of_request(system, history, self.tools, &offered);
        let (view, agent, max_tokens) = (self.view, self.agent, self.limits.max_tokens);
        credits::reserve_credits(self.deps, view, agent, session, price, size, max_tokens).await
    }

    /// Returns the rules that the turn runs under.
    pub(crate) fn rules(&self, now: Timestamp) -> TurnRules<'_> {
        TurnRules {
            scope: &self.scope,
            tools: self.tools,
            require_approval_for: &self.agent.agent.require_approval_for,
            authority: GateRules::Conversation(self.agent.agent.autonomy),
            errors: self.view.settings.errors,
            models: &*self.models,
            now,
        }
    }
}
