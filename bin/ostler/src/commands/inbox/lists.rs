//! The lists of conversations, one of each org. What happens in an org causes its list to be
//! read again; orgs are read at the same time, and one that fails is tried again by itself.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Result;
use ostler_api::names::ActorNames;
use ostler_api::session_work::ListedSession;
use ostler_tui::inbox::protocol::{Conversation, InboxUpdate, UnreadableOrg};
use tokio::sync::{Mutex, Notify, mpsc};

use super::client::{GATHER, RETRY};
use crate::api_client::OrgApi;

/// The most conversations of an org with agents, newest first, and of those with people.
const MAX_WITH_AGENTS: usize = 100;
const MAX_WITH_PEOPLE: usize = 200;

/// The lists of all orgs.
pub(super) struct ConversationLists {
    updates: mpsc::Sender<InboxUpdate>,
    orgs: Vec<OrgSignals>,
    known: Mutex<Vec<OrgList>>,
}

/// What an org is asked for.
#[derive(Default)]
struct OrgSignals {
    changed: Notify,
    /// Names are read again, too.
    renamed: Notify,
}

/// What is known of an org.
#[derive(Default)]
struct OrgList {
    conversations: Option<Vec<Conversation>>,
    unreadable: Option<UnreadableOrg>,
}

impl ConversationLists {
    pub(super) fn new(count: usize, updates: mpsc::Sender<InboxUpdate>) -> Self {
        let orgs = (0..count).map(|_| OrgSignals::default()).collect();
        let known = (0..count).map(|_| OrgList::default()).collect();
        Self { updates, orgs, known: Mutex::new(known) }
    }

    /// Has the list of the org at a place read again.
    pub(super) fn read_again(&self, place: usize) {
        if let Some(org) = self.orgs.get(place) {
            org.changed.notify_one();
        }
    }

    /// Has everything read again.
    pub(super) fn read_all_again(&self) {
        for org in &self.orgs {
            org.renamed.notify_one();
            org.changed.notify_one();
        }
    }

    /// Keeps the list of the org at a place up to date.
    pub(super) async fn keep(self: Arc<Self>, place: usize, org: OrgApi) {
        let Some(signals) = self.orgs.get(place) else { return };
        let mut names = KnownNames::default();
        signals.changed.notify_one();
        loop {
            signals.changed.notified().await;
            tokio::time::sleep(GATHER).await;
            let is_renamed = tokio::select! {
                biased;
                () = signals.renamed.notified() => true,
                () = std::future::ready(()) => false,
            };
            if is_renamed {
                names = KnownNames::default();
            }
            let read = self.read(&org, &mut names).await;
            let failed = read.is_err();
            self.publish(place, &org, read).await;
            if failed {
                tokio::time::sleep(RETRY).await;
                signals.changed.notify_one();
            }
        }
    }

    async fn read(&self, org: &OrgApi, names: &mut KnownNames) -> Result<Vec<Conversation>> {
        let part = async |holder, limit| {
            org.list::<ListedSession>(&["sessions"], &[("holder", holder)], limit).await
        };
        let (waiting, with_people, with_agents) = tokio::try_join!(
            part("waiting", MAX_WITH_PEOPLE),
            part("person", MAX_WITH_PEOPLE),
            part("agent", MAX_WITH_AGENTS),
        )?;
        // One that changed hands between two readings is in both.
        let mut ids = HashSet::new();
        let all = waiting.into_iter().chain(with_people).chain(with_agents);
        let all: Vec<ListedSession> = all.filter(|one| ids.insert(one.session.id)).collect();
        if names.lacks_one_of(&all) {
            let read: ActorNames = org.names().await?;
            names.take(&all);
            let _ = self.updates.send(InboxUpdate::Names(read)).await;
        }
        let conversation = |listed| Conversation {
            org: org.org.slug.clone(),
            org_name: org.org.name.clone(),
            listed,
        };
        Ok(all.into_iter().map(conversation).collect())
    }

    /// Sends what is known of all orgs, when each has answered or failed.
    async fn publish(&self, place: usize, org: &OrgApi, read: Result<Vec<Conversation>>) {
        let mut known = self.known.lock().await;
        let was_unreadable = unreadable(&known);
        if let Some(list) = known.get_mut(place) {
            match read {
                Ok(read) => (list.conversations, list.unreadable) = (Some(read), None),
                Err(error) => {
                    let (org_name, why) = (org.org.name.clone(), format!("{error:#}"));
                    list.unreadable = Some(UnreadableOrg { org_name, why });
                }
            }
        }
        if known.iter().any(|list| list.conversations.is_none() && list.unreadable.is_none()) {
            return;
        }
        let is_unreadable = unreadable(&known);
        let is_new = is_unreadable != was_unreadable;
        let lists: Vec<_> = known.iter().filter_map(|list| list.conversations.as_ref()).collect();
        // An inbox that is gone is noticed by its requests.
        if !lists.is_empty() {
            let all = lists.into_iter().flatten().cloned().collect();
            let _ = self.updates.send(InboxUpdate::Conversations(all)).await;
        }
        if is_new {
            let _ = self.updates.send(InboxUpdate::Unreadable(is_unreadable)).await;
        }
    }
}

fn unreadable(lists: &[OrgList]) -> Vec<UnreadableOrg> {
    lists.iter().filter_map(|list| list.unreadable.clone()).collect()
}

/// Whose names were read.
#[derive(Default)]
struct KnownNames {
    is_read: bool,
    agents: HashSet<ostler_domain::id::AgentId>,
    people: HashSet<ostler_domain::id::UserId>,
}

impl KnownNames {
    fn lacks_one_of(&self, all: &[ListedSession]) -> bool {
        let is_new = |one: &ListedSession| {
            let agent = one.session.agent.filter(|agent| !self.agents.contains(agent));
            let person = person_of(one).filter(|person| !self.people.contains(person));
            agent.is_some() || person.is_some()
        };
        !self.is_read || all.iter().any(is_new)
    }

    /// Takes note of those that were asked for, also of those that have no name.
    fn take(&mut self, all: &[ListedSession]) {
        self.is_read = true;
        self.agents.extend(all.iter().filter_map(|one| one.session.agent));
        self.people.extend(all.iter().filter_map(person_of));
    }
}

fn person_of(one: &ListedSession) -> Option<ostler_domain::id::UserId> {
    one.session.open_escalation()?.taken_over_by
}
