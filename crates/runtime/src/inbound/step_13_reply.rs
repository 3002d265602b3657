//! Step 13: through which binding a reply goes out, and to whom.

use ostler_channels::mail_thread::Thread;
use ostler_domain::channel::binding::{Binding, choose};
use ostler_domain::id::{BindingId, MessageId};
use ostler_domain::message::Part;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::session::key::Peer;
use ostler_store::Author;
use serde_json::json;

use super::case::Case;
use super::draft::Draft;
use super::run::Run;
use crate::org_view::OrgView;
use crate::talk::asked::Asked;
use crate::talk::entry::Wrote;
use crate::talk::message::{MessageAuthor, ThreadMessage};
use crate::talk::outgoing::{Button, Outgoing};
use crate::talk::session::Session;

/// The way that replies of a session take.
pub(crate) struct Way {
    /// The binding; nothing if none is left.
    binding: Option<BindingId>,
    to: Peer,
    answers: Option<String>,
    thread: Option<Thread>,
    /// Whoever asked on the bus.
    asked: Option<Box<Asked>>,
    /// The binding that the conversation is known by.
    own: BindingId,
    session: String,
    channel: String,
}

impl Way {
    /// The conversation's own binding while it is enabled, else the first of the
    /// same channel that is. Replies refer to what was written last, if it is
    /// known.
    pub(crate) fn of(view: &OrgView, session: &Session, wrote: Option<&Wrote>) -> Self {
        let bindings = || view.bindings.iter().map(|one| &one.binding);
        let own = bindings().find(|one| one.id == session.binding && one.enabled);
        let chosen: Option<&Binding> = own.or_else(|| choose(bindings(), &session.channel).ok());
        Self {
            binding: chosen.map(|one| one.id),
            to: session.peer.clone(),
            answers: wrote.and_then(|wrote| wrote.provider_id.clone()),
            thread: wrote.and_then(|wrote| wrote.thread.as_deref().cloned()),
            asked: session.asked.clone(),
            own: session.binding,
            session: session.id.to_string(),
            channel: session.channel.to_string(),
        }
    }

    /// Whether there is one.
    pub(crate) const fn is_open(&self) -> bool {
        self.binding.is_some() || self.asked.is_some()
    }

    /// Whether it leads to the bus.
    pub(crate) const fn is_on_the_bus(&self) -> bool {
        self.asked.is_some()
    }

    /// Has a message sent. Without a binding it is kept in the thread, and the
    /// owner hears of it; what nobody on the bus wants to hear is only kept.
    pub(crate) fn send(
        &self,
        draft: &mut Draft,
        author: Author,
        parts: Vec<Part>,
        message: Option<MessageId>,
    ) {
        let on_the_bus = self.asked.as_ref().map(|_| self.own);
        if self.asked.as_ref().is_some_and(|asked| asked.reply_to().is_none()) {
            return;
        }
        let Some(binding) = on_the_bus.or(self.binding) else {
            let data = json!({"session": self.session, "channel": self.channel});
            draft.notify(NoticeKind::NoBinding, Recipient::Owner, self.channel.clone(), data);
            return;
        };
        let (to, answers, thread) = (self.to.clone(), self.answers.clone(), self.thread.clone());
        let (buttons, plain, asked) = (Vec::new(), false, self.asked.clone());
        let outgoing =
            Outgoing { binding, to, parts, buttons, message, answers, thread, asked, plain };
        draft.send(author, &outgoing);
    }
}

/// Hands what the customer wrote to the person who answers: to the team's group
/// if the org has one and uses it, else to the owner's chat.
pub(super) fn forward(case: &Case<'_>, run: &mut Run) {
    let settings = &case.view.settings;
    let people = &settings.people;
    let enabled = settings.team.as_ref().is_some_and(|team| team.team_group_enabled);
    let group = people.team_group.as_ref().filter(|_| enabled);
    let group = group.map(|at| (at, Peer::Group(at.identifier.clone())));
    let owner = || people.owner.as_ref().map(|at| (at, Peer::Person(at.identifier.clone())));
    let Some((at, to)) = group.or_else(owner) else { return };
    let who = run.session.name.clone().unwrap_or_else(|| "The customer".to_owned());
    let customers = |one: &&ThreadMessage| matches!(one.author, MessageAuthor::Customer { .. });
    let written: Vec<&ThreadMessage> = run.draft.said.iter().filter(customers).collect();
    let words: Vec<_> = written.iter().map(|one| one.text()).collect();
    let mut parts = vec![Part::text(format!("{who}: {}", words.join("\n")))];
    let all = written.iter().flat_map(|one| &one.parts);
    parts.extend(all.filter(|part| part.attachment().is_some()).cloned());
    run.draft.send(
        Author::Notice,
        &Outgoing {
            binding: at.binding,
            to,
            parts,
            buttons: vec![Button {
                label: "Hand back".into(),
                data: format!("resume:{}", run.session.id),
            }],
            message: None,
            answers: None,
            thread: None,
            asked: None,
            plain: false,
        },
    );
}
