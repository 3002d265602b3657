//! `ostler link`: accounts on channels that belong to users.

use clap::{Args, Subcommand};
use ostler_api::account_link::{
    LinkCodeRequest, LinkedAccount, NewLinkCode, RevokeLinksRequest, UnlinkedAccount,
};
use ostler_api::page::Page;
use ostler_domain::org::account_link::{DEFAULT_LINK_MINUTES, MAX_LINK_MINUTES};
use serde_json::{Value, json};

use super::args::{InstallationArgs, OutputArgs};
use super::operator::print_result;
use super::rfc3339;
use super::session::view::format_time;
use crate::api_client::open_platform;
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Make a code that links a Telegram account to a user; it is shown only once
    ///
    /// The person sends the code to one of the installation's bots. From then on that account
    /// is the user: owners reach the PM of their org with it.
    #[command(after_help = "\
Examples:
  ostler link create ada@example.com
  ostler link create ada@example.com --minutes 120")]
    Create(LinkCreateArgs),
    /// List the linked accounts
    #[command(after_help = "\
Examples:
  ostler link ls
  ostler link ls --json")]
    Ls(LinkLsArgs),
    /// Unlink an account, or all accounts of a user
    #[command(after_help = "\
Examples:
  ostler link revoke 77123456
  ostler link revoke ada@example.com")]
    Revoke(LinkRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LinkCreateArgs {
    /// User, by e-mail address or id
    #[arg(value_name = "USER")]
    user: String,
    /// Minutes until the code expires
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LINK_MINUTES,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LINK_MINUTES)))]
    minutes: u32,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LinkLsArgs {
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LinkRevokeArgs {
    /// Account, by its identifier on the channel, or user, by e-mail address
    #[arg(value_name = "ACCOUNT")]
    account: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(command: &LinkCommand) -> anyhow::Result<()> {
    match command {
        LinkCommand::Create(args) => create(args).await,
        LinkCommand::Ls(args) => list(args).await,
        LinkCommand::Revoke(args) => revoke(args).await,
    }
}

async fn create(args: &LinkCreateArgs) -> anyhow::Result<()> {
    let platform = open_platform(&args.installation).await?;
    let request = LinkCodeRequest { user: args.user.clone(), minutes: args.minutes };
    let NewLinkCode { user, code, expires_at } = platform.post(&["link-codes"], &request).await?;
    if args.output.json {
        let json = json!({"user": user, "expires_at": rfc3339(expires_at), "code": code});
        return super::print_json(&json);
    }
    anstream::println!("{code}");
    anstream::eprintln!(
        "{DIM}Give this code to {user} yourself; it is not shown again. It works once, until {}. \
         In Telegram, send to the bot:\n  /link {code}{DIM:#}",
        format_time(expires_at)
    );
    Ok(())
}

async fn list(args: &LinkLsArgs) -> anyhow::Result<()> {
    let platform = open_platform(&args.installation).await?;
    let links: Vec<LinkedAccount> = platform.list(&["account-links"], &[], usize::MAX).await?;
    if args.output.json {
        return super::print_json(&links.iter().map(link_json).collect::<Vec<Value>>());
    }
    if links.is_empty() {
        anstream::println!("no account is linked; make a code with `ostler link create USER`");
        return Ok(());
    }
    let header = ["user", "channel", "account", "name", "since"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(links.iter().map(|link| {
        [
            link.user.as_str().into(),
            link.channel.name().into(),
            Cell::whole(link.account.clone()),
            link.name.clone().unwrap_or_default().into(),
            Cell::whole(format_time(link.linked_at)),
        ]
    }));
    print_rows(&rows);
    Ok(())
}

async fn revoke(args: &LinkRevokeArgs) -> anyhow::Result<()> {
    let platform = open_platform(&args.installation).await?;
    let request = RevokeLinksRequest { account: args.account.clone() };
    let revoked: Page<UnlinkedAccount> =
        platform.post(&["account-links", "revoke"], &request).await?;
    let accounts: Vec<String> =
        revoked.items.iter().map(|one| format!("{} {}", one.channel, one.account)).collect();
    let json = json!({"revoked": accounts});
    print_result(&args.output, &json, &format!("{} is not linked any more", accounts.join(", ")))
}

fn link_json(link: &LinkedAccount) -> Value {
    json!({"user": link.user, "user_id": link.user_id, "channel": link.channel,
        "account": link.account, "name": link.name, "linked_at": rfc3339(link.linked_at)})
}
