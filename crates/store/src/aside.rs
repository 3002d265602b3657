//! What a turn changes beside the conversation itself: an older session that it
//! closes, calls that people are to decide on, notices, counters.

use ostler_domain::id::{NoticeId, OrgId, SessionId};
use ostler_domain::time::{Timestamp, Window};

use crate::approvals::StoredApproval;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Statement, Tx};
use crate::error::Result;
use crate::notices::{self, NewNotice, Notify};
use crate::turn::SessionState;
use crate::{decisions, rate};

/// What a turn changes beside the conversation itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Aside {
    /// An older session of the conversation, which is closed by this.
    pub closes: Option<SessionState>,
    /// When the session is to be looked at again; nothing leaves that as it is.
    pub due: Option<Due>,
    /// Calls that people are to decide on.
    pub approvals: Vec<StoredApproval>,
    /// What people and agents are told.
    pub notices: Vec<NewNotice>,
    /// What an agent was told in this turn: it is not told again.
    pub read: Vec<NoticeId>,
    /// What is counted, whatever the count is.
    pub counts: Vec<Count>,
}

/// When a session is to be looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// At this time.
    At(Timestamp),
    /// Not any more.
    Never,
}

/// Something to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// What.
    pub what: String,
    /// In which windows of time.
    pub window: Window,
    /// How much.
    pub amount: u64,
}

const CLOSE: Sql =
    sql!("UPDATE sessions SET status = ?3, data = ?4, due_at = NULL WHERE org = ?1 AND id = ?2");
const DUE: Sql = sql!("UPDATE sessions SET due_at = ?3 WHERE org = ?1 AND id = ?2");

impl Aside {
    /// What goes with the other statements of the turn.
    pub(crate) fn statements(&self, org: OrgId, session: SessionId) -> Vec<Statement> {
        let statement = |sql, params| Statement { sql, params, must: None };
        let closes = self.closes.iter().map(|old| {
            let (status, data) = (old.status.as_str().into(), old.data.as_str().into());
            statement(&CLOSE, vec![org.into(), old.id.into(), status, data])
        });
        let due = self.due.iter().map(|due| {
            let at = match due {
                Due::At(at) => at.as_millis().into(),
                Due::Never => Value::Null,
            };
            statement(&DUE, vec![org.into(), session.into(), at])
        });
        let counts = self.counts.iter().map(|count| {
            statement(&rate::ADD, rate::add(org, &count.what, count.window, count.amount))
        });
        let read = self.read.iter();
        let read = read.map(|id| statement(&notices::READ, vec![org.into(), (*id).into()]));
        closes.chain(due).chain(read).chain(counts).collect()
    }

    /// Whether there is more, which asks before it writes.
    pub(crate) fn asks(&self) -> bool {
        !self.approvals.is_empty() || !self.notices.is_empty()
    }

    /// What asks before it writes.
    pub(crate) async fn make<T: Tx>(&self, tx: &T, org: OrgId) -> Result<()> {
        for approval in &self.approvals {
            decisions::Create(org, approval.clone()).run(tx).await?;
        }
        for notice in &self.notices {
            Notify(org, notice.clone()).run(tx).await?;
        }
        Ok(())
    }
}
