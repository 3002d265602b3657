//! Names of MCP tools: `mcp__server__tool`.

use ostler_domain::tool::ToolName;
use sha2::{Digest, Sha256};

use ostler_domain::tool::mcp::McpServerName;

/// The maximum length of a tool name.
const MAX_LEN: usize = 64;

/// Returns the name of a server's tool in this installation. Characters that are not
/// allowed are replaced and long names shortened; such names end with a hash of the
/// original, which is the same on every start. Collisions are possible, so the caller
/// has to check for duplicates.
pub(super) fn qualified_name(server: &McpServerName, tool: &str) -> Option<ToolName> {
    let prefix = format!("mcp__{server}__");
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let fits =
        !tool.is_empty() && tool.chars().all(allowed) && prefix.len() + tool.len() <= MAX_LEN;
    let name = if fits {
        format!("{prefix}{tool}")
    } else {
        let suffix = short_hash(tool);
        let room = MAX_LEN - prefix.len() - suffix.len() - 1;
        let replaced = tool.chars().map(|c| if allowed(c) { c } else { '_' });
        let short: String = replaced.take(room).collect();
        format!("{prefix}{short}_{suffix}")
    };
    name.parse().ok()
}

/// Returns the first eight hexadecimal digits of the SHA-256 hash.
fn short_hash(tool: &str) -> String {
    let hash = Sha256::digest(tool.as_bytes());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::qualified_name;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn names_are_allowed_short_and_stable() {
        let check = |server: &str, tool: &str, expected: &str| {
            let name = qualified_name(&server.parse().unwrap(), tool).unwrap();
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
        fn every_name_has_the_prefix_of_its_server(
            server in "[a-zA-Z0-9][a-zA-Z0-9-]{0,23}",
            tool in any::<String>(),
        ) {
            let server = server.parse().unwrap();
            let name = qualified_name(&server, &tool).unwrap();
            let start = format!("mcp__{server}__");
            prop_assert!(name.as_str().starts_with(&start));
            prop_assert_eq!(qualified_name(&server, &tool), Some(name));
        }
    }
}
