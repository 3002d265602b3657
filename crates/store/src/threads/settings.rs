//! Settings that harnesses keep for a resource.

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};

const GET: Sql =
    sql!("SELECT value FROM harness_settings WHERE org = ?1 AND resource = ?2 AND name = ?3");
const SET: Sql = sql!(
    "INSERT INTO harness_settings (org, resource, name, value) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (org, resource, name) DO UPDATE SET value = excluded.value"
);
const ADD: Sql = sql!(
    "INSERT INTO harness_settings (org, resource, name, value) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (org, resource, name) DO NOTHING"
);
const REPLACE: Sql = sql!(
    "UPDATE harness_settings SET value = ?4
     WHERE org = ?1 AND resource = ?2 AND name = ?3 AND value = ?5"
);

impl OrgStore<'_> {
    /// Returns a setting, as JSON.
    pub fn harness_setting(&self, resource: &str, name: &str) -> StoreFuture<Option<String>> {
        self.optional(&GET, [resource.into(), name.into()], |row| Ok(row.text(0)?.to_owned()))
    }

    /// Stores a setting.
    pub fn set_harness_setting(
        &self,
        resource: &str,
        name: &str,
        value: String,
    ) -> StoreFuture<()> {
        let params = [self.org.into(), resource.into(), name.into(), value.into()];
        self.write(move |tx| tx.execute(&SET, &params).map(drop))
    }

    /// Stores a setting if it still has the value that the change was made for; `None` if
    /// there was none. Returns false if it has another one now.
    pub fn replace_harness_setting(
        &self,
        resource: &str,
        name: &str,
        known: Option<String>,
        value: String,
    ) -> StoreFuture<bool> {
        let mut params = vec![self.org.into(), resource.into(), name.into(), value.into()];
        let sql = if known.is_some() { &REPLACE } else { &ADD };
        params.extend(known.map(Into::into));
        self.write(move |tx| Ok(tx.execute(sql, &params)? == 1))
    }
}
