//! Sends notices to people: plans where and when each goes, and puts what is due into the
//! outbox.
//!
//! Where and when is decided by [`ostler_domain::notice::schedule`]. A notice that somebody
//! has acknowledged, or whose cause is settled, is not sent any more. Any number of
//! processes may do this at the same time: the store plans and sends each notice once.

mod people;
mod settled;
pub mod text;

use std::collections::BTreeMap;

use ostler_domain::human::escalation::Urgency;
use ostler_domain::id::{ConversationId, OrgId, OutboxId, SessionId};
use ostler_domain::message::MessagePart;
use ostler_domain::notice::preferences::NoticeDestination;
use ostler_domain::notice::schedule::{NoticeFacts, plan_deliveries};
use ostler_domain::org::settings::{ChannelAddress, OWNER};
use ostler_domain::session::key::{ConversationEntry, ConversationKey, Peer};
use ostler_domain::time::Timestamp;
use ostler_store::{
    Author, DueNoticeDelivery, NewOutboxEntry, NoticeConversation, NoticeMessage, OrgStore, Store,
    StoreError, StoredNotice,
};
use serde_json::Value;

use self::people::OrgPeople;
pub use self::settled::settled_reason;
use crate::deps::Clock;
use crate::ids::fresh;
use crate::records::encode;
use crate::records::outgoing::{OutgoingButton, OutgoingMessage};

/// How many notices and deliveries are handled at once.
const PAGE: u32 = 200;

/// Sends notices to people. Cheap to clone.
#[derive(Debug, Clone)]
pub struct NoticeDispatcher {
    store: Store,
    clock: Clock,
}

impl NoticeDispatcher {
    /// Creates a dispatcher.
    pub const fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Plans new notices and puts those that are due into the outbox. Returns how many
    /// messages it added.
    pub async fn dispatch(&self) -> Result<u64, StoreError> {
        let mut orgs = BTreeMap::new();
        loop {
            let new = self.store.unplanned_notices(PAGE).await?;
            for (org, notice) in &new {
                self.plan(&mut orgs, *org, notice).await?;
            }
            if new.len() < PAGE as usize {
                break;
            }
        }
        let mut added = 0;
        loop {
            let due = self.store.due_notice_deliveries(self.clock.now(), PAGE).await?;
            let count = due.len();
            let mut progress = false;
            for group in digests(due) {
                let (sent, done) = self.send(&mut orgs, group).await?;
                added += u64::from(sent);
                progress |= done;
            }
            if count < PAGE as usize || !progress {
                return Ok(added);
            }
        }
    }

    /// Decides where and when a notice is sent.
    async fn plan(
        &self,
        orgs: &mut BTreeMap<OrgId, OrgPeople>,
        org: OrgId,
        stored: &StoredNotice,
    ) -> Result<(), StoreError> {
        let people = people_of(&self.store, orgs, org).await?;
        let data = data_of(stored);
        let (kind, now) = (stored.notice.kind, self.clock.now());
        let urgency = serde_json::from_value::<Urgency>(data["urgency"].clone()).ok();
        let facts = NoticeFacts {
            kind,
            urgency: kind.urgency(urgency),
            decide_by: data["expires_at"].as_i64().map(Timestamp::from_millis),
        };
        let mut planned = Vec::new();
        for person in people.recipients(stored.notice.recipient) {
            let preferences = people.preferences(&person);
            let reachable = people.settings.notice_destinations(&person, kind.topic());
            let zone = people.time_zone(&preferences);
            let offset = |at: Timestamp| people::utc_offset(&zone, at);
            let all = plan_deliveries(facts, &preferences, &reachable, &offset, now);
            planned.extend(all.into_iter().map(|delivery| (person.clone(), delivery)));
        }
        self.store.org(org).plan_notice(stored.notice.id, planned).await.map(drop)
    }

    /// Puts the message of some deliveries to one destination into the outbox, except those
    /// that nobody needs any more. Returns whether there was a message, and whether any
    /// delivery is done.
    async fn send(
        &self,
        orgs: &mut BTreeMap<OrgId, OrgPeople>,
        mut group: Vec<DueNoticeDelivery>,
    ) -> Result<(bool, bool), StoreError> {
        let Some(first) = group.first() else { return Ok((false, false)) };
        let (org, key) = (first.org, first.key.clone());
        let people = people_of(&self.store, orgs, org).await?;
        let store = self.store.org(org);
        let address = match people.address(&key.person, key.destination) {
            Ok(address) => address,
            Err(why) => {
                for delivery in &group {
                    store.skip_notice_delivery(&delivery.key, why).await?;
                }
                return Ok((false, true));
            }
        };
        let all = group.len();
        group = skip_settled(&store, group).await?;
        let skipped = group.len() < all;
        if group.is_empty() {
            return Ok((false, skipped));
        }
        let to = match key.destination {
            NoticeDestination::TeamGroup => Peer::Group(address.identifier.clone()),
            _ => Peer::Person(address.identifier.clone()),
        };
        let content = content(&store, people, &group).await?;
        let conversation = match content.conversation {
            Some(conversation) => NoticeConversation::Existing(conversation),
            None => own_conversation(org, &address, &to),
        };
        let outgoing = notice_message(&address, to, content.text, content.buttons);
        let entry = NewOutboxEntry {
            id: fresh(OutboxId::from_u128),
            binding: Some(address.binding),
            author: Author::Notice,
            payload: encode(&outgoing),
        };
        let deliveries = group.into_iter().map(|delivery| delivery.key).collect();
        let sent = store.send_notices(NoticeMessage { deliveries, conversation, entry }).await?;
        Ok((sent, sent || skipped))
    }
}

