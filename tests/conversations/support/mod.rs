//! The kit of the scenarios: an org with agents in a store, a scripted model, customers,
//! and a process that answers them.
//!
//! | module | contents |
//! |---|---|
//! | `scenario` | an org and the worker that answers its customers |
//! | `inspect` | what a scenario has stored: sessions, runs, notices, costs |
//! | `models` | scripted models, and what they were asked |
//! | `tools` | tools that a test controls |
//! | `mcp_server` | an MCP server over HTTP |
//! | `connected_org` | an org on Telegram, SMS and e-mail, with delivery and webhooks |
//! | `host` | a machine with secrets and bots |
//! | `buses` | two connections to one bus |
//! | `campaign` | how much of a long campaign a test runs |

mod buses;
mod campaign;
mod connected_org;
mod host;
mod inspect;
mod mcp_server;
mod models;
mod scenario;
mod tools;

pub(crate) use buses::{Bus, BusPair, on_every_bus};
pub(crate) use campaign::{is_whole_campaign, sampled};
pub(crate) use connected_org::{
    BOT, ConnectedOrg, MAIL, SMS, delivery_options, sent_message, telegram_message,
};
pub(crate) use host::TestHost;
pub(crate) use inspect::{item_text, text_of};
pub(crate) use mcp_server::start_mcp_server;
pub(crate) use models::{
    ModelCalls, RecordingModel, catalogue, catalogue_of, recording_catalogue, scripted,
};
pub(crate) use scenario::{
    ECHO, EMAIL, ENZO, GIA, ORG, OWNER, Scenario, TELEGRAM, WEBCHAT, agent, lenient_settings, org,
    retry_at_once, scenario, scenario_in, scenario_with, secrets_folder,
};
pub(crate) use tools::{failing_tool, stub_tool, stub_tool_with};

/// Runs a test on an SQLite file and on PostgreSQL.
macro_rules! on_every_database {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                let database = ostler_testkit::TestDatabase::sqlite_file();
                super::$name(database.migrated().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                let database = ostler_testkit::TestDatabase::postgres().await;
                super::$name(database.migrated().await).await;
            }
        }
    };
}
pub(crate) use on_every_database;
