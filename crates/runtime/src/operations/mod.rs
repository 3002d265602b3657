//! What operators can do, from the command line, the API or a team chat. The caller names an
//! actor and an org. Each operation authorizes the actor against
//! [`ostler_domain::org::permission`], acts, and stores its audit entry in the same transaction.
//!
//! What can wait goes through the inbox of the conversation: a decision on a call, the
//! outcome of one, a team. What cannot wait (taking over, writing, handing back, closing)
//! changes the session at once, in `session_change`: the conversation's epoch rises, nothing
//! that an agent wrote before is sent any more, and a turn that runs in this process is
//! aborted.

mod account_links;
mod actor;
mod agent_messages;
mod approvals;
mod assignees;
mod audit;
mod bindings;
mod channel_test;
mod clients;
mod configured_agents;
mod contact_messages;
mod contacts;
mod credits;
mod data;
mod dead_letters;
mod deep_links;
pub mod definitions;
mod error;
mod escalations;
mod exchange;
pub mod explain;
mod inbox;
mod integrations;
mod keys;
mod knowledge;
mod levels;
mod logins;
mod message_search;
mod models;
mod names;
mod notice_choices;
mod notices;
mod people;
pub mod prune;
mod queue_agents;
mod queue_delegations;
mod queue_messages;
mod queue_teams;
mod queue_view;
mod queue_work;
pub mod reflection;
mod refunds;
mod replay;
mod requests;
mod resources;
mod rule_source;
mod runs;
mod session_change;
mod session_work;
mod sessions;
mod set_up;
mod settings;
mod soul_proposals;
mod souls;
pub mod sweep;
mod takeover;
mod team_requests;
mod threads;
mod tool_catalogue;
mod tool_scopes;
mod tool_test;
mod tools;
mod unknown_outcomes;
mod users;
mod webhooks;
mod workflow_control;
mod workflow_schedules;
mod workflows;
pub mod world;

use std::sync::Arc;

use ostler_domain::id::{AuditId, ConversationId, InboxId, OrgId, RunId, SessionId};
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{FollowUpEntry, NewAuditEntry, OrgStore, Store};
use serde_json::{Value, json};

use crate::assembly::Services;
use crate::conversation::Worker;
use crate::deps::Clock;
use crate::ids::{derived, fresh};
use crate::inbox::{Doorbell, wake_conversation};
use crate::org_view::{OrgView, OrgViews};
use crate::records::encode;
use crate::records::entry::InboxEntry;
use crate::running_turns::RunningTurns;
use crate::toolbox::Toolbox;

pub use actor::Actor;
pub use agent_messages::NewAgentMessage;
pub(crate) use approvals::approval_expired;
pub use approvals::{ApprovalTiming, CallTiming};
pub use audit::{AuditedField, NamedAuditEntry};
pub use bindings::{BindingChange, NewBinding};
pub use channel_test::{ChannelStatus, ChannelTest};
pub use clients::{BotHost, ClientParts, ClientStats, CreatedClient, NewClient, first_resources};
pub use configured_agents::AgentDetail;
pub use contact_messages::{AcceptedContactMessage, ContactMessage};
pub use contacts::{ContactSummary, Person};
pub use credits::SpendReport;
pub use data::{ImportFile, ImportPlan, ImportRow, RowOutcome, RowPlan, StoredItem};
pub use deep_links::{NewDeepLink, StoredDeepLink};
pub use error::{OperationError, QueueAgentRefused, WorkflowRefused};
pub use escalations::WaitingSession;
pub use exchange::ExchangeRecord;
pub use inbox::InboxItem;
pub use integrations::ToolService;
pub use keys::{CreatedKey, NewKey};
pub use logins::{LoginOrigin, NewPasswordCode};
pub use message_search::FoundMessage;
pub use names::ActorNames;
pub use ostler_bus::DeadLetter as BusDeadLetter;
pub use people::{NewMember, RemovedMember};
pub use queue_agents::{NewQueueAgent, QueueAgentType};
pub use queue_delegations::NewDelegation;
pub use queue_messages::{MessageToTeam, SentBroadcast, TeamAnswer, TeamAnswers, TeamAudience};
pub use queue_teams::{QueueBacklog, TeamRole};
pub use queue_view::{BusStatus, DelegationView, QueueAgentView};
pub use queue_work::WorkItem;
pub use refunds::{OrderRefund, SettledRefund};
pub use replay::{PlannedTurn, ReplayChange, ReplayPlan, RunReplay, TurnReplay};
pub use requests::{AgentAnswer, AgentRequest, AnswerEnd, RequestContext, new_blob_id};
pub use resources::version_of;
pub use rule_source::{DecidedCall, RuleSource, RuleSources};
pub use session_work::{ListedSession, SessionHolder, SessionQuery, SessionWorkDetail};
pub use sessions::SessionDetail;
pub use settings::OrgSection;
pub use soul_proposals::ProposalDetail;
pub use takeover::Takeover;
pub use threads::ThreadAccess;
pub use tool_catalogue::CatalogueTool;
pub use tools::{OrgToolSet, ToolChange};
pub use webhooks::{KeyOverlap, WebhookChange};
pub use workflow_control::{GraphFormat, WorkflowCall};
pub use workflow_schedules::ScheduleStatus;

