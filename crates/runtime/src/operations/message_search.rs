//! Finding messages by their words, in the conversations of an org.

use std::sync::Arc;

use ostler_domain::id::SessionId;
use ostler_domain::knowledge::search::excerpt;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::search::MessageQuery;

use super::{OperationError, OrgOperations, Result};
use crate::records::decode;
use crate::records::message::ThreadMessage;
use crate::records::session::Session;

/// A found message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMessage {
    pub session: Session,
    /// The position in the thread of the session.
    pub seq: i64,
    pub message: ThreadMessage,
    /// A part of the text, around a searched word.
    pub excerpt: String,
}

impl OrgOperations<'_> {
    /// Returns the messages with words that begin with these, newest session first, and where
    /// the search continues, if there are older sessions. Only what customers, agents and
    /// people said is searched, not what tools returned.
    pub async fn search_messages(
        &self,
        words: &str,
        before: Option<SessionId>,
        limit: u32,
    ) -> Result<(Vec<FoundMessage>, Option<SessionId>)> {
        let store = self.authorize(OrgPermission::View).await?;
        let query = MessageQuery::new(words).ok_or(OperationError::Empty("a search"))?;
        let wanted = query.clone();
        let matches = move |data: &str| {
            decode::<ThreadMessage>("message", data).is_ok_and(|one| wanted.finds(&one.text()))
        };
        let page = store.search_messages(Arc::new(matches), before, limit).await?;
        let found = page.hits.into_iter().map(|hit| {
            let message: ThreadMessage = decode("message", &hit.message.data)?;
            Ok(FoundMessage {
                session: decode("session", &hit.session_data)?,
                seq: hit.message.seq,
                excerpt: excerpt(&message.text(), query.words()),
                message,
            })
        });
        Ok((found.collect::<Result<_>>()?, page.next))
    }
}
