//! Searches every column of every table for a word, bypassing the store.

use std::collections::BTreeSet;

use tokio_postgres::Client;

use crate::TestDatabase;
use crate::database::open;

impl TestDatabase {
    /// Returns the columns of all tables that contain a word, ignoring case.
    pub async fn columns_with(&self, word: &str) -> BTreeSet<String> {
        match self.path() {
            Some(path) => in_file(&open(path), word),
            None => on_server(&self.client().await, word).await,
        }
    }
}

fn in_file(file: &rusqlite::Connection, word: &str) -> BTreeSet<String> {
    let mut columns = file
        .prepare(
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
        )
        .unwrap();
    let columns: Vec<(String, String)> = columns
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(columns.len() > 100, "{columns:?}");
    let mut found = BTreeSet::new();
    for (table, column) in columns {
        let sql = format!(
            "SELECT count(*) FROM \"{table}\" WHERE instr(lower(CAST(\"{column}\" AS TEXT)), ?1)"
        );
        let count: i64 = file.query_row(&sql, [word.to_lowercase()], |row| row.get(0)).unwrap();
        if count > 0 {
            found.insert(format!("{table}.{column}"));
        }
    }
    found
}

async fn on_server(client: &Client, word: &str) -> BTreeSet<String> {
    let columns = client
        .query(
            "SELECT table_name::text, column_name::text, data_type::text
             FROM information_schema.columns WHERE table_schema = 'public'",
            &[],
        )
        .await
        .unwrap();
    assert!(columns.len() > 100, "{}", columns.len());
    let mut found = BTreeSet::new();
    for row in columns {
        let (table, column, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
        let text = if kind == "bytea" {
            format!("encode(\"{column}\", 'escape')")
        } else {
            format!("\"{column}\"::text")
        };
        let sql = format!("SELECT count(*) FROM \"{table}\" WHERE strpos(lower({text}), $1) > 0");
        let count: i64 = client.query_one(&sql, &[&word.to_lowercase()]).await.unwrap().get(0);
        if count > 0 {
            found.insert(format!("{table}.{column}"));
        }
    }
    found
}