/// The result of an operation.
pub type Result<T> = std::result::Result<T, OperationError>;

/// The operations of an installation. Cheap to clone.
#[derive(Clone)]
pub struct Operations(Arc<Inner>);

struct Inner {
    store: Store,
    tools: Toolbox,
    clock: Clock,
    bell: Doorbell,
    running_turns: RunningTurns,
    org_views: OrgViews,
    /// What turns run with; `None` in a process that runs none.
    services: Option<Arc<Services>>,
}

impl Operations {
    /// Creates operations for a process that answers no conversations itself.
    pub fn new(store: Store, tools: Toolbox, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            org_views: OrgViews::new(store.clone(), tools.clone()),
            store,
            tools,
            clock,
            bell: Doorbell::default(),
            running_turns: RunningTurns::default(),
            services: None,
        }))
    }

    /// Creates operations that share the process of a worker: a takeover aborts its turn, and
    /// it is woken for new entries.
    pub fn for_worker(worker: &Worker) -> Self {
        let deps = worker.deps();
        Self(Arc::new(Inner {
            store: deps.store.clone(),
            tools: deps.tools.clone(),
            clock: deps.clock.clone(),
            bell: worker.bell().clone(),
            running_turns: worker.running_turns().clone(),
            org_views: worker.org_views().clone(),
            services: Some(worker.services()),
        }))
    }

    /// Creates operations for a tool call inside a turn.
    pub(crate) fn in_turn(org_views: OrgViews, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            store: org_views.store().clone(),
            tools: org_views.toolbox().clone(),
            clock,
            bell: Doorbell::default(),
            running_turns: RunningTurns::default(),
            org_views,
            services: None,
        }))
    }

    /// Returns the operations of an actor in an org.
    pub const fn as_actor(&self, actor: Actor, org: OrgId) -> OrgOperations<'_> {
        OrgOperations { operations: self, actor, org, run_id: None }
    }
}

impl std::fmt::Debug for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operations")
    }
}

/// The operations of an actor in an org. Each one first checks that the actor may do it.
#[derive(Debug, Clone, Copy)]
pub struct OrgOperations<'o> {
    operations: &'o Operations,
    actor: Actor,
    org: OrgId,
    /// The id of the change's run record, by which a repeat is recognized.
    run_id: Option<RunId>,
}

impl<'o> OrgOperations<'o> {
    /// Makes the next change of a session idempotent: it is done once for each key.
    #[must_use]
    pub(crate) fn idempotent(self, session: SessionId, key: &str) -> Self {
        Self { run_id: Some(derived(RunId::from_u128, session.as_u128(), key)), ..self }
    }

    fn inner(&self) -> &'o Inner {
        &self.operations.0
    }

    /// Returns the org's part of the store. Fails if the actor may not do this.
    async fn authorize(&self, permission: OrgPermission) -> Result<OrgStore<'o>> {
        let store = &self.inner().store;
        self.actor.authorize(store, self.org, permission).await?;
        Ok(store.org(self.org))
    }

    /// Checks that the actor has a permission in the org.
    pub async fn check(&self, permission: OrgPermission) -> Result<()> {
        self.authorize(permission).await.map(drop)
    }

    /// Returns the current configuration of the org.
    async fn view(&self) -> Result<Arc<OrgView>> {
        Ok(self.inner().org_views.current(self.org).await?)
    }

    fn audit_entry(&self, action: &str, subject: &impl ToString, data: &Value) -> NewAuditEntry {
        NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: self.actor.audit_actor(),
            action: action.to_owned(),
            subject: subject.to_string(),
            data: data.to_string(),
        }
    }

    /// Returns the audit entry of a change, with the state before and after it. What did not
    /// exist is `Value::Null`.
    fn audit_change(
        &self,
        action: &str,
        subject: &impl ToString,
        before: &Value,
        after: &Value,
    ) -> NewAuditEntry {
        self.audit_entry(action, subject, &json!({"before": before, "after": after}))
    }

    async fn wake_conversation(&self, conversation: ConversationId) {
        let Inner { store, bell, .. } = self.inner();
        wake_conversation(bell, store, self.org, conversation).await;
    }
}

/// Returns an inbox entry that a conversation continues with. A repeat is recognized by its
/// key.
pub(crate) fn follow_up_entry(key: String, entry: &InboxEntry) -> FollowUpEntry {
    FollowUpEntry { id: fresh(InboxId::from_u128), provider_id: key, payload: encode(entry) }
}
