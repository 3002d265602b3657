//! What an org spent, summed by the database.

use ostler_domain::id::AgentId;
use ostler_domain::money::Credits;
use ostler_domain::money::spend::SpendLine;
use ostler_domain::time::{Timestamp, UtcDay};

use crate::OrgStore;
use crate::backend::sql::Sql;
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// Steps from one agent to the next through the index, however many lines there are.
const AGENTS: Sql = Sql {
    sqlite: "WITH RECURSIVE spenders (agent) AS (
         SELECT (SELECT agent FROM ledger_lines WHERE org = ?1 AND agent IS NOT NULL
                 ORDER BY agent LIMIT 1)
         UNION ALL
         SELECT (SELECT l.agent FROM ledger_lines l WHERE l.org = ?1 AND l.agent > s.agent
                 ORDER BY l.agent LIMIT 1)
         FROM spenders s WHERE s.agent IS NOT NULL)
       SELECT agent FROM spenders WHERE agent IS NOT NULL",
    postgres: "WITH RECURSIVE spenders (agent) AS (
         (SELECT agent FROM ledger_lines WHERE org = $1 AND agent IS NOT NULL
          ORDER BY agent LIMIT 1)
         UNION ALL
         SELECT (SELECT l.agent FROM ledger_lines l WHERE l.org = $1 AND l.agent > s.agent
                 ORDER BY l.agent LIMIT 1)
         FROM spenders s WHERE s.agent IS NOT NULL)
       SELECT agent FROM spenders WHERE agent IS NOT NULL",
};
const SPENT: Sql = Sql {
    sqlite: "SELECT agent, at / 86400000, json_extract(data, '$.expense'),
         json_extract(data, '$.bearer'), sum(amount)
       FROM ledger_lines INDEXED BY ledger_lines_by_agent
       WHERE org = ?1 AND agent = ?2 AND at >= ?3 AND kind <> 'grant'
       GROUP BY 1, 2, 3, 4",
    postgres: "SELECT agent, at / 86400000, data::json ->> 'expense', data::json ->> 'bearer',
         sum(amount)::bigint
       FROM ledger_lines
       WHERE org = $1 AND agent = $2 AND at >= $3 AND kind <> 'grant'
       GROUP BY 1, 2, 3, 4",
};

impl OrgStore<'_> {
    /// Returns what each agent spent on each thing on each day since a moment, with all
    /// settlements applied.
    pub async fn spend_since(&self, since: Timestamp) -> Result<Vec<SpendLine>> {
        self.apply_settlements().await?;
        let org = self.id();
        self.read(move |tx| {
            let agents = tx.query(&AGENTS, &[org.into()])?;
            let key = |row: &Row| Ok(vec![org.into(), row.id::<AgentId>(0)?.into(), since.into()]);
            let keys: Vec<Vec<Value>> = agents.iter().map(key).collect::<Result<_>>()?;
            let found = tx.query_each(&SPENT, &keys)?;
            found.iter().flatten().map(read_line).collect()
        })
        .await
    }
}

fn read_line(row: &Row) -> Result<SpendLine> {
    Ok(SpendLine {
        agent: row.id(0)?,
        day: UtcDay::from_number(row.int(1)?),
        expense: parse(row.text(2)?)?,
        bearer: parse(row.text(3)?)?,
        amount: Credits::new(u64::try_from(row.int(4)?).unwrap_or_default()),
    })
}

/// Parses a variant: the bare name of one without a value, or JSON.
fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    let value = match text.starts_with('{') {
        true => serde_json::from_str(text),
        false => Ok(serde_json::Value::from(text)),
    };
    value
        .and_then(serde_json::from_value)
        .map_err(|error| StoreError::CorruptValue { what: "ledger line", why: error.to_string() })
}
