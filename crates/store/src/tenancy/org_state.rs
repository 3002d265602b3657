//! Everything that a world file can say about an org, read at once.

use ostler_domain::id::{BindingId, IntegrationId, OrgId, UserId};
use ostler_domain::money::Credits;
use ostler_domain::money::sharing::SharingPolicy;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::delivery::bindings;
use crate::error::Result;
use crate::tenancy::members::{self, Member};
use crate::tenancy::org_config::{self, OrgVersions, VERSIONS, read_versions, versions_key};
use crate::tenancy::{integrations, org_tools, orgs, policies};
use crate::workflows::{definitions, schedules};
use crate::{
    AgentConfig, OrgBinding, OrgIntegration, OrgStore, PolicyVersion, StoredDocument, knowledge,
    ledger,
};
use ostler_domain::org::Org;
use ostler_domain::tool::org_tools::OrgTool;
use ostler_domain::workflow::WorkflowDefinition;
use ostler_domain::workflow::schedule::WorkflowSchedule;

/// The reference of the credits that an org got when it was created.
pub const STARTING_CREDITS: &str = "starting_credits";

/// Everything that a world file can say about an org.
#[derive(Debug, Clone)]
pub struct OrgState {
    pub org: Org,
    pub starting_credits: Credits,
    pub sharing: SharingPolicy,
    pub policy: PolicyVersion,
    /// As JSON.
    pub settings: Option<String>,
    pub agents: Vec<AgentConfig>,
    pub bindings: Vec<OrgBinding>,
    pub tools: Vec<OrgTool>,
    pub workflows: Vec<WorkflowDefinition>,
    pub schedules: Vec<WorkflowSchedule>,
    pub integrations: Vec<OrgIntegration>,
    pub documents: Vec<StoredDocument>,
    pub members: Vec<Member>,
    /// What was applied last, as JSON.
    pub applied: Option<String>,
    pub revision: ConfigRevision,
}

/// The revision of an org's own configuration and documents. Revisions can be compared
/// for equality only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigRevision {
    config: i64,
    documents: i64,
}

const SETTINGS: Sql =
    sql!("SELECT data FROM records WHERE org = ?1 AND kind = 'settings' AND id = ?1");
const APPLIED: Sql =
    sql!("SELECT data FROM records WHERE org = ?1 AND kind = 'applied_world' AND id = ?1");

impl OrgStore<'_> {
    /// Returns everything that a world file can say about the org.
    pub fn state(&self) -> StoreFuture<OrgState> {
        let org = self.org;
        self.read(move |tx| {
            let text = |sql| {
                let row = tx.first(sql, &[org.into()])?;
                row.map(|row| row.text(0).map(str::to_owned)).transpose()
            };
            Ok(OrgState {
                org: orgs::get(tx, org)?,
                starting_credits: ledger::granted(tx, org, STARTING_CREDITS)?.unwrap_or_default(),
                sharing: ledger::sharing(tx, org)?,
                policy: policies::newest_of_org(tx, org)?,
                settings: text(&SETTINGS)?,
                agents: org_config::agents(tx, org)?,
                bindings: bindings::list(tx, org, BindingId::from_u128(0), u32::MAX)?,
                tools: org_tools::list(tx, org)?,
                workflows: definitions::list(tx, org)?,
                schedules: schedules::list(tx, org)?,
                integrations: integrations::list(tx, org, IntegrationId::from_u128(0), u32::MAX)?,
                documents: knowledge::all(tx, org)?,
                members: members::list(tx, org, UserId::from_u128(0), u32::MAX)?,
                applied: text(&APPLIED)?,
                revision: revision(tx, org)?,
            })
        })
    }
}

/// Returns the revision of an org, inside a transaction.
pub(super) fn revision(tx: &Tx, org: OrgId) -> Result<ConfigRevision> {
    let OrgVersions { config, documents } =
        read_versions(&tx.query(&VERSIONS, &versions_key(org))?)?;
    Ok(ConfigRevision { config: config.own(), documents })
}
