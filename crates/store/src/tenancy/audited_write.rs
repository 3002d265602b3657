//! Writes together with their audit entry: both are stored, or neither is.

use ostler_domain::id::{ConversationId, DocumentId, EventId, KeyId, OrgId, WorkflowId};
use ostler_domain::knowledge::Document;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::workflow::EventName;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::{Operation, Scope, Tx};
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::delivery::bindings::{self, OrgBinding};
use crate::delivery::dead_letters::{Abandon, DeadLetterId, Replay};
use crate::delivery::notices::{NewNotice, Notify};
use crate::error::Result;
use crate::knowledge::{Create, Delete};
use crate::ledger::{Grant, NewGrant};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::integrations::{self, OrgIntegration};
use crate::tenancy::keys::{self, HashedSecret, NewApiKey};
use crate::workflows::events::{self, PublishOutcome};
use crate::workflows::signals::{self, WorkflowAnswer};
use crate::workflows::{self, NewWorkflow};

/// One write to an org together with its audit entry.
#[derive(Debug, Clone)]
pub struct AuditedWrite<'s> {
    org: OrgStore<'s>,
    entry: NewAuditEntry,
}

impl<'s> OrgStore<'s> {
    /// Starts a write that is stored together with this audit entry.
    pub const fn audited(&self, entry: NewAuditEntry) -> AuditedWrite<'s> {
        AuditedWrite { org: *self, entry }
    }
}

impl AuditedWrite<'_> {
    /// Puts an entry into the inbox of a conversation.
    pub async fn continue_conversation(
        self,
        conversation: ConversationId,
        what: FollowUpEntry,
    ) -> Result<()> {
        let put = PutInboxEntry(self.org.id(), conversation, what);
        self.write(put).await
    }

    /// Replays a dead letter; see [`OrgStore::replay_dead_letter`].
    pub async fn replay_dead_letter(self, id: DeadLetterId) -> Result<()> {
        let replay = Replay(self.org.id(), id);
        self.write(replay).await
    }

    /// Abandons a dead letter and sends a notice about it.
    pub async fn abandon_dead_letter(
        self,
        id: DeadLetterId,
        why: &str,
        notice: NewNotice,
    ) -> Result<()> {
        let org = self.org.id();
        let abandon = Abandon(org, id, why.to_owned());
        self.write(Both(abandon, Notify(org, notice))).await
    }

    /// Grants credits; see [`OrgStore::grant_credits`].
    pub async fn grant_credits(self, new: NewGrant) -> Result<()> {
        let grant = Grant::new(self.org.id(), new)?;
        self.write(grant).await
    }

    /// Creates a document; see [`OrgStore::create_document`].
    pub async fn create_document(self, id: DocumentId, document: Document) -> Result<()> {
        let create = Create(self.org.id(), id, document);
        self.write(create).await
    }

    /// Deletes a document; see [`OrgStore::delete_document`].
    pub async fn delete_document(self, id: DocumentId) -> Result<()> {
        let delete = Delete(self.org.id(), id);
        self.write(delete).await
    }

    /// Creates or replaces a binding; see [`OrgStore::save_binding`].
    pub async fn save_binding(self, binding: OrgBinding) -> Result<()> {
        let save = bindings::Save(self.org.id(), binding);
        self.write(save).await
    }

    /// Creates or replaces an integration; see [`OrgStore::save_integration`].
    pub async fn save_integration(self, integration: OrgIntegration) -> Result<()> {
        let save = integrations::Save(self.org.id(), integration);
        self.write(save).await
    }

    /// Creates a key; see [`OrgStore::create_key`].
    pub fn create_key(self, key: NewApiKey, secret: &ApiKeySecret) -> StoreFuture<()> {
        let secret = HashedSecret::new(secret);
        self.run(move |tx, org| keys::create(tx, org, &key, &secret))
    }

    /// Revokes a key; see [`OrgStore::revoke_key`].
    pub fn revoke_key(self, id: KeyId) -> StoreFuture<()> {
        self.run(move |tx, org| keys::revoke(tx, org, id))
    }

    /// Starts a workflow; see [`OrgStore::start_workflow`].
    pub async fn start_workflow(self, new: NewWorkflow) -> Result<()> {
        let start = workflows::Start(self.org.id(), new);
        self.write(start).await
    }

    /// Answers a question of a workflow; see [`OrgStore::answer_workflow`].
    pub async fn answer_workflow(self, id: WorkflowId, answer: WorkflowAnswer) -> Result<()> {
        let answer = signals::Answer(self.org.id(), id, answer);
        self.write(answer).await
    }

    /// Cancels a workflow; see [`OrgStore::cancel_workflow`].
    pub async fn cancel_workflow(self, id: WorkflowId) -> Result<bool> {
        let cancel = signals::Cancel(self.org.id(), id);
        self.write(cancel).await
    }

    /// Publishes an event; see [`OrgStore::publish_event`].
    pub async fn publish_event(
        self,
        id: EventId,
        name: EventName,
        payload: String,
    ) -> Result<PublishOutcome> {
        let publish = events::Publish { org: self.org.id(), id, name, payload };
        self.write(publish).await
    }

    /// The audit entry goes first, because the operation may end with the commit.
    fn run<T, F>(self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx, OrgId) -> Result<T> + Send + 'static,
    {
        let (org, entry) = (self.org.id(), self.entry);
        self.org.write(move |tx| {
            tx.batch(&[audit::append(org, &entry)?])?;
            run(tx, org)
        })
    }

    async fn write<O: Operation>(self, operation: O) -> Result<O::Output> {
        let Self { org, entry } = self;
        org.store.write(WithAuditEntry { org: org.id(), entry, operation }).await
    }
}

/// The audit entry goes first, because the operation may end with the commit.
struct WithAuditEntry<O> {
    org: OrgId,
    entry: NewAuditEntry,
    operation: O,
}

impl<O: Operation> Operation for WithAuditEntry<O> {
    type Output = O::Output;

    fn scope(&self) -> Scope {
        self.operation.scope()
    }

    fn run(&self, tx: &Tx) -> Result<O::Output> {
        tx.batch(&[audit::append(self.org, &self.entry)?])?;
        self.operation.run(tx)
    }
}

struct PutInboxEntry(OrgId, ConversationId, FollowUpEntry);

impl Operation for PutInboxEntry {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        inbox::add_follow_up(tx, self.0, self.1, &self.2).map(drop)
    }
}

/// Two operations in one transaction.
struct Both<A, B>(A, B);

impl<A: Operation, B: Operation> Operation for Both<A, B> {
    type Output = ();

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        self.0.run(tx)?;
        self.1.run(tx).map(drop)
    }
}
