//! What people do with sessions besides answering: looking after them, noting something for
//! each other, and keeping track of what they have read.

use ostler_domain::channel::Channel;
use ostler_domain::event::{NoteChanged, OrgEvent, SessionAssigned};
use ostler_domain::human::escalation::{EscalationStatus, Urgency};
use ostler_domain::id::{NoteId, NoticeId, SessionId, UserId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::session::canned_reply;
use ostler_domain::session::status::SessionStatus;
use ostler_store::{
    Assignment, NewEvent, NewNotice, OrgStore, SessionFilter, SessionNote, SessionWork,
    StoredSession,
};
use serde_json::json;

use super::sessions::decode_each;
use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;
use crate::records::decode;
use crate::records::message::ThreadMessage;
use crate::records::session::Session;

/// The most bytes of a note.
const MAX_NOTE_BYTES: usize = 10_000;
/// How many notes of a session are returned.
const MAX_NOTES: u32 = 200;
/// How many sessions are read at once.
const PAGE: u32 = 200;
/// The most sessions that a listing looks at.
const MAX_SEEN: u32 = 2_000;

/// Who has a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionHolder {
    Agent,
    /// Nobody yet: a person was asked for.
    Waiting,
    Person,
    /// It is closed.
    Nobody,
}

impl SessionHolder {
    /// Returns who has this session.
    pub fn of(session: &Session) -> Self {
        match session.status {
            SessionStatus::Active => Self::Agent,
            SessionStatus::Closed(_) => Self::Nobody,
            SessionStatus::HandedOff => match session.open_escalation() {
                Some(open) if open.state.status == EscalationStatus::Pending => Self::Waiting,
                _ => Self::Person,
            },
        }
    }
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Only those in which a person answers or is asked to.
    pub handed_off: bool,
    /// Only open ones that the actor looks after.
    pub assigned_to_me: bool,
    /// Only open ones with messages that the actor has not read.
    pub unread: bool,
    pub channel: Option<Channel>,
    /// Only those with an open escalation of this urgency.
    pub urgency: Option<Urgency>,
    pub holder: Option<SessionHolder>,
}

impl SessionQuery {
    /// Returns whether a session is one of those asked for, as far as it does not depend on
    /// who asks.
    fn matches(&self, session: &Session) -> bool {
        let urgency = || session.open_escalation().map(|open| open.state.request.urgency);
        self.channel.as_ref().is_none_or(|channel| *channel == session.channel)
            && self.urgency.is_none_or(|wanted| urgency() == Some(wanted))
            && self.holder.is_none_or(|wanted| SessionHolder::of(session) == wanted)
    }

    fn filter(&self, reader: UserId) -> SessionFilter {
        match (self.assigned_to_me, self.handed_off) {
            (true, _) => SessionFilter::AssignedTo(reader),
            (false, true) => SessionFilter::HandedOff,
            (false, false) => SessionFilter::All,
        }
    }
}

/// A session as a person finds it in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    pub session: Session,
    pub assignment: Option<Assignment>,
    pub notes: u32,
    /// How many messages the person has not read; 0 if the session is closed.
    pub unread: u32,
    /// The last message of the session.
    pub last_message: Option<ThreadMessage>,
}

/// What people do with a session besides answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWorkDetail {
    pub listed: ListedSession,
    /// The newest notes, oldest first.
    pub notes: Vec<SessionNote>,
    /// The names and texts of the org's canned replies, with the name of the customer.
    pub canned_replies: Vec<(String, String)>,
}

