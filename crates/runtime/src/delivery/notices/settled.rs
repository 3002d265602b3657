//! Whether a notice is still worth sending.

use ostler_domain::gate::approval::ApprovalStatus;
use ostler_domain::human::escalation::EscalationStatus;
use ostler_domain::id::{ApprovalId, ConversationId};
use ostler_domain::notice::NoticeKind;
use ostler_domain::refund::{REFUNDS, RefundStatus};
use ostler_domain::soul::proposal::ProposalStatus;
use ostler_store::{OrgStore, StoreError, StoredNotice};

use super::{data_of, session_id};
use crate::records::decode;
use crate::records::refund::OrderRefunds;
use crate::records::session::Session;

/// Returns why nobody has to act on a notice any more, if so. Such a notice is not sent.
pub async fn settled_reason(
    store: &OrgStore<'_>,
    stored: &StoredNotice,
) -> Result<Option<&'static str>, StoreError> {
    if stored.read_at.is_some() {
        return Ok(Some("it was acknowledged"));
    }
    match stored.notice.kind {
        NoticeKind::ApprovalWanted => {
            let data = data_of(stored);
            let id: Option<ApprovalId> = data["approval"].as_str().and_then(|id| id.parse().ok());
            let Some(id) = id else { return Ok(None) };
            match store.approval(id).await {
                Ok(found) if found.approval.status == ApprovalStatus::Pending => Ok(None),
                Ok(_) | Err(StoreError::NotFound(_)) => Ok(Some("it was decided")),
                Err(other) => Err(other),
            }
        }
        NoticeKind::SoulProposal => {
            let Ok(id) = stored.notice.subject.parse() else { return Ok(None) };
            match store.proposal(id).await {
                Ok(found) if found.proposal.status == ProposalStatus::Pending => Ok(None),
                Ok(_) | Err(StoreError::NotFound(_)) => Ok(Some("it was decided")),
                Err(other) => Err(other),
            }
        }
        NoticeKind::Escalation
        | NoticeKind::EscalationReminder
        | NoticeKind::EscalationUnanswered => {
            let session = session_of(store, stored).await?.map(|(_, session)| session);
            let open = session.as_ref().and_then(|session| session.escalation.as_ref());
            let waits = open.is_some_and(|open| {
                open.state.status == EscalationStatus::Pending
                    && open.id.to_string() == stored.notice.subject
            });
            Ok((!waits).then_some("somebody has answered"))
        }
        NoticeKind::RefundRequested => {
            let order = data_of(stored)["order"].as_str().and_then(|id| id.parse().ok());
            let Some(order) = order else { return Ok(None) };
            let data = match store.record(REFUNDS, order).await {
                Ok(record) => decode::<OrderRefunds>(REFUNDS, &record.data).ok(),
                Err(StoreError::NotFound(_)) => None,
                Err(other) => return Err(other),
            };
            let mut refunds = data.into_iter().flat_map(|order| order.refunds);
            let waits = refunds.any(|refund| {
                refund.id.to_string() == stored.notice.subject
                    && refund.status == RefundStatus::Requested
            });
            Ok((!waits).then_some("it was paid or refused"))
        }
        _ => Ok(None),
    }
}

/// Returns the session that a notice is about, with its conversation.
pub(super) async fn session_of(
    store: &OrgStore<'_>,
    stored: &StoredNotice,
) -> Result<Option<(ConversationId, Session)>, StoreError> {
    let Some(id) = session_id(&data_of(stored)) else { return Ok(None) };
    match store.session(id).await {
        Ok(found) => {
            let session = decode("session", &found.data).ok();
            Ok(session.map(|session| (found.conversation, session)))
        }
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}
