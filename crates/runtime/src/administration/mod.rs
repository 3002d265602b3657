//! What agents administer: an agency its clients, the platform every org, a PM its own org and
//! its agents.
//!
//! The tools use the operations of people, as the actor of the calling agent, so that the
//! guardrail matrix decides. They act at once, because a commit belongs to one org. Repeating a
//! call changes nothing further.

mod call;
mod create_client_org;
mod deploy_telegram_bot;
mod get_client_org_stats;
mod list_client_orgs;
mod list_organizations;
mod set_org_plan;
mod suspend_organization;
mod update_agent;
mod update_org_settings;

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;

use crate::operations::BotHost;
use crate::running_turns::RunningTurns;

/// Returns the tools with which agents administer orgs.
pub fn tools(running_turns: &RunningTurns, host: &Arc<dyn BotHost>) -> Vec<Arc<dyn Tool>> {
    let make = |spec: ToolSpec| -> Option<Arc<dyn Tool>> {
        let build = match spec.name.as_str() {
            "create_client_org" => call::build::<create_client_org::CreateClientOrg>,
            "list_client_orgs" => call::build::<list_client_orgs::ListClientOrgs>,
            "get_client_org_stats" => call::build::<get_client_org_stats::GetClientOrgStats>,
            "deploy_telegram_bot" => call::build::<deploy_telegram_bot::DeployTelegramBot>,
            "list_organizations" => call::build::<list_organizations::ListOrganizations>,
            "set_org_plan" => call::build::<set_org_plan::SetOrgPlan>,
            "suspend_organization" => call::build::<suspend_organization::SuspendOrganization>,
            "update_agent" => call::build::<update_agent::UpdateAgent>,
            "update_org_settings" => call::build::<update_org_settings::UpdateOrgSettings>,
            _ => return None,
        };
        Some(build(spec, running_turns, host))
    };
    built_in().into_iter().filter_map(make).collect()
}
