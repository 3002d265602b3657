//! Refunds that agents asked for and people pay or refuse.

use ostler_domain::id::{RecordId, SessionId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::refund::{REFUNDS, RefundDecision, RefundStatus};
use ostler_domain::session::status::SessionStatus;
use ostler_store::{OrgStore, Record, StoreError};
use serde_json::{Value, json};

use super::{OrgOperations, Result, follow_up_entry};
use crate::records::decode;
use crate::records::entry::InboxEntry;
use crate::records::refund::{OrderRefunds, RefundRequest};
use crate::records::session::Session;

/// How many orders with refunds are read at once.
const PAGE: u32 = 500;

/// A refund and its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRefund {
    pub order: RecordId,
    pub order_number: String,
    pub refund: RefundRequest,
}

/// A decided refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledRefund {
    pub refund: OrderRefund,
    /// Whether an agent tells the customer.
    pub customer_is_told: bool,
}

impl OrgOperations<'_> {
    /// Returns all refunds, those of older orders first.
    pub async fn refunds(&self) -> Result<Vec<OrderRefund>> {
        let store = self.authorize(OrgPermission::View).await?;
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = store.records(REFUNDS, after, PAGE).await?;
            for record in &page {
                all.extend(refunds_of(record)?);
            }
            after = page.last().map(|last| last.id);
            if page.len() < PAGE as usize {
                return Ok(all);
            }
        }
    }

    /// Returns the refunds of an order, oldest first.
    pub async fn order_refunds(&self, order: RecordId) -> Result<Vec<OrderRefund>> {
        let store = self.authorize(OrgPermission::View).await?;
        match store.record(REFUNDS, order).await {
            Ok(record) => refunds_of(&record),
            Err(StoreError::NotFound(_)) => Ok(Vec::new()),
            Err(other) => Err(other.into()),
        }
    }

    /// Records that a person paid or refused a refund. The agent tells the customer, if it has
    /// the conversation.
    pub async fn settle_refund(
        &self,
        order: RecordId,
        refund: RecordId,
        decision: RefundDecision,
        note: Option<&str>,
    ) -> Result<SettledRefund> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let record = store.record(REFUNDS, order).await?;
        let found = refunds_of(&record)?.into_iter().find(|one| one.refund.id == refund);
        let mut found = found.ok_or(StoreError::NotFound("refund"))?;
        let before = json!(found.refund);
        found.refund.status = found.refund.status.settle(decision)?;
        found.refund.note = note.map(|note| note.trim().to_owned());
        let data = changed_record(&record, &found.refund);
        let action = match decision {
            RefundDecision::Paid => "pay_refund",
            RefundDecision::Refused => "refuse_refund",
        };
        let audit = self.audit_change(action, &refund, &before, &json!(found.refund));
        let open = active_session(&store, found.refund.session).await?;
        let entry = InboxEntry::RefundSettled { refund, text: agent_note(&found) };
        let then = open.map(|session| {
            (session.conversation, follow_up_entry(format!("refund:{refund}"), &entry))
        });
        let conversation = then.as_ref().map(|(conversation, _)| *conversation);
        store.audited(audit).change_record(REFUNDS, &record, data, then).await?;
        if let Some(conversation) = conversation {
            self.wake_conversation(conversation).await;
        }
        Ok(SettledRefund { refund: found, customer_is_told: conversation.is_some() })
    }
}

fn refunds_of(record: &Record) -> Result<Vec<OrderRefund>> {
    let OrderRefunds { order_number, refunds } = decode(REFUNDS, &record.data)?;
    let with_order =
        |refund| OrderRefund { order: record.id, order_number: order_number.clone(), refund };
    Ok(refunds.into_iter().map(with_order).collect())
}

/// Returns the data of a record with a decided refund.
fn changed_record(record: &Record, refund: &RefundRequest) -> String {
    let mut data: Value = serde_json::from_str(&record.data).unwrap_or_default();
    let id = refund.id.to_string();
    let all = data["refunds"].as_array_mut().into_iter().flatten();
    for one in all.filter(|one| one["id"] == id.as_str()) {
        one["status"] = json!(refund.status);
        one["note"] = json!(refund.note);
    }
    data.to_string()
}

/// Returns the session if an agent has the conversation: it is open, and no person answers.
async fn active_session(store: &OrgStore<'_>, id: Option<SessionId>) -> Result<Option<Session>> {
    let Some(id) = id else { return Ok(None) };
    match store.session(id).await {
        Ok(stored) => {
            let session: Session = decode("session", &stored.data)?;
            Ok(Some(session).filter(|one| one.status == SessionStatus::Active))
        }
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other.into()),
    }
}

/// Returns what the agent learns of a decision.
fn agent_note(settled: &OrderRefund) -> String {
    let OrderRefund { order_number, refund, .. } = settled;
    let amount = &refund.amount;
    let note = refund.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
    match refund.status {
        RefundStatus::Refused => format!(
            "A person refused the refund of {amount} for order {order_number}{note}. Tell the \
             customer kindly, without naming the person."
        ),
        RefundStatus::Made | RefundStatus::Requested => format!(
            "A person paid the refund of {amount} for order {order_number}{note}. Tell the customer."
        ),
    }
}
