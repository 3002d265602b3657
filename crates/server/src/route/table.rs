//! All routes by what they are about, and the check of the whole table at the start.

use std::collections::BTreeSet;

use super::{Access, Group};
use crate::{
    account, chat, completions, dashboard, events, health, mcp, openapi, orgs, queues, resources,
    webhooks,
};

/// Returns all routes.
pub(crate) fn groups() -> Vec<Group> {
    let group = |name, about, routes| Group { name, about, routes };
    vec![
        group("Account", "Log-in, and the caller's own account.", account::routes()),
        group("Organizations", "Organizations, their fields and their clients.", {
            let mut routes = orgs::list::routes();
            routes.extend(orgs::resources::org_routes());
            routes
        }),
        group(
            "Resources",
            "What world files describe, as a whole: export, plan and apply.",
            resources::routes(),
        ),
        group("Members", "The people of an organization, their log-ins, and API keys.", {
            let mut routes = orgs::members::routes();
            routes.extend(account::member_routes());
            routes.extend(orgs::names::routes());
            routes.extend(orgs::keys::routes());
            routes.extend(orgs::account_links::routes());
            routes.extend(orgs::users::routes());
            routes
        }),
        group("Agents", "Agents, their souls and prompts.", {
            let mut routes = orgs::resources::agent_routes();
            routes.extend(orgs::agents::routes());
            routes.extend(orgs::souls::routes());
            routes.extend(orgs::trials::agent_routes());
            routes.extend(orgs::instructions::routes());
            routes
        }),
        group("Channels", "Channels on which customers write.", {
            let mut routes = orgs::resources::channel_routes();
            routes.extend(orgs::bindings::routes());
            routes.extend(orgs::trials::channel_routes());
            routes.extend(orgs::deep_links::routes());
            routes
        }),
        group("Integrations", "Services that tools use.", {
            let mut routes = orgs::resources::integration_routes();
            routes.extend(orgs::services::routes());
            routes
        }),
        group("Tools", "HTTP tools and MCP servers of an organization.", {
            let mut routes = orgs::resources::tool_routes();
            routes.extend(orgs::resources::mcp_server_routes());
            routes.extend(orgs::own_tools::routes());
            routes.extend(orgs::catalogue::routes());
            routes
        }),
        group(
            "Runs",
            "How messages were answered, and what agents may call.",
            orgs::runs::routes(),
        ),
        group("Contacts", "The people that an organization knows.", {
            let mut routes = orgs::contacts::routes();
            routes.extend(orgs::people::routes());
            routes.extend(orgs::personal_export::routes());
            routes.extend(orgs::contact_messages::routes());
            routes
        }),
        group("Data", "The business data that tools read.", orgs::data::routes()),
        group("Audit", "Every change, and who made it.", orgs::audit::routes()),
        group("Events", "What happens in an organization, as it happens.", events::routes()),
        group(
            "Event webhooks",
            "Addresses to which the events of an organization are sent.",
            orgs::webhooks::routes(),
        ),
        group("Sessions", "Conversations: read, take over, hand back.", {
            let mut routes = orgs::sessions::routes();
            routes.extend(orgs::session_work::routes());
            routes
        }),
        group("Inbox", "What waits for people of an agency.", orgs::inbox::routes()),
        group("Escalations", "Conversations that wait for a person.", orgs::escalations::routes()),
        group("Approvals", "Tool calls that wait for a person.", orgs::approvals::routes()),
        group(
            "Dead letters",
            "Messages that could not be answered or delivered.",
            orgs::dead_letters::routes(),
        ),
        group(
            "Unknown outcomes",
            "Tool calls that may or may not have taken effect.",
            orgs::unknown_outcomes::routes(),
        ),
        group("Refunds", "Refunds that people pay or refuse.", orgs::refunds::routes()),
        group("Workflows", "Durable graphs of steps, their definitions and schedules.", {
            let mut routes = orgs::workflows::routes();
            routes.extend(orgs::resources::workflow_routes());
            routes.extend(orgs::workflow_schedules::routes());
            routes
        }),
        group("Notices", "Notices to the owner.", orgs::notices::routes()),
        group("Credits", "The credit account and its ledger.", orgs::credits::routes()),
        group("Knowledge", "Documents that agents search.", orgs::knowledge::routes()),
        group("Settings", "Settings of an organization.", {
            let mut routes = orgs::settings::routes();
            routes.extend(orgs::models::routes());
            routes
        }),
        group(
            "Exchange",
            "Issues, delegations and insights between agencies and clients.",
            orgs::exchange::routes(),
        ),
        group("Proposals", "What is proposed about agents.", orgs::proposals::routes()),
        group("Queue agents", "Agents on queues, their teams, work and queues.", queues::routes()),
        group("Threads", "Threads of the interactive harness.", orgs::threads::routes()),
        group("Chat completions", "Agents as models of the OpenAI API.", completions::routes()),
        group("MCP", "Agents and approvals as tools of the Model Context Protocol.", mcp::routes()),
        group("Webhooks", "Inbound messages of channels.", webhooks::routes()),
        group("Web chat", "The chat of visitors.", chat::routes()),
        group("Service", "State and description of the server.", {
            let mut routes = health::routes();
            routes.extend(openapi::routes());
            routes.extend(dashboard::routes());
            routes
        }),
    ]
}

