//! Finds the session that a person names.

use anyhow::bail;
use ostler_api::session::Session;
use ostler_domain::id::SessionId;

use crate::api_client::{OrgApi, not_here, open_orgs};
use crate::commands::args::{InstallationArgs, match_id};

/// The most sessions of an org that are searched.
const SEARCH_LIMIT: usize = 500;

/// Finds a session by its id, the end of its id, or the name of the contact or its
/// beginning, where the newest session of the contact is meant. The error lists the
/// candidates, or the newest sessions.
pub(crate) async fn find_session(
    installation: &InstallationArgs,
    name: &str,
    org: Option<&str>,
) -> anyhow::Result<(OrgApi, Session)> {
    let mut candidates = Vec::new();
    for org in open_orgs(installation, org.unwrap_or_default()).await? {
        let sessions: Vec<Session> = org.list(&["sessions"], &[], SEARCH_LIMIT).await?;
        candidates.extend(sessions.into_iter().map(|session| (org.clone(), session)));
    }
    if candidates.is_empty() {
        let why = "there are no sessions yet; write as a customer with `ostler send`";
        return Err(not_here(why.to_owned()));
    }
    let known: Vec<SessionId> = candidates.iter().map(|(_, session)| session.id).collect();
    let named = match choose(name, &candidates, NameMatch::Whole)? {
        None => match match_id(name, &known)? {
            None => choose(name, &candidates, NameMatch::Beginning)?,
            found => found,
        },
        found => found,
    };
    match candidates.iter().find(|(_, session)| Some(session.id) == named) {
        Some((org, session)) => Ok((org.clone(), session.clone())),
        None => {
            candidates.truncate(5);
            let all: Vec<&Candidate> = candidates.iter().collect();
            Err(not_here(format!("no session `{name}`; the newest are:{}", list(&all))))
        }
    }
}

type Candidate = (OrgApi, Session);

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
        let names = [session.peer_name().to_lowercase(), session.contact_name().to_lowercase()];
        names.iter().any(|known| match matching {
            NameMatch::Whole => *known == wanted,
            NameMatch::Beginning => !wanted.is_empty() && known.starts_with(&wanted),
        })
    };
    let mut newest: Vec<&Candidate> = Vec::new();
    for candidate in candidates.iter().filter(|(_, session)| is_named(session)) {
        let conversation = candidate.1.conversation;
        if !newest.iter().any(|(_, session)| session.conversation == conversation) {
            newest.push(candidate);
        }
    }
    match newest.as_slice() {
        [] => Ok(None),
        [(_, session)] => Ok(Some(session.id)),
        several => {
            bail!("several conversations are with `{name}`; name the session:{}", list(several))
        }
    }
}

fn list(candidates: &[&Candidate]) -> String {
    let line = |(org, session): &&Candidate| {
        let (id, channel) = (session.id, session.channel.name());
        format!("\n  {id}  {}  {channel}  {}", org.org.slug, session.contact_name())
    };
    candidates.iter().map(line).collect()
}
