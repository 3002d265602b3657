//! `ostler deep-link`: links that open a conversation with an org.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use ostler_domain::hierarchy::deep_link::{DEFAULT_LINK_DAYS, MAX_LINK_DAYS};
use ostler_domain::id::RecordId;
use ostler_runtime::deps::Clock;
use serde_json::{Value, json};

use super::args::{OrgArgs, match_id};
use super::operator::{open_org, print_result};
use super::rfc3339;
use super::session::view::format_time;
use crate::screen::{Cell, DIM, HEADER, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum DeepLinkCommand {
    /// Create a link to an org; it is shown only once
    ///
    /// Customers who open it reach customer service. The owner of the agency tests the agent
    /// with it, until `/exit`.
    #[command(after_help = "\
Examples:
  ostler deep-link create --org bella
  ostler deep-link create --org bella --agent customer_service --days 7")]
    Create(DeepLinkCreateArgs),
    /// List the links of an org, newest first
    #[command(after_help = "\
Examples:
  ostler deep-link ls --org bella")]
    Ls(OrgArgs),
    /// Revoke a link; those who entered by it leave with their next message
    #[command(after_help = "\
Examples:
  ostler deep-link revoke …7ybc --org bella")]
    Revoke(DeepLinkRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DeepLinkCreateArgs {
    /// Agent that the agency's owner tests, by slug, id or subtype [default: the PM]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Days until the link expires
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LINK_DAYS,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LINK_DAYS)))]
    days: u32,
    #[command(flatten)]
    target: OrgArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeepLinkRevokeArgs {
    /// Link, by id or its end
    #[arg(value_name = "LINK")]
    link: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &DeepLinkCommand) -> anyhow::Result<()> {
    match command {
        DeepLinkCommand::Create(args) => create(args).await,
        DeepLinkCommand::Ls(args) => list(args).await,
        DeepLinkCommand::Revoke(args) => revoke(args).await,
    }
}

async fn create(args: &DeepLinkCreateArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let link = operator.org(&org).create_deep_link(args.agent.as_deref(), args.days).await?;
    if args.target.output.json {
        let json = json!({"id": link.id, "url": link.url, "start": link.payload,
            "expires_at": rfc3339(link.expires_at)});
        return super::print_json(&json);
    }
    let until = format_time(link.expires_at);
    match &link.url {
        Some(url) => anstream::println!("{url}"),
        None => anstream::println!("/start {}", link.payload),
    }
    anstream::eprintln!(
        "{DIM}Copy it now; it is not shown again. It is valid until {until}.{DIM:#}"
    );
    if link.url.is_none() {
        anstream::eprintln!(
            "{DIM}Send it to the bot. For an address, set `username` in the settings of the \
             Telegram channel.{DIM:#}"
        );
    }
    Ok(())
}

async fn list(args: &OrgArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(args).await?;
    let links = operator.org(&org).deep_links().await?;
    if args.output.json {
        let all: Vec<Value> = links
            .iter()
            .map(|one| {
                json!({"id": one.id, "agent": one.link.agent,
                    "created_at": rfc3339(one.created_at),
                    "expires_at": rfc3339(one.link.expires_at),
                    "revoked_at": one.link.revoked_at.map(rfc3339)})
            })
            .collect();
        return super::print_json(&all);
    }
    if links.is_empty() {
        anstream::println!("{} has no deep links; see `ostler deep-link create --help`", org.name);
        return Ok(());
    }
    let mut rows =
        vec![["link", "created", "agent", "state"].map(|text| Cell::styled(text, HEADER))];
    let now = Clock::system().now();
    for one in &links {
        let agent = match one.link.agent {
            Some(agent) => operator.store.org(org.id).agent(agent).await?.slug,
            None => "pm".to_owned(),
        };
        let state = match one.link.revoked_at {
            Some(at) => format!("revoked {}", format_time(at)),
            None if one.link.expires_at <= now => {
                format!("expired {}", format_time(one.link.expires_at))
            }
            None => format!("valid until {}", format_time(one.link.expires_at)),
        };
        let created = Cell::whole(format_time(one.created_at));
        rows.push([Cell::id(&one.id), created, agent.into(), state.into()]);
    }
    print_rows(&rows);
    Ok(())
}

async fn revoke(args: &DeepLinkRevokeArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let links = operator.org(&org).deep_links().await?;
    let known: Vec<RecordId> = links.iter().map(|one| one.id).collect();
    let id = match_id(&args.link, &known)?.with_context(|| {
        format!("{} has no deep link `{}`; see `ostler deep-link ls`", org.name, args.link)
    })?;
    operator.org(&org).revoke_deep_link(id).await?;
    let json = json!({"id": id, "done": "revoked"});
    print_result(&args.target.output, &json, &format!("{id} is revoked"))
}
