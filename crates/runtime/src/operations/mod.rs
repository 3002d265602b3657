//! What an operator can do: whoever asks (the command line, the API, an agent's
//! tool) names an actor and an org, and the rest is the same. Each operation
//! authorises, acts, and leaves a line in the audit log, which is stored with
//! what was done.
//!
//! A conversation is never changed behind the back of the worker that has it.
//! What can wait goes through the conversation's inbox; what cannot (taking
//! over, writing, handing back, closing) steps in, and whatever the worker was
//! writing is not sent.

mod actor;
mod approvals;
mod bindings;
mod credits;
mod dead_letters;
mod error;
mod escalations;
mod integrations;
mod keys;
mod knowledge;
mod notices;
mod people;
mod sessions;
mod step_in;
mod takeover;
mod unknown;
mod workflows;

use std::sync::Arc;

use ostler_domain::id::{AuditId, ConversationId, InboxId, OrgId, RunId, SessionId};
use ostler_domain::org::duty::Duty;
use ostler_engine::tool::ToolSet;
use ostler_store::{GoesOn, NewAudit, OrgStore, Store};
use serde_json::Value;

use crate::ids::{derived, fresh};
use crate::inbound::Worker;
use crate::inbound::accept::Doorbell;
use crate::inbound::live::Live;
use crate::org_view::{OrgView, Views};
use crate::parts::Clock;
use crate::talk::entry::Entry;
use crate::talk::write;

pub use actor::Actor;
pub(crate) use approvals::decided;
pub use bindings::{BindingChange, NewBinding};
pub use error::{OperationError, WorkflowRefused};
pub use escalations::Waiting;
pub use sessions::SessionDetail;
pub use takeover::TakenOver;

/// What operations answer.
pub type Result<T> = std::result::Result<T, OperationError>;

/// What an operator can do. Cheap to clone.
#[derive(Clone)]
pub struct Operations(Arc<Inner>);

struct Inner {
    store: Store,
    tools: Arc<ToolSet>,
    clock: Clock,
    bell: Doorbell,
    live: Live,
    views: Views,
}

impl Operations {
    /// Operations on a store in which this process answers nothing itself.
    pub fn new(store: Store, tools: Arc<ToolSet>, clock: Clock) -> Self {
        Self::with(store, tools, clock, Doorbell::default(), Live::default())
    }

    /// Operations beside a worker: what it is writing is stopped when a person
    /// takes over, and it hears at once of what it is to go on with.
    pub fn beside(worker: &Worker) -> Self {
        let parts = worker.parts();
        let (store, tools, clock) = (parts.store.clone(), parts.tools.clone(), parts.clock.clone());
        Self::with(store, tools, clock, worker.bell().clone(), worker.live().clone())
    }

    fn with(store: Store, tools: Arc<ToolSet>, clock: Clock, bell: Doorbell, live: Live) -> Self {
        let views = Views::default();
        Self(Arc::new(Inner { store, tools, clock, bell, live, views }))
    }

    /// What this actor can do in this org.
    pub const fn as_actor(&self, actor: Actor, org: OrgId) -> Office<'_> {
        Office { operations: self, actor, org, once: None }
    }
}

impl std::fmt::Debug for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operations")
    }
}

/// What an actor can do in an org. Every operation asks first whether it may.
#[derive(Debug, Clone, Copy)]
pub struct Office<'o> {
    operations: &'o Operations,
    actor: Actor,
    org: OrgId,
    /// The record of what is done, if a repeat is to be known by it.
    once: Option<RunId>,
}

impl<'o> Office<'o> {
    /// The same, for something that is wished under this name and done once,
    /// however often it is wished.
    #[must_use]
    pub(crate) fn once(self, session: SessionId, name: &str) -> Self {
        Self { once: Some(derived(RunId::from_u128, session.as_u128(), name)), ..self }
    }

    fn inner(&self) -> &'o Inner {
        &self.operations.0
    }

    /// What belongs to the org, once it is known that the actor may do this.
    async fn allowed(&self, duty: Duty) -> Result<OrgStore<'o>> {
        let store = &self.inner().store;
        self.actor.check(store, self.org, duty).await?;
        Ok(store.org(self.org))
    }

    /// The org, as it is configured now.
    async fn view(&self) -> Result<Arc<OrgView>> {
        let Inner { store, views, .. } = self.inner();
        let stamp = store.config_stamp().await?;
        Ok(views.get(store, self.org, stamp).await?)
    }

    /// A line of the audit log.
    fn line(&self, action: &str, subject: &impl ToString, data: &Value) -> NewAudit {
        NewAudit {
            id: fresh(AuditId::from_u128),
            actor: self.actor.in_the_log(),
            action: action.to_owned(),
            subject: subject.to_string(),
            data: data.to_string(),
        }
    }

    /// Wakes a worker for a conversation.
    async fn ring_in(&self, conversation: ConversationId) {
        let Inner { store, bell, .. } = self.inner();
        ring_in(bell, store, self.org, conversation).await;
    }
}

/// Wakes a worker for a conversation: of this process or, where there is a bus, of
/// any. If its key cannot be read, one finds it by looking.
pub(crate) async fn ring_in(
    bell: &Doorbell,
    store: &Store,
    org: OrgId,
    conversation: ConversationId,
) {
    bell.ring();
    if bell.is_on_a_bus()
        && let Ok(key) = store.org(org).conversation_key(conversation).await
    {
        bell.ring_for(&key);
    }
}

/// What a conversation goes on with, known again by this if it is done again.
pub(crate) fn goes_on(repeat: String, entry: &Entry) -> GoesOn {
    GoesOn { id: fresh(InboxId::from_u128), provider_id: repeat, payload: write(entry) }
}
