//! Checks the bus, and the secrets of the services that orgs have connected.

use ostler_domain::org::Org;
use ostler_runtime::deps::Clock;
use ostler_store::{HealthCheck, IntegrationConnection, Store};

use super::{failed, join_problems, ok, warning};
use crate::config::redact::redact;
use crate::installation::Installation;
use crate::{bus_check, secrets, tool_check};

/// The most integrations of an org that are checked.
const MAX_INTEGRATIONS: u32 = 1000;
/// The most queue agents of an org that are checked.
const MAX_QUEUE_AGENTS: u32 = 1000;
/// The URL of a bus in one process.
const MEMORY_BUS: &str = "memory:";

/// Checks that the broker answers.
pub(super) async fn check_bus(installation: &Installation) -> HealthCheck {
    let url = installation.bus_url();
    if url == MEMORY_BUS {
        return ok("bus", "It is in memory, for one process.".into());
    }
    let shown = redact(url);
    match bus_check::check(url).await {
        Ok(()) => ok("bus", format!("{shown} answers.")),
        Err(reason) => failed(
            "bus",
            format!(
                "{shown} cannot be used: {reason}; check that RabbitMQ runs, and `bus` in ostler.toml."
            ),
        ),
    }
}

/// Checks that somebody runs the agents on the queues of a broker.
pub(super) async fn check_queue_agents(
    installation: &Installation,
    store: &Store,
    orgs: &[Org],
) -> anyhow::Result<Option<HealthCheck>> {
    if installation.bus_url() == MEMORY_BUS {
        return Ok(None);
    }
    let now = Clock::system().now();
    let (mut away, mut count) = (Vec::new(), 0);
    for org in orgs {
        for agent in store.org(org.id).queue_agents(None, MAX_QUEUE_AGENTS).await? {
            count += 1;
            if agent.available_until.is_some_and(|until| until < now) {
                away.push(format!("{} of {}", agent.name.as_str(), org.slug));
            }
        }
    }
    if away.is_empty() {
        return Ok(Some(ok("queue agents", format!("All {count} agents on queues are running."))));
    }
    away.truncate(5);
    let message = format!(
        "Nobody runs {}; start `ostler serve` or `ostler worker`, and see `ostler agent ls`.",
        away.join(", ")
    );
    Ok(Some(warning("queue agents", message)))
}

/// Checks that the tools that orgs have defined find their secrets and may reach their hosts.
pub(super) async fn check_tools(
    installation: &Installation,
    store: &Store,
    orgs: &[Org],
) -> anyhow::Result<HealthCheck> {
    let (mut problems, mut usable) = (Vec::new(), 0);
    for org in orgs {
        for stored in store.org(org.id).org_tools().await? {
            let found = tool_check::problems(installation, org.id, &stored.tool);
            usable += usize::from(found.is_empty());
            problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", org.slug)));
        }
    }
    Ok(match (problems.is_empty(), usable) {
        (false, _) => failed("tools", join_problems(&problems)),
        (true, 0) => ok("tools", "No organization has defined tools of its own.".into()),
        (true, 1) => ok("tools", "One tool of an organization finds its secrets.".into()),
        (true, usable) => {
            ok("tools", format!("{usable} tools of organizations find their secrets."))
        }
    })
}

/// Checks that the secrets of connected services can be read.
pub(super) async fn check_secrets(
    installation: &Installation,
    store: &Store,
    orgs: &[Org],
) -> anyhow::Result<HealthCheck> {
    let secrets = secrets::service_secrets(installation);
    let mut problems = Vec::new();
    for org in orgs {
        for integration in store.org(org.id).integrations(None, MAX_INTEGRATIONS).await? {
            let connected = integration.connection == IntegrationConnection::Connected;
            let Some(secret) = integration.secret.filter(|_| connected) else { continue };
            if let Err(error) = secrets.read(org.id, &secret) {
                problems.push(format!("{} of {}: {error}", integration.service, org.slug));
            }
        }
    }
    Ok(if problems.is_empty() {
        ok("secrets", "The secrets of connected services can be read.".into())
    } else {
        failed("secrets", join_problems(&problems))
    })
}
