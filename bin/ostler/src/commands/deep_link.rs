//! `ostler deep-link`: links that open a conversation with an org.

use clap::{Args, Subcommand};
use ostler_api::deep_link::{DeepLink, NewDeepLink, NewDeepLinkRequest};
use ostler_domain::hierarchy::deep_link::{DEFAULT_LINK_DAYS, MAX_LINK_DAYS};
use ostler_domain::id::RecordId;
use ostler_runtime::deps::Clock;
use serde_json::{Value, json};

use super::args::{OrgArgs, match_id};
use super::operator::print_result;
use super::rfc3339;
use super::session::view::format_time;
use crate::api_client::{Nothing, not_here, open_org};
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
    let org = open_org(&args.target).await?;
    let request = NewDeepLinkRequest { agent: args.agent.clone(), days: args.days };
    let link: NewDeepLink = org.post(&["deep-links"], &request).await?;
    if args.target.output.json {
        let json = json!({"id": link.id, "url": link.url, "start": link.start,
            "expires_at": rfc3339(link.expires_at)});
        return super::print_json(&json);
    }
    let until = format_time(link.expires_at);
    match &link.url {
        Some(url) => anstream::println!("{url}"),
        None => anstream::println!("/start {}", link.start),
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
    let org = open_org(args).await?;
    let links: Vec<DeepLink> = org.list(&["deep-links"], &[], usize::MAX).await?;
    if args.output.json {
        let all: Vec<Value> = links
            .iter()
            .map(|one| {
                json!({"id": one.id, "agent": one.agent,
                    "created_at": rfc3339(one.created_at),
                    "expires_at": rfc3339(one.expires_at),
                    "revoked_at": one.revoked_at.map(rfc3339)})
            })
            .collect();
        return super::print_json(&all);
    }
    if links.is_empty() {
        let name = &org.org.name;
        anstream::println!("{name} has no deep links; see `ostler deep-link create --help`");
        return Ok(());
    }
    let mut rows =
        vec![["link", "created", "agent", "state"].map(|text| Cell::styled(text, HEADER))];
    let (now, names) = (Clock::system().now(), org.agent_names().await?);
    for one in &links {
        let agent = one.agent.map_or_else(|| "PM".to_owned(), |agent| names.get(agent));
        let state = match one.revoked_at {
            Some(at) => format!("revoked {}", format_time(at)),
            None if one.expires_at <= now => format!("expired {}", format_time(one.expires_at)),
            None => format!("valid until {}", format_time(one.expires_at)),
        };
        let created = Cell::whole(format_time(one.created_at));
        rows.push([Cell::id(&one.id), created, agent.into(), state.into()]);
    }
    print_rows(&rows);
    Ok(())
}

async fn revoke(args: &DeepLinkRevokeArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let links: Vec<DeepLink> = org.list(&["deep-links"], &[], usize::MAX).await?;
    let known: Vec<RecordId> = links.iter().map(|one| one.id).collect();
    let id = match_id(&args.link, &known)?.ok_or_else(|| {
        let name = &org.org.name;
        not_here(format!("{name} has no deep link `{}`; see `ostler deep-link ls`", args.link))
    })?;
    let _: Nothing = org.post(&["deep-links", &id.to_string(), "revoke"], &()).await?;
    let json = json!({"id": id, "done": "revoked"});
    print_result(&args.target.output, &json, &format!("{id} is revoked"))
}
