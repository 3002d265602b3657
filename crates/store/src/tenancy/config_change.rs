//! Changes of an org's configuration: several writes, their audit entries and what was
//! applied, in one transaction.

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, DocumentId, OrgId, UserId};
use ostler_domain::knowledge::Document;
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::org::Org;
use ostler_domain::org::role::Role;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::org_tools::{OrgTool, OrgToolKind};
use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::schedule::WorkflowSchedule;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::contacts::{blobs, import};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::org_state::{ConfigRevision, revision};
use crate::tenancy::orgs::lock_org;
use crate::tenancy::{integrations, members, org_tools, orgs, policies};
use crate::workflows::{definitions, schedules};
use crate::{
    NewBlob, NewGrant, OrgBinding, OrgIntegration, OrgStore, RecordChange, agents, delivery,
    knowledge, ledger,
};

/// A change of an org's configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigChange {
    /// The revision that the change was made for; `None` for a new org.
    pub revision: Option<ConfigRevision>,
    /// In the order in which they are made.
    pub writes: Vec<ConfigWrite>,
    pub audit: Vec<NewAuditEntry>,
    /// What was applied, as JSON, to recognize later changes by other means.
    pub applied: Option<String>,
}

/// One write of a change.
#[derive(Debug, Clone)]
pub enum ConfigWrite {
    CreateOrg(Box<Org>),
    UpdateOrg(Box<Org>),
    Grant(NewGrant),
    Sharing(SharingPolicy),
    Policy(ToolPolicy),
    /// Only in the platform's org.
    PlatformPolicy(ToolPolicy),
    /// As JSON.
    Settings(String),
    Agent(Box<Agent>),
    /// The next version of a soul.
    Soul {
        owner: AgentId,
        soul: Soul,
        at: Timestamp,
    },
    Binding(OrgBinding),
    Integration(OrgIntegration),
    Tool(Box<OrgTool>),
    DeleteTool(OrgToolKind, String),
    Workflow(Box<WorkflowDefinition>),
    DeleteWorkflow(String),
    /// A schedule starts over with each change.
    Schedule(Box<WorkflowSchedule>),
    DeleteSchedule(String),
    /// Creates or replaces a document.
    Document(DocumentId, Document),
    DeleteDocument(DocumentId),
    Member(UserId, Role),
    RemoveMember(UserId),
    /// A file, unless it is stored already.
    Blob(NewBlob),
    /// Changes of records and contacts, made for the versions that they name.
    Records(Vec<RecordChange>),
}

const SAVE_RECORD: Sql = sql!(
    "INSERT INTO records (org, kind, id, version, data, created_at, updated_at)
     VALUES (?1, ?2, ?1, 1, ?3, now_ms(), now_ms())
     ON CONFLICT (org, kind, id) DO UPDATE SET version = records.version + 1,
       data = excluded.data, updated_at = now_ms()"
);

impl OrgStore<'_> {
    /// Makes a change, or nothing of it. Fails with [`StoreError::ConfigChanged`] if the
    /// configuration, or a record to change, is not what the change was made for.
    pub fn change_config(&self, change: ConfigChange) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| {
            if let Some(expected) = change.revision {
                lock_org(tx, org)?;
                if revision(tx, org)? != expected {
                    return Err(StoreError::ConfigChanged);
                }
            }
            for write in &change.writes {
                write.run(tx, org)?;
            }
            let entries: Result<Vec<_>> =
                change.audit.iter().map(|entry| audit::append(org, entry)).collect();
            tx.batch(&entries?)?;
            if let Some(applied) = &change.applied {
                save_record(tx, org, "applied_world", applied)?;
            }
            Ok(())
        })
    }
}

impl ConfigWrite {
    fn run(&self, tx: &Tx, org: OrgId) -> Result<()> {
        match self {
            Self::CreateOrg(new) => orgs::create(tx, new),
            Self::UpdateOrg(new) => orgs::update(tx, new),
            Self::Grant(new) => tx.batch(&ledger::grant_statements(tx, org, new)?).map(drop),
            Self::Sharing(policy) => {
                tx.batch(&ledger::sharing_statements(tx, org, policy)?).map(drop)
            }
            Self::Policy(policy) => policies::replace(tx, org, policy),
            Self::PlatformPolicy(policy) => policies::replace_platform(tx, org, policy),
            Self::Settings(data) => save_record(tx, org, "settings", data),
            Self::Agent(agent) => agents::agent::save(tx, agent).map(drop),
            Self::Soul { owner, soul, at } => push_soul(tx, org, *owner, soul, *at),
            Self::Binding(binding) => delivery::bindings::save(tx, org, binding),
            Self::Integration(integration) => integrations::save(tx, org, integration),
            Self::Tool(tool) => org_tools::save(tx, org, tool),
            Self::DeleteTool(kind, name) => org_tools::delete(tx, org, *kind, name),
            Self::Workflow(definition) => definitions::save(tx, org, definition),
            Self::DeleteWorkflow(name) => definitions::delete(tx, org, name),
            Self::Schedule(schedule) => schedules::save(tx, org, schedule),
            Self::DeleteSchedule(name) => schedules::delete(tx, org, name),
            Self::Document(id, document) => knowledge::replace(tx, org, *id, document),
            Self::DeleteDocument(id) => knowledge::delete(tx, org, *id),
            Self::Member(user, role) => members::set_member(tx, org, *user, *role),
            Self::RemoveMember(user) => members::remove(tx, org, *user),
            Self::Blob(blob) => blobs::put_once(tx, org, blob),
            Self::Records(changes) => match import::apply(tx, org, changes) {
                Err(StoreError::Conflict(_)) => Err(StoreError::ConfigChanged),
                other => other,
            },
        }
    }
}

fn save_record(tx: &Tx, org: OrgId, kind: &str, data: &str) -> Result<()> {
    tx.execute(&SAVE_RECORD, &[org.into(), kind.into(), data.into()]).map(drop)
}

fn push_soul(tx: &Tx, org: OrgId, owner: AgentId, soul: &Soul, at: Timestamp) -> Result<()> {
    let versions = agents::agent::soul_versions(tx, org, owner)?;
    let version = versions.last().map_or(0, |last| last.version) + 1;
    let origin = if version == 1 { SoulOrigin::Created } else { SoulOrigin::Edited };
    let next = SoulVersion { version, soul: soul.clone(), origin, at };
    agents::agent::push_soul(tx, org, owner, &next)
}
