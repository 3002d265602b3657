//! What people do with a conversation, as requests to the API.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ostler_api::approval::{Approval, ApproveRequest, ApprovedCall, RejectRequest};
use ostler_api::session::{ResumeRequest, SendMessageRequest, Session, TakeoverResult};
use ostler_api::session_work::{NoteRequest, NoteResponse};
use ostler_domain::id::SessionId;
use ostler_tui::inbox::protocol::{InboxAction, InboxResult};
use serde::{Deserialize, Serialize};

use crate::api_client::OrgApi;
use crate::installation::write_private;
use crate::random;

/// The idempotency keys of texts that are being sent. Each is stored beside the draft of its
/// text, so that a text that is sent again arrives once, also by another process.
#[derive(Debug, Default)]
pub(super) struct SentKeys {
    folder: Option<PathBuf>,
    keys: HashMap<PathBuf, SentKey>,
}

/// The key of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SentKey {
    text: String,
    key: String,
}

impl SentKeys {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, keys: HashMap::new() }
    }

    /// Returns the key of an action that must not happen twice: the same one for each attempt.
    pub(super) fn begin(&mut self, session: SessionId, action: &InboxAction) -> Result<String> {
        let Some((name, text)) = text_of(session, action) else { return random::hex() };
        let known = self.keys.get(&name).cloned().or_else(|| self.read(&name));
        if let Some(known) = known.filter(|known| known.text == text) {
            return Ok(known.key);
        }
        let new = SentKey { text: text.to_owned(), key: random::hex()? };
        let key = new.key.clone();
        if let Some(folder) = &self.folder {
            // A text whose key cannot be stored is sent all the same.
            let stored = std::fs::create_dir_all(folder).map_err(anyhow::Error::from);
            let stored = stored
                .and_then(|()| write_private(&folder.join(&name), &serde_json::to_string(&new)?));
            if let Err(error) = stored {
                tracing::debug!(%error, "key of a text not stored");
            }
        }
        self.keys.insert(name, new);
        Ok(key)
    }

    fn read(&self, name: &Path) -> Option<SentKey> {
        let text = std::fs::read_to_string(self.folder.as_ref()?.join(name)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Forgets the key of an action that was carried out or refused: the next one is another.
    pub(super) fn end(&mut self, session: SessionId, action: &InboxAction) {
        let Some((name, _)) = text_of(session, action) else { return };
        self.keys.remove(&name);
        if let Some(folder) = &self.folder {
            // One that stays is that of another text.
            let _ = std::fs::remove_file(folder.join(name));
        }
    }
}

/// Returns the text of an action, and the file with its key.
fn text_of(session: SessionId, action: &InboxAction) -> Option<(PathBuf, &str)> {
    let (kind, text) = match action {
        InboxAction::Reply { text } => ("reply", text),
        InboxAction::Note { text } => ("note", text),
        _ => return None,
    };
    Some((format!("{session}.{kind}-key").into(), text))
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

    /// M43: a reply whose answer was lost and that is sent again arrives once, also after a
    /// restart.
    #[test]
    fn m43_a_text_keeps_its_key_until_it_was_sent() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || SentKeys::new(Some(folder.path().join("drafts")));
        let session = SessionId::from_u128(1);
        let reply = |text: &str| InboxAction::Reply { text: text.to_owned() };
        let note = InboxAction::Note { text: "hello".to_owned() };
        let key =
            |keys: &mut SentKeys, action: &InboxAction| keys.begin(session, action).expect("a key");
        let mut keys = open();
        let first = key(&mut keys, &reply("hello"));
        assert_eq!(key(&mut keys, &reply("hello")), first);
        assert_ne!(key(&mut keys, &note), first);
        let mut keys = open();
        assert_eq!(key(&mut keys, &reply("hello")), first);
        keys.end(session, &reply("hello"));
        let second = key(&mut open(), &reply("hello"));
        assert_ne!(second, first);
        assert_ne!(key(&mut open(), &reply("hello!")), second);
    }
}
