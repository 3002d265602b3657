//! Step 3: which session a message belongs to, and which one it closes.

use ostler_domain::session::lifetime::{ReopenPolicy, Resolution, resolve};
use ostler_store::SessionState;

use super::case::Case;
use crate::talk::session::Session;
use crate::talk::{Unreadable, read, write};

/// What the conversation has.
pub(super) struct Found {
    /// The session that goes on.
    pub(super) current: Option<Session>,
    /// The session before, if this message opens another.
    pub(super) old: Option<Old>,
}

/// A session that is over.
pub(super) struct Old {
    /// The session, closed.
    pub(super) session: Session,
    /// Whether it ends with this message.
    pub(super) ends_now: bool,
    /// Whether the new one goes on with it.
    pub(super) resumed: bool,
}

/// Finds the session of a conversation, and whether it has lived long enough.
pub(super) fn find(case: &Case<'_>) -> Result<Found, Unreadable> {
    let Some(stored) = &case.beginning.session else {
        return Ok(Found { current: None, old: None });
    };
    let mut session: Session = read("session", &stored.data)?;
    let settings = &case.view.settings;
    let lifetime = settings.lifetime(&session.channel);
    match resolve(Some(session.current()), lifetime, settings.reopen, case.now) {
        Resolution::Reuse(_) => Ok(Found { current: Some(session), old: None }),
        Resolution::Open { close, .. } => {
            let ends_now = close.is_some_and(|(_, reason)| session.close(reason));
            let resumed = settings.reopen == ReopenPolicy::Resume;
            Ok(Found { current: None, old: Some(Old { session, ends_now, resumed }) })
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
