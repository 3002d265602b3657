//! What keeps the tools that an org has defined from working on this machine: secrets that
//! are missing, and addresses that the configuration does not allow.

use std::net::IpAddr;

use ostler_domain::address::non_public_range;
use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::SecretText;
use ostler_domain::tool::org_tools::OrgTool;

use crate::installation::Installation;
use crate::secrets;

/// Returns the problems of a tool in sentences without a full stop.
pub(crate) fn problems(installation: &Installation, org: OrgId, tool: &OrgTool) -> Vec<String> {
    let url = match tool {
        OrgTool::Http(tool) => Some(tool.url.as_str()),
        OrgTool::Mcp(server) => server.url.as_deref(),
    };
    let name = format!("{} {}", tool.kind().description(), tool.name());
    let readable = secrets::org_secrets(installation);
    let missing =
        secrets_of(tool).into_iter().filter_map(|secret| readable.read(org, secret).err());
    let mut problems: Vec<String> = missing.map(|error| format!("{name}: {error}")).collect();
    if !installation.config.local_network
        && let Some((host, range)) = url.and_then(local_host)
    {
        problems.push(format!(
            "{name}: {host} is not on the public internet ({range}); calls are refused until \
             ostler.toml has `local_network = true`"
        ));
    }
    problems
}

/// Returns the places of the secrets that a tool uses.
pub(crate) fn secrets_of(tool: &OrgTool) -> Vec<&SecretRef> {
    let (first, second) = match tool {
        OrgTool::Http(tool) => (tool.headers.values(), None),
        OrgTool::Mcp(server) => (server.env.values(), Some(server.headers.values())),
    };
    first.chain(second.into_iter().flatten()).filter_map(SecretText::secret).collect()
}

/// Returns the host of a URL and its range, if it is known not to be public.
fn local_host(url: &str) -> Option<(String, &'static str)> {
    let rest = url.split_once("://")?.1;
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
            ("https://shop.example/127.0.0.1", None),
            ("https://1.1.1.1", None),
        ];
        for (url, expected) in table {
            let found = local_host(url).map(|(host, _)| host);
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
