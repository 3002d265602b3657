//! What an agent is told besides the conversation: notices, instructions, and what waits for its
//! decision.

use ostler_domain::id::{ConversationId, NoticeId};
use ostler_domain::notice::NoticeKind;
use ostler_store::StoredNotice;
use serde_json::Value;

/// What an agent is told besides the conversation.
#[derive(Debug, Default)]
pub(crate) struct AgentBriefing {
    pub(crate) notices: Vec<String>,
    pub(crate) instructions: Vec<String>,
    /// What waits for its decision; the words of others.
    pub(crate) waiting: Vec<String>,
    /// The notices that it has read when the turn is committed.
    pub(crate) read: Vec<NoticeId>,
}

impl AgentBriefing {
    /// Creates the briefing from the unread notices of the agent. A notice about another
    /// conversation waits for that one, and an instruction stays.
    pub(crate) fn new(unread: &[StoredNotice], here: ConversationId) -> Self {
        let mut briefing = Self::default();
        for stored in unread {
            let notice = &stored.notice;
            let data: Value = serde_json::from_str(&notice.data).unwrap_or_default();
            let field = |name: &str| data[name].as_str().map(str::to_owned);
            match notice.kind {
                NoticeKind::Instruction => briefing.instructions.extend(field("instruction")),
                NoticeKind::IssueSettled | NoticeKind::DelegationAnswered => {
                    let about = field("conversation");
                    if about.is_none_or(|about| about == here.to_string()) {
                        briefing.notices.extend(field("text"));
                        briefing.read.push(notice.id);
                    }
                }
                kind => {
                    let text = kind.agent_text().to_owned();
                    if briefing.notices.last() != Some(&text) {
                        briefing.notices.push(text);
                    }
                    briefing.read.push(notice.id);
                }
            }
        }
        briefing
    }
}
