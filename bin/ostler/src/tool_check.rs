//! What keeps the tools and channels of an org from working on this machine: secrets that are
//! missing, and addresses that the configuration does not allow.

use std::net::IpAddr;

use ostler_domain::address::non_public_range;
use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::SecretText;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_world::Kind;
use ostler_world::plan::{Action, Plan};

use crate::installation::Installation;
use crate::secrets;

/// Returns the problems of a tool in sentences without a full stop.
pub(crate) fn problems(installation: &Installation, org: OrgId, tool: &OrgTool) -> Vec<String> {
    let url = match tool {
        OrgTool::Http(tool) => Some(tool.url.as_str()),
        OrgTool::Mcp(server) => server.url.as_deref(),
    };
    let mut problems = missing_secrets(installation, org, tool);
    let name = format!("{} {}", tool.kind().description(), tool.name());
    problems.extend(url.and_then(|url| refused_address(installation, &name, url)));
    problems
}

/// Returns which secrets of a tool cannot be read, in sentences without a full stop.
pub(crate) fn missing_secrets(
    installation: &Installation,
    org: OrgId,
    tool: &OrgTool,
) -> Vec<String> {
    let readable = secrets::org_secrets(installation);
    let errors = secrets_of(tool).into_iter().filter_map(|secret| readable.read(org, secret).err());
    let name = format!("{} {}", tool.kind().description(), tool.name());
    errors.map(|error| format!("{name}: {error}")).collect()
}

/// Returns which addresses that a plan writes are refused on this machine, in sentences
/// without a full stop.
pub(crate) fn refused_addresses(installation: &Installation, plan: &Plan) -> Vec<String> {
    let written = plan.changes.iter().filter(|change| change.action != Action::Remove);
    let found = written.filter_map(|change| {
        let resource = plan.after.get(&change.address)?.value();
        let (kind, address) = match change.address.kind {
            Kind::Tool => (OrgToolKind::Http.description(), &resource["url"]),
            Kind::McpServer => (OrgToolKind::Mcp.description(), &resource["url"]),
            Kind::Channel if resource["kind"] == "email" => {
                ("the mail server of channel", &resource["settings"]["smtp"]["host"])
            }
            Kind::Channel => ("channel", &resource["settings"]["url"]),
            _ => return None,
        };
        refused_address(installation, &format!("{kind} {}", change.address.name), address.as_str()?)
    });
    found.collect()
}

fn refused_address(installation: &Installation, name: &str, url: &str) -> Option<String> {
    let (host, range) = (!installation.config.local_network).then(|| local_host(url))??;
    Some(format!(
        "{name}: {host} is not on the public internet ({range}); nothing is sent there until \
         ostler.toml has `local_network = true`"
    ))
}

/// Returns the places of the secrets that a tool uses.
pub(crate) fn secrets_of(tool: &OrgTool) -> Vec<&SecretRef> {
    let (first, second) = match tool {
        OrgTool::Http(tool) => (tool.headers.values(), None),
        OrgTool::Mcp(server) => (server.env.values(), Some(server.headers.values())),
    };
    first.chain(second.into_iter().flatten()).filter_map(SecretText::secret).collect()
}

/// Returns the host of a URL, or a host alone, and its range, if it is known not to be public.
fn local_host(url: &str) -> Option<(String, &'static str)> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next()?,
        None => host.split(':').next()?,
    };
    let range = match host.parse::<IpAddr>() {
        Ok(address) => non_public_range(address)?,
        Err(_) if host == "localhost" || host.ends_with(".localhost") => "this machine",
        Err(_) => return None,
    };
    Some((host.to_owned(), range))
}

#[cfg(test)]
mod tests {
    use super::local_host;

    #[test]
    fn o18_hosts_that_are_not_public_are_recognized() {
        let table = [
            ("http://127.0.0.1:9000/orders/{order}", Some("127.0.0.1")),
            ("http://localhost/x", Some("localhost")),
            ("http://user@10.1.2.3/x", Some("10.1.2.3")),
            ("http://[::1]:80/x", Some("::1")),
            ("10.0.0.25", Some("10.0.0.25")),
            ("mail.example", None),
            ("https://shop.example/127.0.0.1", None),
            ("https://1.1.1.1", None),
        ];
        for (url, expected) in table {
            let found = local_host(url).map(|(host, _)| host);
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
