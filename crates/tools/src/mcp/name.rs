//! The names of a server's tools: `mcp__server__tool`.

use ostler_domain::tool::ToolName;
use sha2::{Digest, Sha256};

use super::config::ServerName;

/// The most characters of a tool's name.
const MOST: usize = 64;

/// The name that a server's tool has here. What does not fit is shortened or
/// replaced, and then ends with a fingerprint of what the server calls it: the
/// same on every start, and different for different tools but by bad luck or bad
/// will. Whoever collects tools refuses two of the same name.
pub(super) fn namespaced(server: &ServerName, tool: &str) -> Option<ToolName> {
    let start = format!("mcp__{server}__");
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let fits = !tool.is_empty() && tool.chars().all(allowed) && start.len() + tool.len() <= MOST;
    let name = if fits {
        format!("{start}{tool}")
    } else {
        let mark = fingerprint(tool);
        let room = MOST - start.len() - mark.len() - 1;
        let plain = tool.chars().map(|c| if allowed(c) { c } else { '_' });
        let short: String = plain.take(room).collect();
        format!("{start}{short}_{mark}")
    };
    name.parse().ok()
}

/// The first eight hexadecimal digits of its hash.
fn fingerprint(tool: &str) -> String {
    let hash = Sha256::digest(tool.as_bytes());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::namespaced;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn names_fit_and_stay_the_same() {
        let check = |server: &str, tool: &str, expected: &str| {
            let name = namespaced(&server.parse().unwrap(), tool).unwrap();
            assert_eq!(name.as_str(), expected, "{server} {tool}");
        };
        check("github", "search-issues", "mcp__github__search-issues");
        check("a", "b__c", "mcp__a__b__c");
        check("a", "files.read", "mcp__a__files_read_601e4eb6");
        check("a", "", "mcp__a___e3b0c442");
        let long = "x".repeat(56);
        check("a", &long, &format!("mcp__a__{long}"));
        check("a", &"x".repeat(57), &format!("mcp__a__{}_ae14a256", "x".repeat(47)));
    }

    proptest! {
        #[test]
        fn every_tool_gets_a_name_of_its_server(
            server in "[a-zA-Z0-9][a-zA-Z0-9-]{0,23}",
            tool in any::<String>(),
        ) {
            let server = server.parse().unwrap();
            let name = namespaced(&server, &tool).unwrap();
            let start = format!("mcp__{server}__");
            prop_assert!(name.as_str().starts_with(&start));
            prop_assert_eq!(namespaced(&server, &tool), Some(name));
        }
    }
}
