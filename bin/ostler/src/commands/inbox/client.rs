//! The client behind the inbox. It reads the list and the conversation that is shown again
//! when something has happened, and carries actions out; none of the three waits for another.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use ostler_api::approval::{Approval, ApprovalDetail};
use ostler_api::names::ActorNames;
use ostler_api::session::SessionDetail;
use ostler_api::session_work::{ListedSession, ReadRequest, SessionWork};
use ostler_api::transcript::Transcript;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::SessionId;
use ostler_tui::inbox::protocol::{
    ConnectionState, Conversation, InboxAction, InboxRequest, InboxUpdate, OpenedConversation,
};
use tokio::sync::{Notify, mpsc, watch};

use super::actions::{SentKeys, act};
use super::connection::{StreamSignal, follow, worst};
use crate::api_client::{Nothing, OrgApi};

/// Events that come together cause one reading.
const GATHER: Duration = Duration::from_millis(120);
/// How long after a failed reading it is tried again.
const RETRY: Duration = Duration::from_secs(3);
/// The most conversations of an org with agents, newest first, and of those with people.
const MAX_WITH_AGENTS: usize = 100;
const MAX_WITH_PEOPLE: usize = 200;
/// The most calls of a conversation that are shown.
const MAX_APPROVALS: usize = 20;

/// The conversation that is shown, and whether the person sees it.
#[derive(Clone)]
struct OpenRequest {
    org: OrgApi,
    session: SessionId,
    is_seen: bool,
}

/// What the parts of the client share.
pub(super) struct InboxClient {
    orgs: Vec<OrgApi>,
    updates: mpsc::Sender<InboxUpdate>,
    list_changed: Notify,
    conversation_changed: Notify,
    opened: watch::Sender<Option<OpenRequest>>,
    retry: Arc<Notify>,
    keys: Mutex<SentKeys>,
}

impl InboxClient {
    pub(super) fn new(orgs: Vec<OrgApi>, updates: mpsc::Sender<InboxUpdate>) -> Self {
        Self {
            orgs,
            updates,
            list_changed: Notify::new(),
            conversation_changed: Notify::new(),
            opened: watch::Sender::new(None),
            retry: Arc::default(),
            keys: Mutex::default(),
        }
    }

    /// Works until the inbox is gone.
    pub(super) async fn run(self, requests: mpsc::UnboundedReceiver<InboxRequest>) {
        let client = Arc::new(self);
        let (signals, received) = mpsc::channel(64);
        let mut tasks = tokio::task::JoinSet::new();
        for (place, org) in client.orgs.iter().enumerate() {
            tasks.spawn(follow(place, org.clone(), signals.clone(), client.retry.clone()));
        }
        tasks.spawn(client.clone().watch_streams(received));
        tasks.spawn(client.clone().keep_list());
        tasks.spawn(client.clone().keep_conversation());
        client.list_changed.notify_one();
        client.carry_out_all(requests).await;
    }

    /// An inbox that is gone is noticed by its requests.
    async fn send(&self, update: InboxUpdate) {
        let _ = self.updates.send(update).await;
    }

    fn read_again(&self) {
        self.list_changed.notify_one();
        self.conversation_changed.notify_one();
    }

    async fn carry_out_all(self: Arc<Self>, mut requests: mpsc::UnboundedReceiver<InboxRequest>) {
        let mut actions = tokio::task::JoinSet::new();
        while let Some(request) = requests.recv().await {
            match request {
                InboxRequest::Reload => {
                    self.retry.notify_waiters();
                    self.read_again();
                }
                InboxRequest::Open { org, session, is_seen } => {
                    let org = self.org(&org).cloned();
                    let opened = org.map(|org| OpenRequest { org, session, is_seen });
                    self.opened.send_replace(opened);
                }
                InboxRequest::Act { number, org, session, action } => {
                    let client = self.clone();
                    actions.spawn(async move {
                        client.carry_out(number, &org, session, &action).await;
                    });
                }
            }
            while actions.try_join_next().is_some() {}
        }
        // What was begun is finished.
        while actions.join_next().await.is_some() {}
    }

    fn org(&self, slug: &str) -> Option<&OrgApi> {
        self.orgs.iter().find(|org| org.org.slug == slug)
    }

    async fn carry_out(&self, number: u64, org: &str, session: SessionId, action: &InboxAction) {
        let result = match self.org(org) {
            Some(org) => self.act_once(org, session, action).await,
            None => Err(anyhow::anyhow!("there is no organization `{org}` here")),
        };
        self.send(match result {
            Ok(result) => InboxUpdate::Done { number, result },
            Err(error) => InboxUpdate::Refused { number, why: format!("{error:#}") },
        })
        .await;
        self.read_again();
    }

