//! Plans the changes that the exchange between business layers leads to: the copies of a record
//! in both orgs, notices to the people and agents concerned, and audit entries.

use std::collections::BTreeSet;

use ostler_domain::audit::AuditActor;
use ostler_domain::hierarchy::DecisionRefused;
use ostler_domain::hierarchy::delegation::{
    OrgDelegation, OrgDelegationAnswer, OrgDelegationError, OrgDelegationStatus,
};
use ostler_domain::hierarchy::insight::Insight;
use ostler_domain::hierarchy::issue::{
    Issue, IssueDecision, IssueError, IssueStatus, SourceNotification,
};
use ostler_domain::id::{
    AgentId, AuditId, ConversationId, InboxId, NoticeId, OrgId, RecordId, SessionId,
};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::time::Timestamp;
use ostler_store::{
    FollowUpEntry, NewAuditEntry, NewNotice, OrgStore, SharedFollowUp, SharedRecordChange,
    StoreError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::effect::ExchangeEffect;
use crate::ids::fresh;
use crate::records::entry::InboxEntry;
use crate::records::{decode, encode};

/// The record kind of issues.
pub const ISSUE: &str = "escalation";
/// The record kind of delegations to an org.
pub const DELEGATION: &str = "delegation";
/// The record kind of insights.
pub const INSIGHT: &str = "insight";

/// The most instructions that an agent has at a time.
const MAX_INSTRUCTIONS: usize = 10;
/// How many unread notices of an agent are counted.
const MAX_NOTICES: u32 = 100;

/// Why an exchange is refused.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error(transparent)]
    Delegation(#[from] OrgDelegationError),
    #[error(transparent)]
    Insight(#[from] DecisionRefused),
    #[error("this agent has {MAX_INSTRUCTIONS} instructions; withdraw one of them first")]
    TooManyInstructions,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The changes to commit.
#[derive(Debug, Default)]
pub(crate) struct ExchangePlan {
    pub(crate) changes: Vec<SharedRecordChange>,
    /// Notices to agents of the own org.
    pub(crate) notices: Vec<NewNotice>,
    /// Audit entries of the own org for what is no shared record.
    pub(crate) audit: Vec<NewAuditEntry>,
}

/// Plans effects one after the other; each one sees those before it.
pub(crate) struct Planner<'s> {
    store: OrgStore<'s>,
    actor: AuditActor,
    now: Timestamp,
    /// The conversation in words, added to the issues that were raised in it.
    digest: Option<String>,
    plan: ExchangePlan,
}

impl<'s> Planner<'s> {
    pub(crate) fn new(store: OrgStore<'s>, actor: AuditActor, now: Timestamp) -> Self {
        Self { store, actor, now, digest: None, plan: ExchangePlan::default() }
    }

    pub(crate) fn with_digest(self, digest: String) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// Sets who the following effects are audited as.
    pub(crate) const fn set_actor(&mut self, actor: AuditActor) {
        self.actor = actor;
    }

    pub(crate) fn finish(self) -> ExchangePlan {
        self.plan
    }

    /// Adds the changes of an effect. Fails if the rules refuse it.
    pub(crate) async fn add(&mut self, effect: ExchangeEffect) -> Result<(), ExchangeError> {
        match effect {
            ExchangeEffect::RaiseIssue { id, issue } => self.raise_issue(id, *issue),
            ExchangeEffect::DecideIssue { id, decision, decider } => {
                let (mut issue, version) = self.load::<Issue>(ISSUE, id).await?;
                let action = decision_action(&decision);
                let notify = issue.decide(decider, decision, self.now)?;
                self.decided_issue(id, version, &issue, action, notify);
            }
            ExchangeEffect::Delegate { id, delegation } => self.delegate(id, &delegation),
            ExchangeEffect::AnswerDelegation { id, answer, decider } => {
                let (mut work, version) = self.load::<OrgDelegation>(DELEGATION, id).await?;
                let action = answer_action(&answer);
                work.answer(decider, answer, self.now)?;
                self.answered_delegation(id, version, &work, action);
            }
            ExchangeEffect::ShareInsight { id, insight } => {
                let orgs = [insight.source, insight.target];
                self.create(INSIGHT, id, orgs, &*insight, "share_insight");
            }
            ExchangeEffect::AcknowledgeInsight { id, decider } => {
                let (mut insight, version) = self.load::<Insight>(INSIGHT, id).await?;
                insight.acknowledge(&decider, self.now)?;
                let orgs = [insight.source, insight.target];
                self.update(INSIGHT, id, version, orgs, &insight, "acknowledge_insight");
            }
            ExchangeEffect::Instruct { to, from, instruction } => {
                let recipient = NoticeRecipient::Agent(to);
                let unread = self.store.unread_notices(recipient, None, MAX_NOTICES).await?;
                let known = unread.iter().filter(|one| one.notice.kind == NoticeKind::Instruction);
                if known.count() >= MAX_INSTRUCTIONS {
                    return Err(ExchangeError::TooManyInstructions);
                }
                let data = json!({"from": from, "to": to, "instruction": instruction});
                let entry = self.audit_entry("instruct_agent", &to, &data);
                self.plan.audit.push(entry);
                self.plan.notices.push(notice(NoticeKind::Instruction, recipient, &to, &data));
            }
        }
        Ok(())
    }

    fn raise_issue(&mut self, id: RecordId, mut issue: Issue) {
        if let Some(digest) = &self.digest {
            let own = std::mem::take(&mut issue.context);
            let parts = [own.trim(), digest.trim()];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            issue.context = parts.join("\n\n");
        }
        let orgs = [issue.source.org, issue.target.org];
        let change = self.create(ISSUE, id, orgs, &issue, "raise_issue");
        let data = json!({"issue": id, "sender": issue.sender, "summary": issue.summary,
            "severity": issue.severity, "agent": issue.target.agent});
        let to_owner = notice(NoticeKind::IssueRaised, NoticeRecipient::Owner, &id, &data);
        change.notices.push((issue.target.org, to_owner));
        if let Some(coordinator) = issue.routed_by {
            let entry = NewAuditEntry {
                id: fresh(AuditId::from_u128),
                actor: AuditActor::Agent(coordinator.agent),
                action: "route_issue".to_owned(),
                subject: id.to_string(),
                data: json!({"from": issue.source, "to": issue.target}).to_string(),
            };
            change.audit.push((coordinator.org, entry));
        }
    }

    fn decided_issue(
        &mut self,
        id: RecordId,
        version: i64,
        issue: &Issue,
        action: &'static str,
        notify: SourceNotification,
    ) {
        let orgs = [issue.source.org, issue.target.org];
        let change = self.update(ISSUE, id, version, orgs, issue, action);
        if notify == SourceNotification::NotRequired {
            return;
        }
        let outcome = match &issue.status {
            IssueStatus::Resolved { resolution, .. } => format!("resolved: {resolution}"),
            _ => "dismissed: nothing will be done about it".to_owned(),
        };
        let text = format!("Your issue \"{}\" was {outcome}", issue.summary);
        inform(
            change,
            NoticeKind::IssueSettled,
            id,
            Sender {
                org: issue.source.org,
                agent: issue.source.agent,
                session: issue.session,
                conversation: issue.conversation,
            },
            &text,
        );
    }

    fn delegate(&mut self, id: RecordId, work: &OrgDelegation) {
        let change = self.create(DELEGATION, id, [work.source, work.target], work, "delegate");
        let data = json!({"delegation": id, "sender": work.sender,
            "instruction": work.instruction, "priority": work.priority});
        let to_owner = notice(NoticeKind::DelegationReceived, NoticeRecipient::Owner, &id, &data);
        change.notices.push((work.target, to_owner));
    }

    fn answered_delegation(
        &mut self,
        id: RecordId,
        version: i64,
        work: &OrgDelegation,
        action: &'static str,
    ) {
        let orgs = [work.source, work.target];
        let change = self.update(DELEGATION, id, version, orgs, work, action);
        let outcome = match &work.status {
            OrgDelegationStatus::Completed { result, .. } => format!("completed: {result}"),
            OrgDelegationStatus::Rejected => "rejected".to_owned(),
            OrgDelegationStatus::Pending | OrgDelegationStatus::Accepted => return,
        };
        let text = format!("The work \"{}\" was {outcome}", work.instruction);
        let data = json!({"delegation": id, "text": text});
        let to_owner = notice(NoticeKind::DelegationAnswered, NoticeRecipient::Owner, &id, &data);
        change.notices.push((work.source, to_owner));
        if let Some(agent) = work.agent {
            let sender = Sender {
                org: work.source,
                agent,
                session: work.session,
                conversation: work.conversation,
            };
            inform(change, NoticeKind::DelegationAnswered, id, sender, &text);
        }
    }

    /// Returns a record with the changes that are planned already, and the version to change.
    async fn load<T: DeserializeOwned>(
        &self,
        kind: &'static str,
        id: RecordId,
    ) -> Result<(T, i64), StoreError> {
        let unreadable =
            |error: crate::records::UnreadableRecord| StoreError::Backend(error.to_string());
        if let Some(planned) = self.plan.changes.iter().find(|one| one.id == id) {
            let version = planned.version.unwrap_or_default();
            return Ok((decode(kind, &planned.data).map_err(unreadable)?, version));
        }
        let record = self.store.record(kind, id).await?;
        Ok((decode(kind, &record.data).map_err(unreadable)?, record.version))
    }

    fn create(
        &mut self,
        kind: &'static str,
        id: RecordId,
        orgs: [OrgId; 2],
        record: &impl Serialize,
        action: &'static str,
    ) -> &mut SharedRecordChange {
        self.change(kind, id, None, orgs, record, action)
    }

    fn update(
        &mut self,
        kind: &'static str,
        id: RecordId,
        version: i64,
        orgs: [OrgId; 2],
        record: &impl Serialize,
        action: &'static str,
    ) -> &mut SharedRecordChange {
        self.change(kind, id, Some(version), orgs, record, action)
    }

    fn change(
        &mut self,
        kind: &'static str,
        id: RecordId,
        version: Option<i64>,
        orgs: [OrgId; 2],
        record: &impl Serialize,
        action: &'static str,
    ) -> &mut SharedRecordChange {
        let orgs = BTreeSet::from(orgs);
        let data = encode(record);
        let audit_data: Value = serde_json::from_str(&data).unwrap_or_default();
        let entry =
            |org: &OrgId| (*org, self.audit_entry(action, &id, &json!({"after": audit_data})));
        let audit: Vec<(OrgId, NewAuditEntry)> = orgs.iter().map(entry).collect();
        let changes = &mut self.plan.changes;
        let at = changes.iter().position(|one| one.id == id).unwrap_or_else(|| {
            changes.push(SharedRecordChange {
                kind,
                id,
                orgs,
                version,
                data: String::new(),
                notices: Vec::new(),
                audit: Vec::new(),
                follow_up: None,
            });
            changes.len() - 1
        });
        let change = &mut changes[at];
        change.data = data;
        change.audit.extend(audit);
        change
    }

    fn audit_entry(&self, action: &str, subject: &impl ToString, data: &Value) -> NewAuditEntry {
        NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor: self.actor,
            action: action.to_owned(),
            subject: subject.to_string(),
            data: data.to_string(),
        }
    }
}

/// The agent that sent a record, and where it did.
#[derive(Clone, Copy)]
struct Sender {
    org: OrgId,
    agent: AgentId,
    session: Option<SessionId>,
    conversation: Option<ConversationId>,
}

/// Tells the agent that sent a record how it was settled, in its next prompt of the same
/// conversation, and lets that conversation go on.
fn inform(
    change: &mut SharedRecordChange,
    kind: NoticeKind,
    id: RecordId,
    sender: Sender,
    text: &str,
) {
    let Sender { org, agent, session, conversation } = sender;
    let data = json!({"text": text, "session": session, "conversation": conversation});
    change.notices.push((org, notice(kind, NoticeRecipient::Agent(agent), &id, &data)));
    let entry = InboxEntry::AgentInformed { agent };
    change.follow_up = session.map(|session| SharedFollowUp {
        org,
        session,
        entry: FollowUpEntry {
            id: fresh(InboxId::from_u128),
            provider_id: format!("informed:{id}"),
            payload: encode(&entry),
        },
    });
}

fn notice(
    kind: NoticeKind,
    recipient: NoticeRecipient,
    subject: &impl ToString,
    data: &Value,
) -> NewNotice {
    let (id, subject) = (fresh(NoticeId::from_u128), subject.to_string());
    NewNotice { id, kind, recipient, subject, data: data.to_string() }
}

const fn decision_action(decision: &IssueDecision) -> &'static str {
    match decision {
        IssueDecision::Acknowledge => "acknowledge_issue",
        IssueDecision::Resolve(_) => "resolve_issue",
        IssueDecision::Dismiss => "dismiss_issue",
    }
}

const fn answer_action(answer: &OrgDelegationAnswer) -> &'static str {
    match answer {
        OrgDelegationAnswer::Accept => "accept_delegation",
        OrgDelegationAnswer::Reject => "reject_delegation",
        OrgDelegationAnswer::Complete(_) => "complete_delegation",
    }
}
