//! `ostler inbox`: the inbox of operators in the terminal, a client of the HTTP API.
//!
//! | module | holds |
//! |---|---|
//! | `client` | the client behind the inbox: requests, and the conversation that is shown |
//! | `lists` | the lists of conversations, one of each org |
//! | `queues` | the order of actions |
//! | `actions` | what people do with a conversation, as requests |
//! | `connection` | the event streams of the orgs, with their reconnection |

mod actions;
mod client;
mod connection;
mod lists;
mod queues;

use clap::Args;
use ostler_api::me::Me;
use ostler_domain::id::UserId;
use ostler_tui::inbox::protocol::InboxSetting;
use ostler_tui::{InboxChannels, InboxOptions};
use tokio::sync::mpsc;

use self::client::InboxClient;
use super::appearance::{AppearanceArgs, KEYS_FILE};
use super::args::InstallationArgs;
use super::permission::files::threads_file;
use super::session::view::format_time;
use crate::api_client::{ApiClient, OrgApi};
use crate::config::keys;

/// The most orgs that are watched at the same time: each has an event stream.
const MAX_ORGS: usize = 16;
/// How many updates wait for the screen.
const UPDATES: usize = 256;
/// The user under which the operator at the machine acts.
const TERMINAL_USER: UserId = UserId::from_u128(1);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler inbox --org bella
  ostler inbox --server https://ostler.example.com
  echo l | ostler inbox --org bella --linear

Without --org, all orgs that you may see are watched. Press ? for the keys;
docs/INBOX.md has everything.")]
pub(crate) struct InboxArgs {
    /// Org, by slug or id [default: all orgs]
    #[arg(
        long,
        value_name = "ORG",
        env = keys::ORG,
        default_value = "",
        hide_default_value = true
    )]
    org: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    appearance: AppearanceArgs,
}

pub(crate) async fn run(args: InboxArgs) -> anyhow::Result<()> {
    let api = ApiClient::open(&args.installation).await?;
    let orgs = find_orgs(&api, &args.org).await?;
    let title = match orgs.as_slice() {
        [only] => only.org.name.clone(),
        several => format!("{} organizations", several.len()),
    };
    let setting =
        InboxSetting { title, me: find_me(&api).await?, has_several_orgs: orgs.len() > 1 };
    // Keys and drafts are the person's, on whatever they work.
    let threads = threads_file(None, args.installation.home.as_deref())?;
    let folder = threads.parent();
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)?;
    }
    let drafts = folder.map(|folder| folder.join("drafts"));
    let options = InboxOptions {
        setting,
        is_linear: args.appearance.is_linear(),
        theme: args.appearance.theme(),
        keys: folder.map(|folder| folder.join(KEYS_FILE)),
        drafts: drafts.clone(),
        clock: format_time,
    };
    let (requests, received) = mpsc::unbounded_channel();
    let (updates, shown) = mpsc::channel(UPDATES);
    let client = tokio::spawn(InboxClient::new(orgs, updates, drafts).run(received));
    let result = ostler_tui::run_inbox(options, InboxChannels { requests, updates: shown }).await;
    // What was begun has its answer, unless the person did not want to wait for it.
    client.abort();
    Ok(result?)
}

/// Finds the org that is named, or all that are in use.
async fn find_orgs(api: &ApiClient, name: &str) -> anyhow::Result<Vec<OrgApi>> {
    if !name.is_empty() {
        return Ok(vec![api.find_org(name).await?]);
    }
    let mut orgs = api.orgs().await?;
    // Nobody writes to the platform where it has clients; alone, it is shown.
    if orgs.iter().any(|org| !org.platform && !org.archived) {
        orgs.retain(|org| !org.platform && !org.archived);
    }
    anyhow::ensure!(
        orgs.len() <= MAX_ORGS,
        "there are {} organizations, and the inbox watches at most {MAX_ORGS}; name one with --org",
        orgs.len()
    );
    Ok(orgs.into_iter().map(|org| api.org(org)).collect())
}

/// Returns the id under which the caller acts.
async fn find_me(api: &ApiClient) -> anyhow::Result<Option<UserId>> {
    if api.is_local() {
        return Ok(Some(TERMINAL_USER));
    }
    Ok(Some(match api.get::<Me>(&["me"], &[]).await? {
        Me::User(user) => user.user,
        Me::Key(key) => UserId::from_u128(key.key.as_u128()),
    }))
}
