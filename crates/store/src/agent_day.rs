//! An agent's day, in one look: what it has done, and what it has not been told.

use ostler_domain::id::{AgentId, NoticeId, OrgId};
use ostler_domain::notice::Recipient;
use ostler_domain::time::Window;

use crate::OrgStore;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::notices::{self, StoredNotice};
use crate::rate::{self, Used};

/// An agent's day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDay {
    /// What was counted today under each of the names that were asked for.
    pub counted: [Used; 2],
    /// What the agent has not been told, oldest first.
    pub notices: Vec<StoredNotice>,
}

impl OrgStore<'_> {
    /// What was counted today under two names, and the first notices that an
    /// agent has not read.
    pub async fn agent_day(
        &self,
        agent: AgentId,
        counters: [&str; 2],
        most: u32,
    ) -> Result<AgentDay> {
        let counters = counters.map(str::to_owned);
        self.store.read(Day { org: self.org, agent, counters, most }).await
    }
}

struct Day {
    org: OrgId,
    agent: AgentId,
    counters: [String; 2],
    most: u32,
}

impl Operation for Day {
    type Output = AgentDay;
    const EACH_TURN: bool = true;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<AgentDay> {
        let recipient = Value::json(&Recipient::Agent(self.agent))?;
        let unread = [self.org.into(), recipient, NoticeId::from_u128(0).into(), self.most.into()];
        let [first, second] =
            self.counters.each_ref().map(|what| rate::key(self.org, what, Window::Day));
        let queries: [(&'static Sql, &[Value]); 3] =
            [(&rate::CURRENT, &first), (&rate::CURRENT, &second), (&notices::UNREAD, &unread)];
        let answers = tx.query_in_order(&queries).await?;
        let [first, second, unread] = &answers[..] else { return Err(no_clock()) };
        let used = |rows: &[_]| rate::used(rows.first().ok_or_else(no_clock)?);
        Ok(AgentDay {
            counted: [used(first)?, used(second)?],
            notices: unread.iter().map(notices::notice).collect::<Result<_>>()?,
        })
    }
}

fn no_clock() -> StoreError {
    StoreError::Backend("the database has no clock".into())
}
