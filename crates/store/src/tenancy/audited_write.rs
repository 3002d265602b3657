//! Writes together with their audit entry: both are stored, or neither is.

use ostler_domain::id::{
    AgentId, ConversationId, DocumentId, EventId, KeyId, OrgId, RecordId, WebhookId, WorkflowId,
};
use ostler_domain::knowledge::Document;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::soul::SoulVersion;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_domain::workflow::EventName;

use crate::OrgStore;
use crate::agents;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::contacts::records::{self, Record};
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::delivery::bindings::{self, OrgBinding};
use crate::delivery::dead_letters::{self, DeadLetterId};
use crate::delivery::notices::{self, NewNotice};
use crate::error::Result;
use crate::knowledge;
use crate::ledger::{self, NewGrant};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::integrations::{self, OrgIntegration};
use crate::tenancy::keys::{self, HashedSecret, NewApiKey};
use crate::tenancy::org_tools;
use crate::webhooks::log::Redelivery;
use crate::webhooks::queue::NewWebhookDelivery;
use crate::webhooks::{self, WebhookWrite};
use crate::workflows::events::{self, PublishOutcome};
use crate::workflows::reopen::{self, ReopenedWorkflow};
use crate::workflows::signals::{self, WorkflowAnswer};
use crate::workflows::{self, NewWorkflow, definitions, schedules};

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
    pub fn continue_conversation(
        self,
        conversation: ConversationId,
        what: FollowUpEntry,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| inbox::add_follow_up(tx, org, conversation, &what).map(drop))
    }

    /// Replays a dead letter; see [`OrgStore::replay_dead_letter`].
    pub fn replay_dead_letter(self, id: DeadLetterId) -> StoreFuture<()> {
        self.run(move |tx, org| dead_letters::replay(tx, org, id))
    }

    /// Abandons a dead letter and sends a notice about it.
    pub fn abandon_dead_letter(
        self,
        id: DeadLetterId,
        why: &str,
        notice: NewNotice,
    ) -> StoreFuture<()> {
        let why = why.to_owned();
        self.run(move |tx, org| {
            dead_letters::abandon(tx, org, id, &why)?;
            notices::notify(tx, org, &notice).map(drop)
        })
    }

    /// Grants credits; see [`OrgStore::grant_credits`]. A repeat leaves no audit entry.
    pub fn grant_credits(self, new: NewGrant) -> StoreFuture<()> {
        let (org, entry) = (self.org.id(), self.entry);
        self.org.write(move |tx| {
            if ledger::is_granted(tx, org, &new)? {
                return Ok(());
            }
            tx.batch(&[audit::append(org, &entry)?])?;
            ledger::grant(tx, org, &new)
        })
    }

    /// Creates a document; see [`OrgStore::create_document`].
    pub fn create_document(self, id: DocumentId, document: Document) -> StoreFuture<()> {
        self.run(move |tx, org| knowledge::create(tx, org, id, &document))
    }

    /// Deletes a document; see [`OrgStore::delete_document`].
    pub fn delete_document(self, id: DocumentId) -> StoreFuture<()> {
        self.run(move |tx, org| knowledge::delete(tx, org, id))
    }

    /// Creates or replaces a binding; see [`OrgStore::save_binding`].
    pub fn save_binding(self, binding: OrgBinding) -> StoreFuture<()> {
        self.run(move |tx, org| bindings::save(tx, org, &binding))
    }

    /// Creates or replaces an integration; see [`OrgStore::save_integration`].
    pub fn save_integration(self, integration: OrgIntegration) -> StoreFuture<()> {
        self.run(move |tx, org| integrations::save(tx, org, &integration))
    }

    /// Stores the next version of a soul; see [`OrgStore::push_soul`].
    pub fn push_soul(self, owner: AgentId, version: SoulVersion) -> StoreFuture<()> {
        self.run(move |tx, org| agents::agent::push_soul(tx, org, owner, &version))
    }

    /// Creates or replaces an HTTP tool or MCP server of the org.
    pub fn save_org_tool(self, tool: OrgTool) -> StoreFuture<()> {
        self.run(move |tx, org| org_tools::save(tx, org, &tool))
    }

    /// Deletes an HTTP tool or MCP server of the org. Fails with
    /// [`StoreError::NotFound`](crate::StoreError::NotFound) if there is none of this name.
    pub fn delete_org_tool(self, kind: OrgToolKind, name: &str) -> StoreFuture<()> {
        let name = name.to_owned();
        self.run(move |tx, org| org_tools::delete(tx, org, kind, &name))
    }

    /// Creates a record, or replaces the one that was read; see
    /// [`OrgStore::update_record`].
    pub fn save_record(
        self,
        kind: &str,
        id: RecordId,
        read: Option<&Record>,
        data: String,
    ) -> StoreFuture<()> {
        let (kind, version) = (kind.to_owned(), read.map(|record| record.version));
        self.run(move |tx, org| match version {
            Some(version) => records::update(tx, org, &kind, id, version, &data),
            None => records::create(tx, org, &kind, id, &data),
        })
    }

    /// Replaces the record that was read and continues a conversation with an entry.
    pub fn change_record(
        self,
        kind: &str,
        read: &Record,
        data: String,
        then: Option<(ConversationId, FollowUpEntry)>,
    ) -> StoreFuture<()> {
        let (kind, id, version) = (kind.to_owned(), read.id, read.version);
        self.run(move |tx, org| {
            records::update(tx, org, &kind, id, version, &data)?;
            match &then {
                Some((conversation, what)) => {
                    inbox::add_follow_up(tx, org, *conversation, what).map(drop)
                }
                None => Ok(()),
            }
        })
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
    pub fn start_workflow(self, new: NewWorkflow) -> StoreFuture<()> {
        self.run(move |tx, org| workflows::start(tx, org, &new))
    }

    /// Starts a workflow of a schedule now, besides its due times.
    pub fn start_scheduled_workflow(
        self,
        schedule: &str,
        at: Timestamp,
        new: NewWorkflow,
    ) -> StoreFuture<()> {
        let schedule = schedule.to_owned();
        self.run(move |tx, org| schedules::start_now(tx, org, &schedule, at, &new))
    }

    /// Deletes a workflow definition. Fails with [`StoreError::InUse`](crate::StoreError::InUse)
    /// if a schedule or another definition starts it.
    pub fn delete_workflow_definition(self, name: &str) -> StoreFuture<()> {
        let name = name.to_owned();
        self.run(move |tx, org| definitions::delete_unused(tx, org, &name))
    }

    /// Deletes a schedule.
    pub fn delete_workflow_schedule(self, name: &str) -> StoreFuture<()> {
        let name = name.to_owned();
        self.run(move |tx, org| schedules::delete(tx, org, &name))
    }

    /// Answers a question of a workflow; see [`OrgStore::answer_workflow`].
    pub fn answer_workflow(self, id: WorkflowId, answer: WorkflowAnswer) -> StoreFuture<()> {
        self.run(move |tx, org| signals::answer(tx, org, id, &answer))
    }

    /// Cancels a workflow; see [`OrgStore::cancel_workflow`]. One that has ended leaves no
    /// audit entry.
    pub fn cancel_workflow(self, id: WorkflowId) -> StoreFuture<bool> {
        self.run_first(move |tx, org| signals::cancel(tx, org, id), |cancelled| *cancelled)
    }

    /// Runs a failed workflow again. Fails with [`StoreError::Conflict`](crate::StoreError::Conflict) if it has changed
    /// since it was read.
    pub fn reopen_workflow(self, reopened: ReopenedWorkflow) -> StoreFuture<()> {
        self.run(move |tx, org| reopen::reopen(tx, org, &reopened))
    }

    /// Publishes an event; see [`OrgStore::publish_event`]. A repeat leaves no audit entry.
    pub fn publish_event(
        self,
        id: EventId,
        name: EventName,
        payload: String,
    ) -> StoreFuture<PublishOutcome> {
        self.run_first(
            move |tx, org| events::publish(tx, org, id, &name, &payload),
            |outcome| !matches!(outcome, PublishOutcome::Duplicate),
        )
    }

    /// Creates a webhook. Fails with [`StoreError::Conflict`](crate::StoreError::Conflict) if
    /// the org has too many.
    pub fn create_webhook(self, id: WebhookId, new: WebhookWrite) -> StoreFuture<()> {
        self.run(move |tx, org| webhooks::create(tx, org, id, &new))
    }

    /// Changes the webhook that was read with a version; with `skip_missed`, events of the past
    /// are not sent. Fails with [`StoreError::ConfigChanged`](crate::StoreError::ConfigChanged)
    /// if it was changed meanwhile.
    pub fn change_webhook(
        self,
        id: WebhookId,
        version: i64,
        write: WebhookWrite,
        skip_missed: bool,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| webhooks::change(tx, org, id, version, &write, skip_missed))
    }

    /// Deletes a webhook with its deliveries.
    pub fn delete_webhook(self, id: WebhookId) -> StoreFuture<()> {
        self.run(move |tx, org| webhooks::delete(tx, org, id))
    }

    /// Adds a delivery that no event caused.
    pub fn add_webhook_delivery(
        self,
        webhook: WebhookId,
        new: NewWebhookDelivery,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| webhooks::log::add(tx, org, webhook, &new))
    }

    /// Sends deliveries again, with the ids that they had, and returns how many. Without any
    /// there is no audit entry.
    pub fn redeliver(self, webhook: WebhookId, which: Redelivery) -> StoreFuture<u64> {
        self.run_first(
            move |tx, org| webhooks::log::redeliver(tx, org, webhook, which),
            |count| *count > 0,
        )
    }

    /// Runs an operation that does not end with the commit, and appends the audit entry
    /// if it has changed something.
    pub(crate) fn run_first<T, F>(self, run: F, has_changed: fn(&T) -> bool) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx, OrgId) -> Result<T> + Send + 'static,
    {
        let (org, entry) = (self.org.id(), self.entry);
        self.org.write(move |tx| {
            let outcome = run(tx, org)?;
            if has_changed(&outcome) {
                tx.batch(&[audit::append(org, &entry)?])?;
            }
            Ok(outcome)
        })
    }

    /// Runs an operation that changes users, which no transaction of one org may.
    pub(super) fn run_with_users<T, F>(self, run: F) -> StoreFuture<T>
    where
        T: Send + 'static,
        F: Fn(&Tx, OrgId) -> Result<T> + Send + 'static,
    {
        let (org, entry) = (self.org.id(), self.entry);
        self.org.store.write_all_orgs(move |tx| {
            tx.batch(&[audit::append(org, &entry)?])?;
            run(tx, org)
        })
    }

    /// The audit entry goes first, because the operation may end with the commit.
    pub(crate) fn run<T, F>(self, run: F) -> StoreFuture<T>
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
}
