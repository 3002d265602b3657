//! Autonomy levels of agents: measured figures lead to proposals, on which the owner decides.

use std::collections::BTreeMap;

use ostler_domain::agent::autonomy::{AutonomyLevel, TrackRecord, check_level};
use ostler_domain::agent::growth::{
    LevelProposal, LevelProposalStatus, may_propose, propose_level,
};
use ostler_domain::agent::protection::{AgentChange, check_change};
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Protection};
use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::id::{AgentId, NoticeId, RecordId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::session::status::SessionStatus;
use ostler_domain::time::Timestamp;
use ostler_store::{
    ConfigChange, ConfigWrite, NewNotice, OrgStore, Record, RecordChange, SessionFilter, StoreError,
};
use serde_json::json;

use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;
use crate::records::message::{MessageAuthor, ThreadMessage};
use crate::records::run::RunRecord;
use crate::records::session::Session;
use crate::records::{decode, encode};

/// The record kind of the last proposal for an agent.
const KIND: &str = "level_proposal";
/// The most sessions of an org that are looked at.
const MAX_SESSIONS: usize = 2000;
/// The most conversations of an agent that are measured, the newest ones.
const MAX_CONVERSATIONS: u32 = 300;
/// How many rows are read at once.
const PAGE: u32 = 200;

impl OrgOperations<'_> {
    /// Returns the proposals that wait for the owner.
    pub async fn level_proposals(&self) -> Result<Vec<LevelProposal>> {
        let store = self.authorize(OrgPermission::View).await?;
        let all = store.records(KIND, None, PAGE).await?;
        let all = all.iter().map(|record| decode("level proposal", &record.data));
        let mut all: Vec<LevelProposal> = all.collect::<std::result::Result<_, _>>()?;
        all.retain(|one| one.status == LevelProposalStatus::Pending);
        Ok(all)
    }

    /// Measures the agents of the org now, proposes other levels where the figures call for
    /// them, and returns the figures.
    pub async fn review_levels(&self) -> Result<Vec<(AgentId, TrackRecord)>> {
        let store = self.authorize(OrgPermission::Operate).await?;
        Ok(review_levels(store, self.inner().clock.now()).await?)
    }

    /// Approves the proposed level of an agent, which has it from now on.
    pub async fn approve_level(&self, agent: &str) -> Result<LevelProposal> {
        let (store, agent, record, mut proposal) = self.pending_level(agent).await?;
        if agent.autonomy != proposal.from {
            return Err(OperationError::LevelChanged(agent.slug));
        }
        check_change(&agent, self.editor().await?, AgentChange::Guardrails)?;
        let position = BusinessPosition::of(&store.org().await?, &agent.subtype);
        check_level(&position, proposal.to)
            .map_err(|refused| OperationError::BadResource(refused.to_string()))?;
        proposal.status = LevelProposalStatus::Approved { by: self.actor.user_id() };
        let changed = Agent { autonomy: proposal.to, ..agent.clone() };
        let audit = self.audit_change(
            "approve_level",
            &agent.id,
            &json!({"autonomy": proposal.from}),
            &json!({"autonomy": proposal.to, "figures": proposal.record}),
        );
        let change = ConfigChange {
            writes: vec![ConfigWrite::Agent(Box::new(changed)), update(&record, &proposal)],
            audit: vec![audit],
            ..ConfigChange::default()
        };
        store.change_config(change).await?;
        Ok(proposal)
    }

    /// Rejects the proposed level of an agent. None is proposed for a month.
    pub async fn reject_level(&self, agent: &str, reason: &str) -> Result<LevelProposal> {
        let reason = reason.trim().to_owned();
        if reason.is_empty() {
            return Err(OperationError::Empty("the reason"));
        }
        let (store, agent, record, mut proposal) = self.pending_level(agent).await?;
        let data = json!({"from": proposal.from, "to": proposal.to, "reason": reason});
        let audit = self.audit_entry("reject_level", &agent.id, &data);
        let (by, at) = (self.actor.user_id(), self.inner().clock.now());
        proposal.status = LevelProposalStatus::Rejected { by, reason, at };
        let change = ConfigChange {
            writes: vec![update(&record, &proposal)],
            audit: vec![audit],
            ..ConfigChange::default()
        };
        store.change_config(change).await?;
        Ok(proposal)
    }

    /// Returns the pending proposal for an agent. Only an owner may decide on it.
    async fn pending_level(
        &self,
        name: &str,
    ) -> Result<(OrgStore<'_>, Agent, Record, LevelProposal)> {
        let store = self.authorize(OrgPermission::Configure).await?;
        self.require_owner("decide on the autonomy level of an agent").await?;
        let view = self.view().await?;
        let found =
            view.find_agent(name).ok_or_else(|| OperationError::NoAgent(name.to_owned()))?;
        let agent = found.agent.clone();
        let none = || OperationError::NoLevelProposal(agent.slug.clone());
        let record = match store.record(KIND, record_id(agent.id)).await {
            Err(StoreError::NotFound(_)) => return Err(none()),
            other => other?,
        };
        let proposal: LevelProposal = decode("level proposal", &record.data)?;
        if proposal.status != LevelProposalStatus::Pending {
            return Err(none());
        }
        Ok((store, agent, record, proposal))
    }
}

