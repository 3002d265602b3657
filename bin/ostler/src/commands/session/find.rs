//! Finds the session that a person names.

use crate::commands::args::match_id;
use crate::refused_command::NotHere;
use anyhow::bail;
use ostler_domain::id::SessionId;
use ostler_domain::org::Org;
use ostler_runtime::records::session::Session;
use ostler_store::{SessionFilter, Store, StoredSession};

use super::view::{contact_name, peer_name};

/// The most sessions of an org that are searched.
const SEARCH_LIMIT: u32 = 500;

/// Finds a session by its id, the end of its id, or the name of the contact or its
/// beginning, where the newest session of the contact is meant. The error lists the candidates, or the newest sessions.
pub(crate) async fn find_session(
    store: &Store,
    name: &str,
    org: Option<&str>,
) -> anyhow::Result<(Org, StoredSession)> {
    let orgs = match org {
        Some(org) => vec![crate::commands::find_org(store, org).await?],
        None => store.orgs().await?,
    };
    let mut candidates = Vec::new();
    for org in orgs {
        for stored in store.org(org.id).sessions(SessionFilter::All, None, SEARCH_LIMIT).await? {
            let session: Session = serde_json::from_str(&stored.data)?;
            candidates.push((org.clone(), stored, session));
        }
    }
    if candidates.is_empty() {
        let why = "there are no sessions yet; write as a customer with `ostler send`";
        bail!(NotHere(why.to_owned()));
    }
    let known: Vec<SessionId> = candidates.iter().map(|(_, stored, _)| stored.id).collect();
    let named = match choose(name, &candidates, NameMatch::Whole)? {
        None => match match_id(name, &known)? {
            None => choose(name, &candidates, NameMatch::Beginning)?,
            found => found,
        },
        found => found,
    };
    let found = candidates.iter().find(|(_, stored, _)| Some(stored.id) == named);
    match found {
        Some((org, stored, _)) => Ok((org.clone(), stored.clone())),
        None => {
            candidates.truncate(5);
            bail!(NotHere(format!("no session `{name}`; the newest are:{}", list(&candidates))))
        }
    }
}

type Candidate = (Org, StoredSession, Session);

/// How much of a contact's name was written.
#[derive(Debug, Clone, Copy)]
enum NameMatch {
    Whole,
    Beginning,
}

/// Returns the newest session of the conversation with a contact of this name. Fails if
/// several contacts have it.
fn choose(
    name: &str,
    candidates: &[Candidate],
    matching: NameMatch,
) -> anyhow::Result<Option<SessionId>> {
    let wanted = name.trim().to_lowercase();
    let is_named = |session: &Session| {
        let names = [peer_name(session).to_lowercase(), contact_name(session).to_lowercase()];
        names.iter().any(|known| match matching {
            NameMatch::Whole => *known == wanted,
            NameMatch::Beginning => !wanted.is_empty() && known.starts_with(&wanted),
        })
    };
    let mut newest: Vec<Candidate> = Vec::new();
    for candidate in candidates.iter().filter(|(_, _, session)| is_named(session)) {
        let conversation = candidate.2.conversation;
        if !newest.iter().any(|(_, _, session)| session.conversation == conversation) {
            newest.push(candidate.clone());
        }
    }
    match newest.as_slice() {
        [] => Ok(None),
        [(_, stored, _)] => Ok(Some(stored.id)),
        several => {
            bail!("several conversations are with `{name}`; name the session:{}", list(several))
        }
    }
}

fn list(candidates: &[Candidate]) -> String {
    let line = |(org, stored, session): &Candidate| {
        let (id, channel) = (stored.id, session.channel.name());
        format!("\n  {id}  {}  {channel}  {}", org.slug, contact_name(session))
    };
    candidates.iter().map(line).collect()
}
