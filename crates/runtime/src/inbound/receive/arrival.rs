//! How a person came in: as a customer, as an owner at work, or as the agency's
//! owner who tries a client's agents out.

use ostler_channels::inbound::{Content, Inbound};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, RecordId};
use ostler_domain::org::Relation;
use ostler_domain::session::key::{Arrival as By, Entry, entry_of};
use ostler_store::StoreError;
use serde::{Deserialize, Serialize};

use super::{Place, Reception};
use crate::ids::derived;
use crate::org_view::OrgView;
use crate::talk::{read, write};

/// The kind of record that says how somebody came in last.
const KIND: &str = "arrival";

/// How somebody came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) entry: Entry,
    /// The agent that a link named.
    pub(super) agent: Option<AgentId>,
}

impl Arrival {
    /// Somebody outside.
    pub(super) const CUSTOMER: Self = Self { entry: Entry::Customer, agent: None };
}

/// How the owner of the agency came in last, until they come in otherwise.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    testing: bool,
    #[serde(default)]
    agent: Option<AgentId>,
}

impl Reception {
    /// How the writer came in. What a deep link opened goes on until the next
    /// `/start`.
    pub(super) async fn arrival(
        &self,
        place: &Place<'_>,
        inbound: &Inbound,
    ) -> Result<Arrival, StoreError> {
        let owned = self.owned(place, &inbound.from.identifier).await?;
        let link = match &inbound.content {
            Content::Command { name, payload } if name == "start" => {
                Some(payload.as_deref().and_then(|payload| linked(&place.view, payload)))
            }
            _ => None,
        };
        if owned != Some(Relation::Child) {
            let agent = link.flatten().and_then(|link| link.agent);
            return Ok(Arrival { entry: entry_of(owned, By::OrgSwitch), agent });
        }
        let kept = match link {
            Some(link) => keep(place, &inbound.from.identifier, link).await?,
            None => kept(place, &inbound.from.identifier).await?,
        };
        let by = if kept.testing { By::DeepLink } else { By::OrgSwitch };
        Ok(Arrival { entry: entry_of(owned, by), agent: kept.agent })
    }

    /// How the org is related to the one that the writer owns, if they own any.
    async fn owned(&self, place: &Place<'_>, who: &str) -> Result<Option<Relation>, StoreError> {
        if owns(&place.view, place, who) {
            return Ok(Some(Relation::Own));
        }
        let Some(parent) = &place.view.parent else { return Ok(None) };
        let parent = self.view(parent.id).await?;
        Ok(owns(&parent, place, who).then_some(Relation::Child))
    }
}

/// Whether the writer is the owner of an org, as far as the channel proves it:
/// anybody can write any sender on a mail.
fn owns(view: &OrgView, place: &Place<'_>, who: &str) -> bool {
    let (binding, channel) = (place.bound.binding.id, &place.bound.binding.channel);
    let Some(owner) = &view.settings.people.owner else { return false };
    if owner.identifier != who || *channel == Channel::Email {
        return false;
    }
    // Telegram calls a person the same, whichever bot they write to.
    let there = view.bindings.iter().find(|one| one.binding.id == owner.binding);
    owner.binding == binding
        || (*channel == Channel::Telegram
            && there.is_some_and(|one| one.binding.channel == Channel::Telegram))
}

/// What a deep link names.
#[derive(Debug, Clone, Copy)]
struct Link {
    agent: Option<AgentId>,
}

/// Reads the payload of a deep link: the org, or one of its agents.
fn linked(view: &OrgView, payload: &str) -> Option<Link> {
    let payload = payload.trim();
    if let Some(found) = view.find_agent(payload) {
        return Some(Link { agent: Some(found.agent.id) });
    }
    let org = payload == view.org.slug || payload == view.org.id.to_string();
    org.then_some(Link { agent: None })
}

fn record(place: &Place<'_>, who: &str) -> RecordId {
    derived(RecordId::from_u128, place.bound.binding.id.as_u128(), &format!("{KIND} {who}"))
}

async fn kept(place: &Place<'_>, who: &str) -> Result<Kept, StoreError> {
    match place.here.record(KIND, record(place, who)).await {
        Ok(found) => Ok(read("arrival", &found.data).unwrap_or_default()),
        Err(StoreError::NotFound(_)) => Ok(Kept::default()),
        Err(other) => Err(other),
    }
}

/// Remembers how somebody came in. Of two at the same moment one is remembered.
async fn keep(place: &Place<'_>, who: &str, link: Option<Link>) -> Result<Kept, StoreError> {
    let kept = Kept { testing: link.is_some(), agent: link.and_then(|link| link.agent) };
    let (id, data) = (record(place, who), write(&kept));
    let stored = match place.here.record(KIND, id).await {
        Ok(found) => place.here.update_record(KIND, &found, data).await,
        Err(StoreError::NotFound(_)) => place.here.create_record(KIND, id, data).await,
        Err(other) => Err(other),
    };
    match stored {
        Ok(()) | Err(StoreError::Conflict(_)) => Ok(kept),
        Err(other) => Err(other),
    }
}
