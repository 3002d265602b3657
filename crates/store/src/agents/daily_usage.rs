//! Today's counters and the unread notices of an agent, in one round trip.

use ostler_domain::id::{AgentId, NoticeId, OrgId};
use ostler_domain::notice::NoticeRecipient;
use ostler_domain::time::Window;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::delivery::notices::{self, StoredNotice};
use crate::error::{Result, StoreError};
use crate::ledger::rate::{self, CounterUsage};

/// Today's counters and the unread notices of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDailyUsage {
    /// One per requested counter name.
    pub counters: [CounterUsage; 3],
    /// Unread notices, oldest first.
    pub notices: Vec<StoredNotice>,
}

impl OrgStore<'_> {
    /// Returns today's usage of three counters and the first unread notices of an
    /// agent.
    pub fn agent_daily_usage(
        &self,
        agent: AgentId,
        counters: [&str; 3],
        limit: u32,
    ) -> StoreFuture<AgentDailyUsage> {
        let (org, counters) = (self.org, counters.map(str::to_owned));
        self.read_hot(move |tx| read_daily_usage(tx, org, agent, &counters, limit))
    }
}

fn read_daily_usage(
    tx: &Tx,
    org: OrgId,
    agent: AgentId,
    counters: &[String; 3],
    limit: u32,
) -> Result<AgentDailyUsage> {
    let recipient = Value::json(&NoticeRecipient::Agent(agent))?;
    let unread = [org.into(), recipient, NoticeId::from_u128(0).into(), limit.into()];
    let [first, second, third] = counters.each_ref().map(|what| rate::key(org, what, Window::Day));
    let queries: [(&'static Sql, &[Value]); 4] = [
        (&rate::CURRENT, &first),
        (&rate::CURRENT, &second),
        (&rate::CURRENT, &third),
        (&notices::UNREAD, &unread),
    ];
    let answers = tx.query_in_order(&queries)?;
    let [first, second, third, unread] = &answers[..] else { return Err(no_clock()) };
    let used = |rows: &[_]| rate::read_usage(rows.first().ok_or_else(no_clock)?);
    Ok(AgentDailyUsage {
        counters: [used(first)?, used(second)?, used(third)?],
        notices: unread.iter().map(notices::notice).collect::<Result<_>>()?,
    })
}

fn no_clock() -> StoreError {
    StoreError::Backend("the database has no clock".into())
}
