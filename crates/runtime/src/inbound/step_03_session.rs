//! Step 3: which session a message belongs to, and which one it closes.

use ostler_domain::session::lifetime::{Resolution, resolve};
use ostler_domain::session::status::StatusChange;
use ostler_store::SessionState;

use super::case::Case;
use crate::talk::session::{Previous, Session};
use crate::talk::{Unreadable, read, write};

/// What the conversation has.
pub(super) struct Found {
    /// The session that goes on.
    pub(super) current: Option<Session>,
    /// The session that ends with this message.
    pub(super) closes: Option<Session>,
    /// What the new one goes on with.
    pub(super) previous: Option<Previous>,
}

/// Finds the session of a conversation, and whether it has lived long enough.
pub(super) fn find(case: &Case<'_>) -> Result<Found, Unreadable> {
    let Some(stored) = &case.beginning.session else {
        return Ok(Found { current: None, closes: None, previous: None });
    };
    let mut session: Session = read("session", &stored.data)?;
    let settings = &case.view.settings;
    let lifetime = settings.lifetime(&session.channel);
    match resolve(Some(session.current()), lifetime, settings.reopen, case.now) {
        Resolution::Reuse(_) => Ok(Found { current: Some(session), closes: None, previous: None }),
        Resolution::Open { close, previous } => {
            let closes = close.map(|(_, reason)| {
                if let Ok(status) = session.status.after(StatusChange::Close(reason)) {
                    session.status = status;
                }
                session.clone()
            });
            let (id, summary) = (session.id, session.summary);
            let previous = previous.map(|_| Previous { session: id, summary });
            Ok(Found { current: None, closes, previous })
        }
    }
}

/// A session in the form in which it is stored.
pub(crate) fn state(session: &Session) -> SessionState {
    SessionState {
        id: session.id,
        thread: session.thread,
        status: session.status_word().to_owned(),
        data: write(session),
    }
}
