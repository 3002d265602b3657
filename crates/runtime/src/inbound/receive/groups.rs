//! Groups: which of the org's bots are in one. Several bots are several bound
//! agents, who answer as a team, in one conversation.

use ostler_channels::inbound::{Change, Inbound, Member};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId, RecordId};
use ostler_store::{OrgBinding, StoreError};
use serde::{Deserialize, Serialize};

use super::{Place, Taken};
use crate::delivery::address;
use crate::ids::derived;
use crate::talk::{read, write};

/// The kind of record that says who is in a group.
const KIND: &str = "group";
/// How often the record is changed anew when somebody else was faster.
const TRIES: usize = 8;

/// A group, as the org has it.
pub(super) struct Group {
    /// The binding that the conversation is kept under, and answered through.
    pub(super) home: BindingId,
    /// Its agents, if there are several: the lowest number of a binding first.
    pub(super) agents: Vec<AgentId>,
}

/// The bots that were seen in a group, in that order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Bots {
    bindings: Vec<BindingId>,
}

impl Group {
    /// What a message is known by, whichever bot brings it; nothing if another
    /// bot brings it. In a large group every bot sees the same numbers of
    /// messages, in a small one each has its own.
    pub(super) fn name_of(&self, bound: &OrgBinding, inbound: &Inbound) -> Option<String> {
        let chat = address(&inbound.peer);
        let shared = bound.binding.channel == Channel::Telegram && chat.starts_with("-100");
        match &inbound.message {
            Some(message) if shared => Some(format!("{chat}/{message}")),
            _ => (bound.binding.id == self.home).then(|| inbound.id.clone()),
        }
    }
}

/// The group that something came from. A bot that brings something is in it.
pub(super) async fn find(place: &Place<'_>, chat: &str) -> Result<Group, StoreError> {
    let here = place.bound.binding.id;
    let bots = change(place, chat, |bots| {
        if !bots.bindings.contains(&here) {
            bots.bindings.push(here);
        }
    })
    .await?;
    let enabled: Vec<&OrgBinding> = bots
        .bindings
        .iter()
        .filter_map(|id| place.view.bindings.iter().find(|one| one.binding.id == *id))
        .filter(|one| one.binding.enabled)
        .collect();
    let home = enabled.first().map_or(here, |one| one.binding.id);
    let mut by_number = enabled;
    by_number.sort_by_key(|one| (one.binding.priority, one.binding.id));
    let mut agents: Vec<AgentId> = Vec::new();
    for one in by_number {
        if !agents.contains(&one.agent) {
            agents.push(one.agent);
        }
    }
    if agents.len() < 2 {
        agents.clear();
    }
    Ok(Group { home, agents })
}

/// Somebody joined a group or left it.
pub(super) async fn changed(
    place: &Place<'_>,
    chat: &str,
    who: &Member,
    what: Change,
) -> Result<Taken, StoreError> {
    let here = place.bound.binding.id;
    if *who == Member::Bot {
        change(place, chat, |bots| {
            bots.bindings.retain(|id| *id != here || what == Change::Joined);
            if what == Change::Joined && !bots.bindings.contains(&here) {
                bots.bindings.push(here);
            }
        })
        .await?;
    }
    Ok(Taken::Ignored("somebody joined a group or left it".into()))
}

/// Changes who is in a group, if that changes anything.
async fn change(
    place: &Place<'_>,
    chat: &str,
    change: impl Fn(&mut Bots),
) -> Result<Bots, StoreError> {
    let channel = &place.bound.binding.channel;
    let word = format!("{KIND} {channel} {chat}");
    let id = derived(RecordId::from_u128, place.org.as_u128(), &word);
    let mut last = StoreError::Conflict("a group".into());
    for _ in 0..TRIES {
        let found = match place.here.record(KIND, id).await {
            Ok(found) => Some(found),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other),
        };
        let before: Option<Bots> = found.as_ref().and_then(|found| read("group", &found.data).ok());
        let mut after = before.clone().unwrap_or_default();
        change(&mut after);
        if before.as_ref() == Some(&after) {
            return Ok(after);
        }
        let stored = match &found {
            Some(found) => place.here.update_record(KIND, found, write(&after)).await,
            None => place.here.create_record(KIND, id, write(&after)).await,
        };
        match stored {
            Ok(()) => return Ok(after),
            Err(error @ StoreError::Conflict(_)) => last = error,
            Err(other) => return Err(other),
        }
    }
    Err(last)
}
