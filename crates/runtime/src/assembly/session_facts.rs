//! What assembly needs to know of a session.

use ostler_domain::channel::Channel;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::session::errors::ErrorState;
use ostler_domain::session::key::ConversationEntry;
use ostler_domain::team::TeamSession;
use ostler_domain::tool::Audience;

use crate::records::session::{Interview, Session};

/// The facts of a session that decide about scope, prompt and credits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionFacts<'a> {
    pub(crate) channel: &'a Channel,
    pub(crate) entry: ConversationEntry,
    /// For whom the agent answers.
    pub(crate) audience: Audience,
    pub(crate) errors: &'a ErrorState,
    pub(crate) budget: SessionBudget,
    pub(crate) team: Option<&'a TeamSession>,
    /// What a person resolved before the agent got the conversation back.
    pub(crate) resolution: Option<&'a str>,
    pub(crate) previous_summary: Option<&'a str>,
    pub(crate) interview: Option<&'a Interview>,
}

impl<'a> SessionFacts<'a> {
    /// Returns the facts of work that belongs to no conversation, such as a workflow step.
    pub(crate) const fn without_conversation(
        channel: &'a Channel,
        errors: &'a ErrorState,
        budget: SessionBudget,
    ) -> Self {
        Self {
            channel,
            entry: ConversationEntry::Owner,
            audience: Audience::Staff,
            errors,
            budget,
            team: None,
            resolution: None,
            previous_summary: None,
            interview: None,
        }
    }
}

impl<'a> From<&'a Session> for SessionFacts<'a> {
    fn from(session: &'a Session) -> Self {
        Self {
            channel: &session.channel,
            entry: session.entry,
            audience: session.audience(),
            errors: &session.errors,
            budget: session.budget,
            team: session.team.as_ref(),
            resolution: session.resolution.as_deref(),
            previous_summary: session.previous.as_ref().and_then(|one| one.summary.as_deref()),
            interview: session.interview.as_ref(),
        }
    }
}