    async fn act_once(
        &self,
        org: &OrgApi,
        session: SessionId,
        action: &InboxAction,
    ) -> Result<ostler_tui::inbox::protocol::InboxResult> {
        let keys = || self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let key = keys().begin(session, action)?;
        let result = act(org, session, action, &key).await?;
        keys().end(session, action);
        Ok(result)
    }

    async fn watch_streams(self: Arc<Self>, mut signals: mpsc::Receiver<StreamSignal>) {
        let mut states = vec![ConnectionState::Connecting; self.orgs.len()];
        while let Some(signal) = signals.recv().await {
            match signal {
                StreamSignal::State(place, state) => {
                    if let Some(known) = states.get_mut(place) {
                        *known = state;
                    }
                    self.send(InboxUpdate::Connection(worst(&states))).await;
                }
                StreamSignal::Writing(delta) => self.send(InboxUpdate::Writing(delta)).await,
                StreamSignal::Changed(session) => {
                    let shown = self.opened.borrow().as_ref().map(|opened| opened.session);
                    self.list_changed.notify_one();
                    if session.is_none() || session == shown {
                        self.conversation_changed.notify_one();
                    }
                }
            }
        }
    }

    async fn keep_list(self: Arc<Self>) {
        loop {
            self.list_changed.notified().await;
            tokio::time::sleep(GATHER).await;
            match self.read_list().await {
                Ok(conversations) => self.send(InboxUpdate::Conversations(conversations)).await,
                Err(error) => {
                    // The streams say that there is no connection; this says the same again.
                    tracing::debug!(%error, "conversations not read, will retry");
                    tokio::time::sleep(RETRY).await;
                    self.list_changed.notify_one();
                }
            }
        }
    }

    async fn read_list(&self) -> Result<Vec<Conversation>> {
        let mut all = Vec::new();
        for org in &self.orgs {
            self.send(InboxUpdate::Names(org.get::<ActorNames>(&["names"]).await?)).await;
            let parts = [
                ("waiting", MAX_WITH_PEOPLE),
                ("person", MAX_WITH_PEOPLE),
                ("agent", MAX_WITH_AGENTS),
            ];
            for (holder, limit) in parts {
                let query = [("holder", holder)];
                let found: Vec<ListedSession> = org.list(&["sessions"], &query, limit).await?;
                all.extend(found.into_iter().map(|listed| Conversation {
                    org: org.org.slug.clone(),
                    org_name: org.org.name.clone(),
                    listed,
                }));
            }
        }
        // One that changed hands between two readings is in both.
        let mut known = std::collections::HashSet::new();
        all.retain(|one| known.insert(one.listed.session.id));
        Ok(all)
    }

    async fn keep_conversation(self: Arc<Self>) {
        let mut opened = self.opened.subscribe();
        loop {
            let shown = opened.borrow_and_update().clone();
            if let Some(shown) = shown {
                let session = shown.session;
                let read = tokio::select! {
                    read = read_conversation(&shown) => read,
                    // Another one was chosen meanwhile.
                    _ = opened.changed() => continue,
                };
                self.send(match read {
                    Ok(conversation) => InboxUpdate::Opened(Box::new(conversation)),
                    Err(error) => InboxUpdate::NotOpened { session, why: format!("{error:#}") },
                })
                .await;
            }
            tokio::select! {
                changed = opened.changed() => if changed.is_err() { return },
                () = self.conversation_changed.notified() => tokio::time::sleep(GATHER).await,
            }
        }
    }
}

async fn read_conversation(opened: &OpenRequest) -> Result<OpenedConversation> {
    let OpenRequest { org, session, is_seen } = opened;
    let id = session.to_string();
    let transcript: Transcript = org.get(&["sessions", &id, "transcript"]).await?;
    let mut work: SessionWork = org.get(&["sessions", &id, "work"]).await?;
    let approvals = match transcript.session.pending_approvals {
        0 => Vec::new(),
        _ => read_approvals(org, &id).await?,
    };
    if *is_seen && work.unread > 0 {
        work.unread = 0;
        let read: Result<Nothing> =
            org.put(&["sessions", &id, "read"], &ReadRequest { up_to: None }).await;
        // A viewer whose key may only read sees the messages as unread; nothing else is wrong.
        if let Err(error) = read {
            tracing::debug!(%error, "session not marked as read");
        }
    }
    Ok(OpenedConversation { transcript, work, approvals })
}

/// Reads the calls of a session that wait for a decision, with the rules by which they ask.
async fn read_approvals(org: &OrgApi, session: &str) -> Result<Vec<ApprovalDetail>> {
    let detail: SessionDetail = org.get(&["sessions", session]).await?;
    let is_pending = |one: &&Approval| one.status == ApprovalStatus::Pending;
    let mut approvals = Vec::new();
    for approval in detail.approvals.iter().filter(is_pending).take(MAX_APPROVALS) {
        approvals.push(org.get(&["approvals", &approval.id.to_string()]).await?);
    }
    Ok(approvals)
}