impl OrgOperations<'_> {
    /// Returns a page of sessions, newest first, and where the next page starts, if there may
    /// be more. A page may be short or empty although there are more, because only some of
    /// the sessions are looked at.
    pub async fn list_sessions(
        &self,
        query: &SessionQuery,
        mut before: Option<SessionId>,
        limit: u32,
    ) -> Result<(Vec<ListedSession>, Option<SessionId>)> {
        let store = self.authorize(OrgPermission::View).await?;
        let (reader, mut found, mut seen) = (self.actor.user_id(), Vec::new(), 0);
        // Nearly all sessions of an unfiltered listing are in it.
        let size = if *query == SessionQuery::default() { limit } else { PAGE.max(limit) };
        loop {
            let page = store.sessions(query.filter(reader), before, size).await?;
            for one in listed(store, &page, reader).await? {
                let id = one.session.id;
                if query.matches(&one.session) && (one.unread > 0 || !query.unread) {
                    found.push(one);
                    if found.len() >= limit as usize {
                        return Ok((found, Some(id)));
                    }
                }
            }
            seen += size;
            before = page.last().map(|one| one.id);
            if page.len() < size as usize {
                return Ok((found, None));
            }
            if seen >= MAX_SEEN {
                return Ok((found, before));
            }
        }
    }

    /// Returns who looks after a session, its notes, and the replies that people send often.
    pub async fn session_work(&self, id: SessionId) -> Result<SessionWorkDetail> {
        let store = self.authorize(OrgPermission::View).await?;
        let stored = store.session(id).await?;
        let listed = listed(store, &[stored], self.actor.user_id()).await?.pop();
        let listed = listed.ok_or(ostler_store::StoreError::NotFound("session"))?;
        let mut notes = store.session_notes(id, MAX_NOTES).await?;
        notes.reverse();
        let view = self.view().await?;
        let name = listed.session.name.as_deref();
        let replies = view.settings.canned_replies.iter();
        let canned_replies =
            replies.map(|(title, text)| (title.clone(), canned_reply::fill(text, name)));
        Ok(SessionWorkDetail { notes, canned_replies: canned_replies.collect(), listed })
    }

    /// Assigns a session to a person who works in the inbox, named by e-mail address, id or
    /// name, or to the actor (`me`). The person gets a notice. The agent goes on answering.
    pub async fn assign_person(&self, id: SessionId, person: &str) -> Result<UserId> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let session: Session = decode("session", &store.session(id).await?.data)?;
        let (by, user) = (self.actor.user_id(), self.find_assignee(person).await?);
        let notice = (user != by).then(|| NewNotice {
            id: fresh(NoticeId::from_u128),
            kind: NoticeKind::SessionAssigned,
            recipient: NoticeRecipient::User(user),
            subject: id.to_string(),
            data: json!({"session": id, "name": session.name, "by": by}).to_string(),
        });
        let audit = self.audit_entry("assign_session", &id, &json!({"user": user}));
        let event = assigned(id, Some(user));
        store.audited(audit).assign_session(id, Some((user, notice)), by, event).await?;
        Ok(user)
    }

    /// Leaves a session to nobody in particular.
    pub async fn unassign_person(&self, id: SessionId) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        store.session(id).await?;
        let audit = self.audit_entry("unassign_session", &id, &json!({}));
        let event = assigned(id, None);
        Ok(store.audited(audit).assign_session(id, None, self.actor.user_id(), event).await?)
    }

    /// Adds a note about a session, which neither the customer nor an agent reads.
    pub async fn add_note(&self, id: SessionId, text: &str) -> Result<NoteId> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let text = text.trim();
        if text.is_empty() {
            return Err(OperationError::Empty("a note"));
        }
        if text.len() > MAX_NOTE_BYTES {
            return Err(OperationError::TooLong { what: "a note", max_bytes: MAX_NOTE_BYTES });
        }
        let note = fresh(NoteId::from_u128);
        let audit = self.audit_entry("add_note", &id, &json!({"note": note}));
        let event = OrgEvent::NoteAdded(NoteChanged { session: id, note });
        let event = NewEvent::new(&event);
        let (author, text) = (self.actor.user_id(), text.to_owned());
        store.audited(audit).add_session_note(id, note, author, text, event).await?;
        Ok(note)
    }

    /// Deletes a note that the actor has written.
    pub async fn delete_note(&self, id: SessionId, note: NoteId) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let audit = self.audit_entry("delete_note", &id, &json!({"note": note}));
        let event = OrgEvent::NoteDeleted(NoteChanged { session: id, note });
        let event = NewEvent::new(&event);
        let author = self.actor.user_id();
        Ok(store.audited(audit).delete_session_note(id, note, author, event).await?)
    }

    /// Remembers that the actor has read a session up to a message, or to its last one. This
    /// leaves no audit entry.
    pub async fn mark_read(&self, id: SessionId, up_to: Option<i64>) -> Result<()> {
        let store = self.authorize(OrgPermission::View).await?;
        store.session(id).await?;
        Ok(store.mark_session_read(id, self.actor.user_id(), up_to).await?)
    }
}

fn assigned(session: SessionId, user: Option<UserId>) -> NewEvent {
    NewEvent::new(&OrgEvent::SessionAssigned(SessionAssigned { session, user }))
}

async fn listed(
    store: OrgStore<'_>,
    page: &[StoredSession],
    reader: UserId,
) -> Result<Vec<ListedSession>> {
    let keys = page.iter().map(|one| (one.id, one.thread)).collect();
    let work = store.session_work(keys, reader).await?;
    let mut sessions: Vec<Session> =
        decode_each("session", page.iter().map(|one| one.data.as_str()))?;
    for session in &mut sessions {
        session.refresh_counts(store).await?;
    }
    let each = sessions.into_iter().zip(work).map(|(session, work)| {
        // A thread may have messages of earlier sessions.
        let last = work.last_message.as_deref().filter(|_| session.messages > 0);
        Ok(ListedSession {
            unread: unread(&session, &work),
            last_message: last.map(|data| decode("message", data)).transpose()?,
            assignment: work.assignment,
            notes: work.notes,
            session,
        })
    });
    each.collect()
}

/// Returns how many messages of an open session were not read.
fn unread(session: &Session, work: &SessionWork) -> u32 {
    if matches!(session.status, SessionStatus::Closed(_)) {
        return 0;
    }
    let unread = u32::try_from(work.last_seq - work.read_seq).unwrap_or(0);
    // A thread may have messages of earlier sessions.
    unread.min(session.messages)
}
