//! `ostler key ls`.

use ostler_api::key::ListedKey;
use ostler_domain::org::key_scope::KeyScopes;
use ostler_runtime::deps::Clock;
use serde_json::json;

use super::LIST_LIMIT;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_rows};

pub(super) async fn run(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let keys: Vec<ListedKey> = org.list(&["keys"], &[], LIST_LIMIT).await?;
    if args.output.json {
        let all: Vec<_> = keys
            .iter()
            .map(|key| {
                json!({"id": key.id, "name": key.name, "role": key.role, "scopes": key.scopes, "shown": key.prefix,
                    "created_at": key.created_at, "expires_at": key.expires_at,
                    "revoked_at": key.revoked_at, "last_used_at": key.last_used_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    if keys.is_empty() {
        anstream::println!("{} has no keys; create one with `ostler key create`", org.org.name);
        return Ok(());
    }
    let header = ["key", "name", "role", "scopes", "begins with", "last used", "state"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    let now = Clock::system().now();
    rows.extend(keys.iter().map(|key| {
        let state = match (key.revoked_at, key.expires_at) {
            (Some(at), _) => format!("revoked {}", format_time(at)),
            (None, Some(at)) if at <= now => format!("expired {}", format_time(at)),
            (None, Some(at)) => format!("valid until {}", format_time(at)),
            (None, None) => "valid".to_owned(),
        };
        [
            Cell::id(&key.id),
            key.name.as_str().into(),
            key.role.name().into(),
            scopes_text(&key.scopes).into(),
            format!("{}…", key.prefix).into(),
            key.last_used_at.map_or_else(|| "never".to_owned(), format_time).into(),
            state.into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

fn scopes_text(scopes: &KeyScopes) -> String {
    if scopes.is_unlimited() { "all".to_owned() } else { scopes.to_string() }
}