/// Returns why each person that a notice is for was sent nothing, in sentences without a full
/// stop.
pub async fn unsent_reasons(
    store: &Store,
    org: OrgId,
    stored: &StoredNotice,
) -> Result<Vec<String>, StoreError> {
    let people = OrgPeople::load(store, org).await?;
    let topic = stored.notice.kind.topic();
    let facts = NoticeFacts {
        kind: stored.notice.kind,
        urgency: stored.notice.kind.urgency(None),
        decide_by: None,
    };
    let recipients = people.recipients(stored.notice.recipient);
    let reasons = recipients.into_iter().map(|person| {
        let preferences = people.preferences(&person);
        let wanted = plan_deliveries(
            facts,
            &preferences,
            &NoticeDestination::ALL.into(),
            &|_| 0,
            stored.created_at,
        );
        let reachable = people.settings.notice_destinations(&person, topic);
        let wanted: Vec<&str> = wanted
            .iter()
            .filter(|one| !reachable.contains(&one.destination))
            .map(|one| one.destination.name())
            .collect();
        match wanted.as_slice() {
            [] => format!("{person} wants no notices about {topic}"),
            several => format!("{person} has no address for {}", several.join(" and ")),
        }
    });
    Ok(reasons.collect())
}

/// What a message says, and the conversation of the customer that it is about.
struct NoticeContent {
    text: String,
    buttons: Vec<OutgoingButton>,
    conversation: Option<ConversationId>,
}

/// Records the deliveries that nobody needs any more, and returns the others.
async fn skip_settled(
    store: &OrgStore<'_>,
    group: Vec<DueNoticeDelivery>,
) -> Result<Vec<DueNoticeDelivery>, StoreError> {
    let mut needed = Vec::new();
    for delivery in group {
        match settled_reason(store, &delivery.notice).await? {
            Some(why) => store.skip_notice_delivery(&delivery.key, why).await?,
            None => needed.push(delivery),
        }
    }
    Ok(needed)
}

/// Returns what the message of some deliveries to one destination says.
async fn content(
    store: &OrgStore<'_>,
    people: &OrgPeople,
    group: &[DueNoticeDelivery],
) -> Result<NoticeContent, StoreError> {
    match group {
        [single] if single.key.destination != NoticeDestination::Digest => {
            let session = settled::session_of(store, &single.notice).await?;
            let names = text::agent_names(store, &single.notice).await?;
            let about = session.as_ref().map(|(_, session)| session);
            let (text, buttons) = text::message(&people.org, single, about, &names);
            let conversation = session.map(|(conversation, _)| conversation);
            Ok(NoticeContent { text, buttons, conversation })
        }
        several => {
            let person = several.first().map_or(OWNER, |delivery| &delivery.key.person);
            let zone = people.time_zone(&people.preferences(person));
            let notices = several.iter().map(|delivery| &delivery.notice);
            let text = text::digest(&people.org.name, notices, &zone);
            Ok(NoticeContent { text, buttons: Vec::new(), conversation: None })
        }
    }
}

/// Groups due deliveries by message: those of a digest share one.
fn digests(due: Vec<DueNoticeDelivery>) -> Vec<Vec<DueNoticeDelivery>> {
    let mut digests: BTreeMap<(OrgId, String), Vec<DueNoticeDelivery>> = BTreeMap::new();
    let mut all = Vec::new();
    for delivery in due {
        match delivery.key.destination {
            NoticeDestination::Digest => {
                let person = (delivery.org, delivery.key.person.clone());
                digests.entry(person).or_default().push(delivery);
            }
            _ => all.push(vec![delivery]),
        }
    }
    all.extend(digests.into_values());
    all
}

async fn people_of<'o>(
    store: &Store,
    orgs: &'o mut BTreeMap<OrgId, OrgPeople>,
    org: OrgId,
) -> Result<&'o OrgPeople, StoreError> {
    if let std::collections::btree_map::Entry::Vacant(vacant) = orgs.entry(org) {
        vacant.insert(OrgPeople::load(store, org).await?);
    }
    orgs.get(&org).ok_or(StoreError::NotFound("organization"))
}

/// Returns the data of a notice.
pub(super) fn data_of(stored: &StoredNotice) -> Value {
    serde_json::from_str(&stored.notice.data).unwrap_or_default()
}

/// Returns the session that a notice is about.
fn session_id(data: &Value) -> Option<SessionId> {
    data["session"].as_str()?.parse().ok()
}

/// Returns the conversation of a person with the org, for notices about no customer.
fn own_conversation(org: OrgId, address: &ChannelAddress, to: &Peer) -> NoticeConversation {
    let key = ConversationKey {
        org,
        binding: address.binding,
        peer: to.clone(),
        entry: ConversationEntry::Owner,
    };
    NoticeConversation::OfPerson { key, new_id: fresh(ConversationId::from_u128) }
}

fn notice_message(
    address: &ChannelAddress,
    to: Peer,
    text: String,
    buttons: Vec<OutgoingButton>,
) -> OutgoingMessage {
    OutgoingMessage {
        binding: address.binding,
        to,
        parts: vec![MessagePart::text(text)],
        buttons,
        agent: None,
        message: None,
        reply_to: None,
        thread: None,
        bus_request: None,
        plain_text: false,
    }
}
