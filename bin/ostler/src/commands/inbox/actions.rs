//! What people do with a conversation, as requests to the API.

use std::collections::HashMap;

use anyhow::Result;
use ostler_api::approval::{Approval, ApproveRequest, ApprovedCall, RejectRequest};
use ostler_api::session::{ResumeRequest, SendMessageRequest, Session, TakeoverResult};
use ostler_api::session_work::{NoteRequest, NoteResponse};
use ostler_domain::id::SessionId;
use ostler_tui::inbox::protocol::{InboxAction, InboxResult};

use crate::api_client::OrgApi;
use crate::random;

/// The idempotency keys of texts whose sending failed. Sent again, they arrive once.
#[derive(Debug, Default)]
pub(super) struct SentKeys(HashMap<(SessionId, InboxText), String>);

/// A text that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum InboxText {
    Reply(String),
    Note(String),
}

impl SentKeys {
    /// Returns the key of an action that must not happen twice: the same one for each attempt.
    pub(super) fn begin(&mut self, session: SessionId, action: &InboxAction) -> Result<String> {
        let Some(text) = text_of(action) else { return random::hex() };
        let new = random::hex()?;
        Ok(self.0.entry((session, text)).or_insert(new).clone())
    }

    /// Forgets the key of an action that was carried out: the next one is another.
    pub(super) fn end(&mut self, session: SessionId, action: &InboxAction) {
        if let Some(text) = text_of(action) {
            self.0.remove(&(session, text));
        }
    }
}

fn text_of(action: &InboxAction) -> Option<InboxText> {
    match action {
        InboxAction::Reply { text } => Some(InboxText::Reply(text.clone())),
        InboxAction::Note { text } => Some(InboxText::Note(text.clone())),
        _ => None,
    }
}

/// Carries an action out.
pub(super) async fn act(
    org: &OrgApi,
    session: SessionId,
    action: &InboxAction,
    key: &str,
) -> Result<InboxResult> {
    let session = session.to_string();
    let path = |verb: &'static str| ["sessions", session.as_str(), verb];
    Ok(match action {
        InboxAction::TakeOver => {
            let taken: TakeoverResult = org.post(&path("take-over"), &()).await?;
            InboxResult::TakenOver {
                withdrawn: taken.withdrawn,
                in_flight: taken.in_flight.len(),
                still_sending: taken.still_sending.len(),
            }
        }
        InboxAction::Reply { text } => {
            let message = SendMessageRequest { text: text.clone() };
            let _: Session = org.post_once(&path("messages"), &message, key).await?;
            InboxResult::Sent
        }
        InboxAction::Note { text } => {
            let note = NoteRequest { text: text.clone() };
            let _: NoteResponse = org.post_once(&path("notes"), &note, key).await?;
            InboxResult::Noted
        }
        InboxAction::HandBack { resolution } => {
            let body = ResumeRequest { resolution: resolution.clone() };
            let _: Session = org.post(&path("resume"), &body).await?;
            InboxResult::HandedBack
        }
        InboxAction::Dismiss => {
            let _: Session = org.post(&path("dismiss"), &()).await?;
            InboxResult::Dismissed
        }
        InboxAction::Approve { approval, at_once } => {
            let body = ApproveRequest { arguments: None, now: *at_once };
            let path = ["approvals", &approval.to_string(), "approve"];
            let approved: ApprovedCall = org.post(&path, &body).await?;
            InboxResult::Approved(approved.call)
        }
        InboxAction::Reject { approval, reason } => {
            let body = RejectRequest { reason: reason.clone() };
            let path = ["approvals", &approval.to_string(), "reject"];
            let _: Approval = org.post(&path, &body).await?;
            InboxResult::Rejected
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{InboxAction, SentKeys, SessionId};

    /// M43: a reply whose answer was lost and that is sent again arrives once.
    #[test]
    fn m43_a_text_keeps_its_key_until_it_was_sent() {
        let (mut keys, session) = (SentKeys::default(), SessionId::from_u128(1));
        let reply = |text: &str| InboxAction::Reply { text: text.to_owned() };
        let mut key = |action: &InboxAction| keys.begin(session, action).expect("a key");
        let first = key(&reply("hello"));
        assert_eq!(key(&reply("hello")), first);
        assert_ne!(key(&reply("hello!")), first);
        assert_ne!(key(&InboxAction::Note { text: "hello".to_owned() }), first);
        keys.end(session, &reply("hello"));
        assert_ne!(keys.begin(session, &reply("hello")).expect("a key"), first);
    }
}