/// Measures the agents of an org and proposes other levels where the figures call for them.
pub(crate) async fn review_levels(
    store: OrgStore<'_>,
    now: Timestamp,
) -> std::result::Result<Vec<(AgentId, TrackRecord)>, StoreError> {
    let org = store.org().await?;
    let mut agents = store.agents().await?;
    agents.retain(|one| {
        one.protection == Protection::Open
            && one.kind == AgentKind::Conversational
            && one.status == AgentStatus::Active
            && one.autonomy != AutonomyLevel::DraftOnly
    });
    let figures = measure(store, &agents).await?;
    for agent in &agents {
        let record = figures.get(&agent.id).copied().unwrap_or_default();
        let position = BusinessPosition::of(&org, &agent.subtype);
        if let Some(to) = propose_level(agent.autonomy, &position, &record, now) {
            propose(store, agent, to, record, now).await?;
        }
    }
    Ok(agents
        .iter()
        .map(|one| (one.id, figures.get(&one.id).copied().unwrap_or_default()))
        .collect())
}

/// Stores a proposal with its notice, unless one waits or was rejected a short while ago.
async fn propose(
    store: OrgStore<'_>,
    agent: &Agent,
    to: AutonomyLevel,
    record: TrackRecord,
    now: Timestamp,
) -> std::result::Result<(), StoreError> {
    let last = match store.record(KIND, record_id(agent.id)).await {
        Ok(read) => Some(read),
        Err(StoreError::NotFound(_)) => None,
        Err(other) => return Err(other),
    };
    let known: Option<LevelProposal> =
        last.as_ref().and_then(|read| serde_json::from_str(&read.data).ok());
    if !may_propose(known.as_ref(), now) {
        return Ok(());
    }
    let status = LevelProposalStatus::Pending;
    let proposal =
        LevelProposal { agent: agent.id, from: agent.autonomy, to, record, made_at: now, status };
    let written = match &last {
        Some(read) => store.update_record(KIND, read, encode(&proposal)).await,
        None => store.create_record(KIND, record_id(agent.id), encode(&proposal)).await,
    };
    match written {
        // Another process proposed the same.
        Err(StoreError::Conflict(_)) => return Ok(()),
        other => other?,
    }
    let notice = NewNotice {
        id: fresh(NoticeId::from_u128),
        kind: NoticeKind::LevelProposal,
        recipient: NoticeRecipient::Owner,
        subject: agent.id.to_string(),
        data: json!({"agent": agent.id, "slug": agent.slug, "from": agent.autonomy, "to": to,
            "figures": record})
        .to_string(),
    };
    store.notify(notice).await.map(drop)
}

/// Returns the figures of agents, from their newest finished conversations with customers.
async fn measure(
    store: OrgStore<'_>,
    agents: &[Agent],
) -> std::result::Result<BTreeMap<AgentId, TrackRecord>, StoreError> {
    let mut figures: BTreeMap<AgentId, TrackRecord> = BTreeMap::new();
    let (mut before, mut seen) = (None, 0);
    while seen < MAX_SESSIONS {
        let page = store.sessions(SessionFilter::All, before, PAGE).await?;
        for stored in &page {
            let Ok(session) = decode::<Session>("session", &stored.data) else { continue };
            let Some(agent) = session.agent.filter(|id| agents.iter().any(|one| one.id == *id))
            else {
                continue;
            };
            let record = figures.entry(agent).or_default();
            if counts(&session) && record.conversations < MAX_CONVERSATIONS {
                add_conversation(store, record, &session, agent).await?;
            }
        }
        seen += page.len();
        match page.last() {
            Some(last) if page.len() == PAGE as usize => before = Some(last.id),
            _ => break,
        }
    }
    Ok(figures)
}

/// Returns whether a session is a finished conversation with a customer.
fn counts(session: &Session) -> bool {
    matches!(session.status, SessionStatus::Closed(_))
        && session.entry == ConversationEntry::Customer
        && session.bus_request.is_none()
}

async fn add_conversation(
    store: OrgStore<'_>,
    record: &mut TrackRecord,
    session: &Session,
    agent: AgentId,
) -> std::result::Result<(), StoreError> {
    let mut corrected = false;
    for stored in store.runs(session.id, None, PAGE).await? {
        let Ok(run) = RunRecord::from_stored(&stored) else { continue };
        for id in run.turns.iter().filter(|one| one.agent == agent).flat_map(|one| &one.approvals) {
            let approval = match store.approval(*id).await {
                Err(StoreError::NotFound(_)) => continue,
                other => other?,
            };
            if matches!(approval.approval.status, ApprovalStatus::Rejected { .. }) {
                corrected = true;
                record.last_rejection_at = record.last_rejection_at.max(Some(run.at));
            } else {
                let entries = store.audit_entries(Some(&id.to_string()), None, 10).await?;
                corrected |= entries.iter().any(|one| one.entry.action == "approve_with_changes");
            }
        }
    }
    let stored = store.last_messages(session.thread, PAGE).await?;
    let messages: Vec<ThreadMessage> =
        stored.iter().filter_map(|one| decode("message", &one.data).ok()).collect();
    record.conversations += 1;
    record.corrected += u32::from(corrected || is_taken_over_at_once(&messages));
    let escalated = session.escalation.is_some() || session.last_escalation_end.is_some();
    record.escalated += u32::from(escalated);
    Ok(())
}

/// Returns whether a person wrote at most one message after an agent did.
pub(super) fn is_taken_over_at_once(messages: &[ThreadMessage]) -> bool {
    let first_of_person =
        messages.iter().position(|one| matches!(one.author, MessageAuthor::Human { .. }));
    let before = first_of_person.map_or(&[][..], |at| &messages[..at]);
    before.iter().rev().take(2).any(|one| matches!(one.author, MessageAuthor::Agent { .. }))
}

fn update(record: &Record, proposal: &LevelProposal) -> ConfigWrite {
    ConfigWrite::Records(vec![RecordChange::UpdateRecord {
        kind: KIND.to_owned(),
        id: record.id,
        version: record.version,
        data: encode(proposal),
    }])
}

const fn record_id(agent: AgentId) -> RecordId {
    RecordId::from_u128(agent.as_u128())
}