/// What is wrong with the table of routes. A server with such a table does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableError(String);

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TableError {}

/// Checks that every handler gets from its route what it works with, that paths and names are
/// used once, and that every operation says how it succeeds.
pub(crate) fn check(groups: &[Group]) -> Result<(), TableError> {
    let (mut ids, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for route in groups.iter().flat_map(|group| &group.routes) {
        let wrong =
            |what: &str| Err(TableError(format!("{} {}: {what}", route.method, route.path)));
        let (operation, access) = (&route.operation, route.access);
        if operation.uses_org != matches!(access, Access::Org(_)) {
            return wrong("only handlers of an organization's routes work in an organization");
        }
        if operation.uses_caller && !access.needs_caller() {
            return wrong("the handler wants to know the caller of a route that needs none");
        }
        if operation.uses_chat && access != Access::Visitor {
            return wrong("the handler works for visitors, the route does not");
        }
        if operation.responses.is_empty() {
            return wrong("the route does not say what it returns");
        }
        if !ids.insert(route.id) || !paths.insert((route.method.as_str(), route.path.as_str())) {
            return wrong("the route or the name of its operation is there twice");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::Json;
    use ostler_domain::org::permission::OrgPermission::View;

    use super::{Access, check, groups};
    use crate::orgs::{OrgRequest, PathId};
    use crate::route::{Group, Route, get};

    fn problem_of(route: Route) -> Option<String> {
        let group = Group { name: "Test", about: "", routes: vec![route] };
        check(&[group]).err().map(|error| error.to_string())
    }

    #[test]
    fn s14_the_table_is_consistent() {
        assert_eq!(check(&groups()), Ok(()));
    }

    /// A handler that works in an org cannot be served by a route that checks no permission.
    #[test]
    fn s14_a_route_that_does_not_check_what_its_handler_needs_is_refused() {
        async fn of_org(_: OrgRequest) -> Json<String> {
            Json(String::new())
        }
        async fn of_nobody(_: PathId) -> Json<String> {
            Json(String::new())
        }
        let with = |access: Access| problem_of(get(access, "/x", "x", "X", of_org));
        assert_eq!(with(View.into()), None);
        for access in [Access::Public, Access::Visitor, Access::Signed, Access::Caller] {
            assert!(with(access).is_some(), "{access:?}");
        }
        assert!(problem_of(get(View, "/x", "x", "X", of_nobody)).is_some());
        assert_eq!(problem_of(get(Access::Public, "/x", "x", "X", of_nobody)), None);
    }

    #[test]
    fn s14_a_name_is_used_once() {
        async fn handler() -> Json<String> {
            Json(String::new())
        }
        let route = |path, id| get(Access::Public, path, id, "X", handler);
        let problem = |routes| check(&[Group { name: "Test", about: "", routes }]).is_err();
        assert!(problem(vec![route("/a", "one"), route("/b", "one")]));
        assert!(problem(vec![route("/a", "one"), route("/a", "two")]));
        assert!(!problem(vec![route("/a", "one"), route("/b", "two")]));
    }
}
