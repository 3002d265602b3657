//! How often each model was asked. The counts belong to the installation, not to an org.

use std::collections::BTreeMap;

use ostler_domain::time::Timestamp;

use crate::Store;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;

/// The use of a model by all processes of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelUses {
    pub uses: u64,
    /// Accurate to the interval at which processes report.
    pub last_used_at: Timestamp,
}

const ADD: Sql = sql!(
    "INSERT INTO model_uses (model, uses, last_used_at) VALUES (?1, ?2, now_ms())
     ON CONFLICT (model) DO UPDATE SET uses = model_uses.uses + excluded.uses,
       last_used_at = excluded.last_used_at"
);
const LIST: Sql = sql!("SELECT model, uses, last_used_at FROM model_uses");

impl Store {
    /// Adds to the counts of models.
    pub fn add_model_uses(&self, uses: BTreeMap<String, u64>) -> StoreFuture<()> {
        self.write_all_orgs(move |tx| {
            for (model, uses) in &uses {
                let uses = Value::Int(i64::try_from(*uses).unwrap_or(i64::MAX));
                tx.execute(&ADD, &[model.as_str().into(), uses])?;
            }
            Ok(())
        })
    }

    /// Returns the counts of all models that were ever asked.
    pub fn model_uses(&self) -> StoreFuture<BTreeMap<String, ModelUses>> {
        self.read_all_orgs(|tx| {
            let rows = tx.query(&LIST, &[])?;
            let read = rows.iter().map(|row| {
                let uses = u64::try_from(row.int(1)?).unwrap_or(0);
                Ok((row.text(0)?.to_owned(), ModelUses { uses, last_used_at: row.time(2)? }))
            });
            read.collect()
        })
    }
}
