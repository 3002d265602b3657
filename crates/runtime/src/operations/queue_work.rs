//! What waits for a person on the bus: messages to human agents, and plans.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::id::EnvelopeId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::plan::PlanAnswer;
use ostler_store::{HeldMessageKind, OrgStore, StoreError};
use serde::Serialize;
use serde_json::json;

use super::{OperationError, OrgOperations, QueueAgentRefused, Result};
use crate::agents::coordination::{CoordinationMessage, PlanApprovalRequest};
use crate::agents::{
    ANSWER_KIND, AgentReply, AgentRuntime, Plans as _, ReceivedPlanAnswer, ReplyDelivery,
    StoredRecords, WaitingPlan,
};
use crate::ids::derived;
use crate::records::decode;

/// How many messages and plans are searched.
const MAX_ITEMS: u32 = 1000;

/// A message that waits for the answer of a human agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkItem {
    pub agent: AgentName,
    pub message: Arc<Envelope>,
}

impl OrgOperations<'_> {
    /// Returns the messages that wait for human agents, or for one of them, oldest first.
    pub async fn work_items(&self, agent: Option<&AgentName>) -> Result<Vec<WorkItem>> {
        let store = self.authorize(OrgPermission::View).await?;
        let all = store.all_held_messages(HeldMessageKind::WorkList, MAX_ITEMS).await?;
        let wanted = all.into_iter().filter(|(of, _)| agent.is_none_or(|agent| of == agent));
        let items = wanted.map(|(agent, held)| {
            Ok(WorkItem { agent, message: Arc::new(decode("message", &held.data)?) })
        });
        items.collect()
    }

    /// Answers a message in the name of its human agent. The first answer counts.
    pub async fn answer_work_item(
        &self,
        agents: &AgentRuntime,
        message: EnvelopeId,
        agent: Option<&AgentName>,
        text: &str,
    ) -> Result<(WorkItem, ReplyDelivery)> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let text = text.trim();
        if text.is_empty() {
            return Err(OperationError::Empty("an answer"));
        }
        let item = self.work_items(agent).await?.into_iter();
        let item = item.into_iter().find(|item| item.message.message.id == message);
        let item = item.ok_or(QueueAgentRefused::NotOnWorkList(message))?;
        if let Some(request) = PlanApprovalRequest::of(&item.message) {
            return Err(QueueAgentRefused::IsPlan(request.key.message).into());
        }
        let audit = self.audit_entry("answer_work_item", &message, &json!({"agent": item.agent}));
        let taken = store.audited(audit);
        let taken = taken.take_held_message(HeldMessageKind::WorkList, &item.agent, message).await;
        match taken {
            Err(StoreError::NotFound(_)) => {
                return Err(QueueAgentRefused::NotOnWorkList(message).into());
            }
            other => other?,
        };
        let reply = AgentReply::new(ANSWER_KIND, json!({"text": text}));
        match agents.send_human_answer(&item.agent, &item.message, reply).await {
            Ok(delivery) => Ok((item, delivery)),
            Err(error) => {
                agents.worklist().add(&item.agent, Arc::clone(&item.message)).await?;
                Err(error.into())
            }
        }
    }

    /// Returns the plans that wait for an answer, oldest first.
    pub async fn waiting_plans(&self) -> Result<Vec<WaitingPlan>> {
        self.authorize(OrgPermission::View).await?;
        Ok(self.queue_records().waiting(MAX_ITEMS as usize).await?)
    }

    /// Answers a plan in the name of its approver. An approved message goes back to its
    /// agent; of a rejected one its sender is told.
    pub async fn answer_plan(
        &self,
        agents: &AgentRuntime,
        message: EnvelopeId,
        answer: PlanAnswer,
    ) -> Result<WaitingPlan> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let action = match &answer {
            PlanAnswer::Approve => "approve_plan",
            PlanAnswer::Reject { reason } if reason.trim().is_empty() => {
                return Err(OperationError::Empty("a reason"));
            }
            PlanAnswer::Reject { .. } => "reject_plan",
        };
        let waiting = self.waiting_plans().await?.into_iter();
        let waiting = waiting.into_iter().find(|one| one.key.message == message);
        let waiting = waiting.ok_or(QueueAgentRefused::NoPlan(message))?;
        let data = json!({"agent": waiting.key.agent, "answer": answer});
        let audit = self.audit_entry(action, &message, &data);
        let answered = ReceivedPlanAnswer {
            message: derived(EnvelopeId::from_u128, message.as_u128(), action),
            by: waiting.plan.approver.clone(),
            reference: waiting.plan.reference,
            answer,
        };
        let records = StoredRecords::new(self.inner().store.clone(), self.org);
        let (effect, held) = records.decide_plan(&waiting.key, answered, audit).await?;
        take_request(&store, &waiting).await?;
        agents.carry_out_plan(&waiting.key, effect, held).await?;
        Ok(waiting)
    }
}

/// Takes the request for an answered plan from the work list of its approver.
async fn take_request(store: &OrgStore<'_>, plan: &WaitingPlan) -> Result<()> {
    let (kind, approver) = (HeldMessageKind::WorkList, &plan.plan.approver);
    for held in store.held_messages(kind, approver, None, MAX_ITEMS).await? {
        let message: Envelope = decode("message", &held.data)?;
        let request = PlanApprovalRequest::of(&message);
        if request.is_some_and(|request| request.key == plan.key) {
            store.take_held_message(kind, approver, held.message).await?;
        }
    }
    Ok(())
}
