//! Maintenance: the schema, backups, health checks, retention and idempotency records.
//!
//! | file | holds |
//! |---|---|
//! | `backup`      | copies of all tables in a file, and restoring them |
//! | `health`      | the state of a database and its assessment |
//! | `idempotency` | deletion of old idempotency records |
//! | `model_uses`  | how often each model was asked |
//! | `schema`      | the schema, its version and its migrations |
//! | `retention`   | pruning of data older than the org's retention period |

pub(crate) mod backup;
pub(crate) mod health;
pub(crate) mod idempotency;
pub(crate) mod model_uses;
pub(crate) mod retention;
pub(crate) mod schema;
