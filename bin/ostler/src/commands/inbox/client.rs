//! The client behind the inbox. It reads the lists and the conversation that is shown again
//! when something has happened, and carries actions out; none of the three waits for another.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use ostler_api::approval::{Approval, ApprovalDetail};
use ostler_api::session::SessionDetail;
use ostler_api::session_work::{ReadRequest, SessionWork};
use ostler_api::transcript::Transcript;
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::SessionId;
use ostler_tui::inbox::protocol::{
    ConnectionState, InboxRequest, InboxResult, InboxUpdate, OpenedConversation,
};
use tokio::sync::{Notify, mpsc, watch};

use super::actions::{SentKeys, act};
use super::connection::{StreamSignal, follow, worst};
use super::lists::ConversationLists;
use super::queues::{ActionQueues, QueueState, QueuedAction};
use crate::api_client::{Nothing, OrgApi, is_answered, is_refusal};

/// Events that come together cause one reading.
pub(super) const GATHER: Duration = Duration::from_millis(120);
/// How long after a failed reading it is tried again.
pub(super) const RETRY: Duration = Duration::from_secs(3);
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
    lists: Arc<ConversationLists>,
    conversation_changed: Notify,
    opened: watch::Sender<Option<OpenRequest>>,
    retry: Arc<Notify>,
    keys: Mutex<SentKeys>,
}

impl InboxClient {
    /// Returns a client of orgs, which keeps the keys of texts that it sends in a folder.
    pub(super) fn new(
        orgs: Vec<OrgApi>,
        updates: mpsc::Sender<InboxUpdate>,
        keys: Option<PathBuf>,
    ) -> Self {
        Self {
            lists: Arc::new(ConversationLists::new(orgs.len(), updates.clone())),
            orgs,
            updates,
            conversation_changed: Notify::new(),
            opened: watch::Sender::new(None),
            retry: Arc::default(),
            keys: Mutex::new(SentKeys::new(keys)),
        }
    }

    /// Works until the inbox is gone.
    pub(super) async fn run(self, requests: mpsc::UnboundedReceiver<InboxRequest>) {
        let client = Arc::new(self);
        let (signals, received) = mpsc::channel(64);
        let mut tasks = tokio::task::JoinSet::new();
        for (place, org) in client.orgs.iter().enumerate() {
            tasks.spawn(follow(place, org.clone(), signals.clone(), client.retry.clone()));
            tasks.spawn(client.lists.clone().keep(place, org.clone()));
        }
        tasks.spawn(client.clone().watch_streams(received));
        tasks.spawn(client.clone().keep_conversation());
        client.carry_out_all(requests).await;
    }

    /// An inbox that is gone is noticed by its requests.
    async fn send(&self, update: InboxUpdate) {
        let _ = self.updates.send(update).await;
    }

    async fn carry_out_all(self: Arc<Self>, mut requests: mpsc::UnboundedReceiver<InboxRequest>) {
        let client = self.clone();
        let mut queues = ActionQueues::new(move |action, state| {
            let client = client.clone();
            async move { client.carry_out(action, state).await }
        });
        while let Some(request) = requests.recv().await {
            match request {
                InboxRequest::Reload => {
                    self.retry.notify_waiters();
                    self.lists.read_all_again();
                    self.conversation_changed.notify_one();
                }
                InboxRequest::Open { org, session, is_seen } => {
                    let org = self.org(&org).cloned();
                    let opened = org.map(|org| OpenRequest { org, session, is_seen });
                    self.opened.send_replace(opened);
                }
                InboxRequest::Act { number, org, session, action } => {
                    queues.add(QueuedAction { number, org, session, action });
                }
            }
        }
        queues.finish().await;
    }

    fn org(&self, slug: &str) -> Option<&OrgApi> {
        self.orgs.iter().find(|org| org.org.slug == slug)
    }

    /// Returns whether the action was done.
    async fn carry_out(&self, queued: QueuedAction, state: QueueState) -> bool {
        let result = match (self.org(&queued.org), state) {
            (Some(org), QueueState::Open) => self.act_once(org, &queued).await,
            (Some(_), QueueState::Failed) => {
                Err(anyhow::anyhow!("what was begun before it in this conversation failed"))
            }
            (None, _) => Err(anyhow::anyhow!("there is no organization `{}` here", queued.org)),
        };
        let (number, is_done) = (queued.number, result.is_ok());
        self.send(match result {
            Ok(result) => InboxUpdate::Done { number, result },
            Err(error) => InboxUpdate::Refused { number, why: format!("{error:#}") },
        })
        .await;
        let place = self.orgs.iter().position(|org| org.org.slug == queued.org);
        place.into_iter().for_each(|place| self.lists.read_again(place));
        self.conversation_changed.notify_one();
        is_done
    }

    async fn act_once(&self, org: &OrgApi, queued: &QueuedAction) -> Result<InboxResult> {
        let keys = || self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let QueuedAction { session, action, .. } = queued;
        let key = keys().begin(*session, action)?;
        let result = act(org, *session, action, &key).await;
        if result.as_ref().err().is_none_or(is_answered) {
            keys().end(*session, action);
        }
        result
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
                StreamSignal::Changed(place, session) => {
                    let shown = self.opened.borrow().as_ref().map(|opened| opened.session);
                    self.lists.read_again(place);
                    if session.is_none() || session == shown {
                        self.conversation_changed.notify_one();
                    }
                }
            }
        }
    }

    async fn keep_conversation(self: Arc<Self>) {
        let mut opened = self.opened.subscribe();
        loop {
            let shown = opened.borrow_and_update().clone();
            let mut retry = None;
            if let Some(shown) = shown {
                let session = shown.session;
                let read = tokio::select! {
                    read = read_conversation(&shown) => read,
                    // Another one was chosen meanwhile.
                    _ = opened.changed() => continue,
                };
                self.send(match read {
                    Ok(conversation) => InboxUpdate::Opened(Box::new(conversation)),
                    Err(error) => {
                        retry = Some(RETRY).filter(|_| !is_refusal(&error));
                        InboxUpdate::NotOpened { session, why: format!("{error:#}") }
                    }
                })
                .await;
            }
            tokio::select! {
                changed = opened.changed() => if changed.is_err() { return },
                () = self.conversation_changed.notified() => tokio::time::sleep(GATHER).await,
                () = tokio::time::sleep(retry.unwrap_or_default()), if retry.is_some() => {}
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
