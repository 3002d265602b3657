//! Finds the session that a person names.

use anyhow::bail;
use ostler_domain::org::Org;
use ostler_runtime::records::session::Session;
use ostler_store::{SessionFilter, Store, StoredSession};

use super::view::peer_name;

/// The most sessions of an org that are searched.
const SEARCH_LIMIT: u32 = 500;

/// Finds a session by its id, the end of its id, or the name of the contact on the
/// channel. The error lists the newest sessions.
pub(crate) async fn find_session(
    store: &Store,
    name: &str,
    org: Option<&str>,
) -> anyhow::Result<(Org, StoredSession)> {
    let orgs = match org {
        Some(org) => vec![crate::commands::find_org(store, org).await?],
        None => store.orgs().await?,
    };
    let suffix = name.rsplit('…').next().unwrap_or(name);
    let mut candidates = Vec::new();
    for org in orgs {
        for stored in store.org(org.id).sessions(SessionFilter::All, None, SEARCH_LIMIT).await? {
            let session: Session = serde_json::from_str(&stored.data)?;
            let contact = peer_name(&session);
            if stored.id.to_string() == name
                || contact == name
                || (suffix.len() >= 2 && stored.id.to_string().ends_with(suffix))
            {
                return Ok((org, stored));
            }
            candidates.push(format!("\n  {}  {contact}", stored.id));
        }
    }
    if candidates.is_empty() {
        bail!("there are no sessions yet; write as a customer with `ostler send`");
    }
    candidates.truncate(5);
    bail!("no session `{name}`; the newest are:{}", candidates.concat())
}
