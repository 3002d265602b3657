//! Step 1: who answers.

use ostler_domain::agent::routing::{Candidate, choose};
use ostler_domain::id::AgentId;
use ostler_domain::session::key::Entry;

use super::case::Case;
use crate::org_view::AgentView;
use crate::talk::session::Session;

/// The agent that answers in a session: the one that has it, or, if that one
/// works no more, the one that a new message would reach.
pub(super) fn answering<'v>(case: &'v Case<'_>, session: &Session) -> Option<&'v AgentView> {
    let has = session.active_agent().and_then(|id| case.view.agent(id));
    let works = has.filter(|one| one.agent.receives_messages());
    // Whoever asks on the bus asks one agent, and nobody answers in its place.
    works.or_else(|| match session.asked {
        Some(_) => None,
        None => first(case, session.entry, None),
    })
}

/// The agent that a new conversation reaches.
pub(super) fn first<'v>(
    case: &'v Case<'_>,
    entry: Entry,
    named: Option<AgentId>,
) -> Option<&'v AgentView> {
    let channel = case.view.bindings.iter().find(|one| one.binding.id == case.key.binding);
    let bound = |agent: AgentId| {
        let channel = channel.map(|one| &one.binding.channel);
        case.view.bindings.iter().any(|one| {
            one.agent == agent && one.binding.enabled && Some(&one.binding.channel) == channel
        })
    };
    let candidates = case
        .view
        .agents
        .iter()
        .map(|one| Candidate { agent: &one.agent, bound: bound(one.agent.id) });
    let chosen = choose(entry, named, candidates).ok()?;
    case.view.agent(chosen.id)
}
