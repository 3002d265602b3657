//! What the business layers exchange: issues, delegations to orgs, insights and instructions.

use ostler_domain::hierarchy::delegation::{OrgDelegation, OrgDelegationAnswer};
use ostler_domain::hierarchy::insight::Insight;
use ostler_domain::hierarchy::issue::{Issue, IssueDecision};
use ostler_domain::hierarchy::route::{NoRoute, check_delegation};
use ostler_domain::hierarchy::{Decider, Importance};
use ostler_domain::id::{NoticeId, RecordId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_store::{OrgStore, StoreError, StoredNotice};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{OperationError, OrgOperations, Result};
use crate::hierarchy::plan::{DELEGATION, INSIGHT, ISSUE};
use crate::hierarchy::{ExchangeEffect, Planner};
use crate::ids::fresh;
use crate::inbox::wake_informed;
use crate::records::decode;

/// How many records are loaded at once.
const PAGE: u32 = 500;
/// The most unread notices of an agent that are searched for instructions.
const MAX_NOTICES: u32 = 100;

/// A record that two orgs share.
#[derive(Debug, Clone, Serialize)]
pub struct ExchangeRecord<T> {
    pub id: RecordId,
    pub created_at: Timestamp,
    #[serde(flatten)]
    pub record: T,
}

impl OrgOperations<'_> {
    /// Returns the issues that the org has sent or received, newest first.
    pub async fn issues(&self) -> Result<Vec<ExchangeRecord<Issue>>> {
        self.exchanged(ISSUE).await
    }

    /// Returns the delegations that the org has given or received, newest first.
    pub async fn org_delegations(&self) -> Result<Vec<ExchangeRecord<OrgDelegation>>> {
        self.exchanged(DELEGATION).await
    }

    /// Returns the insights that the org has shared or received, newest first.
    pub async fn insights(&self) -> Result<Vec<ExchangeRecord<Insight>>> {
        self.exchanged(INSIGHT).await
    }

    /// Decides on an issue that the org has received. The agent that sent it is told.
    pub async fn decide_issue(&self, id: RecordId, decision: IssueDecision) -> Result<()> {
        if matches!(&decision, IssueDecision::Resolve(text) if text.trim().is_empty()) {
            return Err(OperationError::Empty("the resolution of an issue"));
        }
        let decider = self.decider();
        self.exchange(ExchangeEffect::DecideIssue { id, decision, decider }).await
    }

    /// Delegates work: an agency to one of its clients, the platform to an agency.
    pub async fn delegate_to_org(
        &self,
        slug: &str,
        instruction: &str,
        priority: Option<Importance>,
    ) -> Result<RecordId> {
        self.authorize(OrgPermission::Operate).await?;
        let store = &self.inner().store;
        let own = store.org(self.org).org().await?;
        let target = store.org_by_slug(slug).await?.ok_or(NoRoute::NotAChild)?;
        let target = store.org(target).org().await?;
        check_delegation(&own, &target)?;
        let work = OrgDelegation::new(own.id, target.id, instruction, priority)?;
        let delegation = Box::new(OrgDelegation { sender: own.name, ..work });
        let id = fresh(RecordId::from_u128);
        self.exchange(ExchangeEffect::Delegate { id, delegation }).await?;
        Ok(id)
    }

    /// Answers a delegation that the org has received. Those who gave it are told.
    pub async fn answer_delegation(&self, id: RecordId, answer: OrgDelegationAnswer) -> Result<()> {
        if matches!(&answer, OrgDelegationAnswer::Complete(text) if text.trim().is_empty()) {
            return Err(OperationError::Empty("the result of a delegation"));
        }
        let decider = self.decider();
        self.exchange(ExchangeEffect::AnswerDelegation { id, answer, decider }).await
    }

    /// Acknowledges an insight that the org has received.
    pub async fn acknowledge_insight(&self, id: RecordId) -> Result<()> {
        let decider = self.decider();
        self.exchange(ExchangeEffect::AcknowledgeInsight { id, decider }).await
    }

    /// Returns the instructions that an agent follows, oldest first.
    pub async fn instructions(&self, agent: &str) -> Result<Vec<StoredNotice>> {
        let store = self.authorize(OrgPermission::View).await?;
        let view = self.view().await?;
        let found =
            view.find_agent(agent).ok_or_else(|| OperationError::NoAgent(agent.to_owned()))?;
        let recipient = NoticeRecipient::Agent(found.agent.id);
        let unread = store.unread_notices(recipient, None, MAX_NOTICES).await?;
        let is_instruction = |one: &StoredNotice| one.notice.kind == NoticeKind::Instruction;
        Ok(unread.into_iter().filter(is_instruction).collect())
    }

    /// Withdraws an instruction; its agent does not read it any more.
    pub async fn withdraw_instruction(&self, id: NoticeId) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        if store.notice(id).await?.notice.kind != NoticeKind::Instruction {
            return Err(StoreError::NotFound("instruction").into());
        }
        Ok(store.acknowledge_notice(id, &self.actor.audit_actor()).await?)
    }

    const fn decider(&self) -> Decider {
        Decider::Person { user: self.actor.user_id(), org: self.org }
    }

    /// Plans and makes a change. If somebody else changes the record meanwhile, it is planned
    /// again.
    async fn exchange(&self, effect: ExchangeEffect) -> Result<()> {
        const MAX_ATTEMPTS: usize = 5;
        let store = self.authorize(OrgPermission::Operate).await?;
        for _ in 0..MAX_ATTEMPTS {
            match self.try_exchange(store, effect.clone()).await {
                Err(OperationError::Store(StoreError::Conflict(_))) => {}
                other => return other,
            }
        }
        Err(OperationError::Busy)
    }

    async fn try_exchange(&self, store: OrgStore<'_>, effect: ExchangeEffect) -> Result<()> {
        let now = self.inner().clock.now();
        let mut planner = Planner::new(store, self.actor.audit_actor(), now);
        planner.add(effect).await?;
        let inner = self.inner();
        for change in planner.finish().changes {
            store.change_shared_record(change.clone()).await?;
            wake_informed(&inner.bell, &inner.store, &[change]).await;
        }
        Ok(())
    }

    async fn exchanged<T: DeserializeOwned>(
        &self,
        kind: &'static str,
    ) -> Result<Vec<ExchangeRecord<T>>> {
        let store = self.authorize(OrgPermission::View).await?;
        let (mut all, mut before) = (Vec::new(), None);
        loop {
            let page = store.newest_records(kind, before, PAGE).await?;
            before = page.last().map(|record| record.id);
            for stored in &page {
                let record = decode(kind, &stored.data)?;
                all.push(ExchangeRecord { id: stored.id, created_at: stored.created_at, record });
            }
            if page.len() < PAGE as usize {
                return Ok(all);
            }
        }
    }
}
