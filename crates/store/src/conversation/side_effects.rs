//! What a turn commits besides its conversation: an older session that it closes,
//! approvals, notices, counters, audit entries.

use ostler_domain::id::{NoticeId, OrgId, SessionId};
use ostler_domain::time::{Timestamp, Window};

use crate::agents::proposals::StoredProposal;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Statement, Tx};
use crate::contacts::shared_records::SharedRecordChange;
use crate::conversation::approvals::StoredApproval;
use crate::conversation::decisions;
use crate::conversation::turn::SessionState;
use crate::delivery::notices::{self, NewNotice};
use crate::error::Result;
use crate::ledger::rate;
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::refusals::{self, RefusedRequest};

/// The changes of a turn outside its own session and messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnSideEffects {
    /// An older session of the conversation that the turn closes.
    pub closed_session: Option<SessionState>,
    /// When the session is due next; None leaves it unchanged.
    pub session_due: Option<SessionDue>,
    /// Calls that wait for a person.
    pub approvals: Vec<StoredApproval>,
    /// Changes of souls that wait for a person.
    pub proposals: Vec<StoredProposal>,
    pub notices: Vec<NewNotice>,
    /// Notices that the agent has read in this turn.
    pub read_notices: Vec<NoticeId>,
    /// Counters to increment, without a limit.
    pub counts: Vec<CounterIncrement>,
    /// The audit entries of the turn's changes of records.
    pub audit: Vec<NewAuditEntry>,
    /// Calls that were refused.
    pub refusals: Vec<RefusedRequest>,
    /// Records that the org shares with another one.
    pub shared_records: Vec<SharedRecordChange>,
}

/// When a session has to be closed or somebody reminded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionDue {
    At(Timestamp),
    Never,
}

/// An increment of a rate counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterIncrement {
    pub counter: String,
    pub window: Window,
    pub amount: u64,
}

const CLOSE_SESSION: Sql =
    sql!("UPDATE sessions SET status = ?3, data = ?4, due_at = NULL WHERE org = ?1 AND id = ?2");
const SET_DUE: Sql = sql!("UPDATE sessions SET due_at = ?3 WHERE org = ?1 AND id = ?2");

impl TurnSideEffects {
    /// Returns the changes that are plain statements.
    pub(crate) fn statements(&self, org: OrgId, session: SessionId) -> Vec<Statement> {
        let statement = |sql, params| Statement { sql, params, on_no_rows: None };
        let closes = self.closed_session.iter().map(|old| {
            let (status, data) = (old.status.as_str().into(), old.data.as_str().into());
            statement(&CLOSE_SESSION, vec![org.into(), old.id.into(), status, data])
        });
        let due = self.session_due.iter().map(|due| {
            let at = match due {
                SessionDue::At(at) => at.as_millis().into(),
                SessionDue::Never => Value::Null,
            };
            statement(&SET_DUE, vec![org.into(), session.into(), at])
        });
        let counts = self.counts.iter().map(|count| {
            statement(&rate::ADD, rate::add(org, &count.counter, count.window, count.amount))
        });
        let read = self.read_notices.iter();
        let read = read.map(|id| statement(&notices::MARK_READ, vec![org.into(), (*id).into()]));
        closes.chain(due).chain(read).chain(counts).collect()
    }

    /// Returns whether there are changes that read before they write.
    pub(crate) fn needs_queries(&self) -> bool {
        !self.approvals.is_empty()
            || !self.proposals.is_empty()
            || !self.notices.is_empty()
            || !self.audit.is_empty()
            || !self.refusals.is_empty()
            || !self.shared_records.is_empty()
    }

    /// Makes the changes that read before they write.
    pub(crate) fn apply(&self, tx: &Tx, org: OrgId) -> Result<()> {
        for approval in &self.approvals {
            decisions::create(tx, org, approval.clone())?;
        }
        for proposal in &self.proposals {
            decisions::create(tx, org, proposal.clone())?;
        }
        for notice in &self.notices {
            notices::notify(tx, org, notice)?;
        }
        if !self.audit.is_empty() {
            let entries = self.audit.iter().map(|entry| audit::append(org, entry));
            tx.batch(&entries.collect::<Result<Vec<_>>>()?)?;
        }
        self.refusals.iter().try_for_each(|refused| refusals::append(tx, org, refused))
    }
}
