//! What people do to an org's things, with the line that tells of it: both are
//! stored, or neither is.

use ostler_domain::id::{ConversationId, DocumentId, EventId, KeyId, OrgId, WorkflowId};
use ostler_domain::knowledge::Document;
use ostler_domain::secret::KeySecret;
use ostler_domain::workflow::EventName;

use crate::OrgStore;
use crate::audit::{self, NewAudit};
use crate::backend::{Operation, Scope, Tx};
use crate::bindings::{self, OrgBinding};
use crate::deadletters::{Abandon, LetterId, Replay};
use crate::error::Result;
use crate::inbox::{self, GoesOn};
use crate::integrations::{self, OrgIntegration};
use crate::keys::{self, NewKey};
use crate::knowledge::{Create, Delete};
use crate::ledger::{Grant, NewGrant};
use crate::notices::{NewNotice, Notify};
use crate::workflows::events::{self, Published};
use crate::workflows::heard::{self, WorkflowAnswer};
use crate::workflows::{self, NewWorkflow};

/// An org's things, for one change that has a line in the audit log.
#[derive(Debug, Clone)]
pub struct Audited<'s> {
    of: OrgStore<'s>,
    line: NewAudit,
}

impl<'s> OrgStore<'s> {
    /// The org's things, for one change that has this line in the audit log.
    pub const fn audited(&self, line: NewAudit) -> Audited<'s> {
        Audited { of: *self, line }
    }
}

impl Audited<'_> {
    /// Puts something into the inbox of a conversation.
    pub async fn go_on(self, conversation: ConversationId, what: GoesOn) -> Result<()> {
        let put = Put(self.of.org, conversation, what);
        self.write(put).await
    }

    /// Tries a dead letter again; see [`OrgStore::replay_dead_letter`].
    pub async fn replay_dead_letter(self, id: LetterId) -> Result<()> {
        let replay = Replay(self.of.org, id);
        self.write(replay).await
    }

    /// Lays a dead letter aside for good, and tells somebody.
    pub async fn abandon_dead_letter(
        self,
        id: LetterId,
        why: &str,
        notice: NewNotice,
    ) -> Result<()> {
        let org = self.of.org;
        let abandon = Abandon(org, id, why.to_owned());
        self.write(Both(abandon, Notify(org, notice))).await
    }

    /// Grants credits; see [`OrgStore::grant`].
    pub async fn grant(self, new: NewGrant) -> Result<()> {
        let grant = Grant::new(self.of.org, new)?;
        self.write(grant).await
    }

    /// Adds a document.
    pub async fn create_document(self, id: DocumentId, document: Document) -> Result<()> {
        let create = Create(self.of.org, id, document);
        self.write(create).await
    }

    /// Deletes a document.
    pub async fn delete_document(self, id: DocumentId) -> Result<()> {
        let delete = Delete(self.of.org, id);
        self.write(delete).await
    }

    /// Creates a binding, or changes it; see [`OrgStore::save_binding`].
    pub async fn save_binding(self, binding: OrgBinding) -> Result<()> {
        let save = bindings::Save(self.of.org, binding);
        self.write(save).await
    }

    /// Creates a connection to a service, or changes it.
    pub async fn save_integration(self, integration: OrgIntegration) -> Result<()> {
        let save = integrations::Save(self.of.org, integration);
        self.write(save).await
    }

    /// Creates a key; see [`OrgStore::create_key`].
    pub async fn create_key(self, key: NewKey, secret: &KeySecret) -> Result<()> {
        let create = keys::Create::new(self.of.org, key, secret);
        self.write(create).await
    }

    /// Makes a key useless from now on.
    pub async fn revoke_key(self, id: KeyId) -> Result<()> {
        let revoke = keys::Revoke(self.of.org, id);
        self.write(revoke).await
    }

    /// Starts a workflow.
    pub async fn start_workflow(self, new: NewWorkflow) -> Result<()> {
        let start = workflows::Start(self.of.org, new);
        self.write(start).await
    }

    /// Answers a question of a workflow's step; see
    /// [`OrgStore::answer_workflow`].
    pub async fn answer_workflow(self, id: WorkflowId, answer: WorkflowAnswer) -> Result<()> {
        let given = heard::Give(self.of.org, id, answer);
        self.write(given).await
    }

    /// Stops a workflow; see [`OrgStore::cancel_workflow`].
    pub async fn cancel_workflow(self, id: WorkflowId) -> Result<bool> {
        let cancel = heard::Cancel(self.of.org, id);
        self.write(cancel).await
    }

    /// Publishes an event; see [`OrgStore::publish_event`].
    pub async fn publish_event(
        self,
        id: EventId,
        name: EventName,
        payload: String,
    ) -> Result<Published> {
        let publish = events::Publish { org: self.of.org, id, name, payload };
        self.write(publish).await
    }

    async fn write<O: Operation>(self, operation: O) -> Result<O::Output> {
        let Self { of, line } = self;
        of.store.write(WithLine { org: of.org, line, operation }).await
    }
}

/// The line goes first: the operation may travel with the commit.
struct WithLine<O> {
    org: OrgId,
    line: NewAudit,
    operation: O,
}

impl<O: Operation> Operation for WithLine<O> {
    type Output = O::Output;

    fn scope(&self) -> Scope {
        self.operation.scope()
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<O::Output> {
        tx.batch(&[audit::append(self.org, &self.line)?]).await?;
        self.operation.run(tx).await
    }
}

struct Put(OrgId, ConversationId, GoesOn);

impl Operation for Put {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        inbox::go_on(tx, self.0, self.1, &self.2).await.map(drop)
    }
}

/// One thing and then another.
struct Both<A, B>(A, B);

impl<A: Operation, B: Operation> Operation for Both<A, B> {
    type Output = ();

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        self.0.run(tx).await?;
        self.1.run(tx).await.map(drop)
    }
}
