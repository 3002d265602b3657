//! `ostler webhook`: addresses of an org's own systems, to which its events are sent.

mod create;
mod delete;
mod deliveries;
mod edit;
mod ls;
mod redeliver;
mod rotate;
mod show;
mod test;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use ostler_api::webhook::Webhook;
use ostler_domain::event::OrgEventKind;
use ostler_domain::id::WebhookId;
use ostler_domain::webhook::WebhookStatus;

use super::args::{OrgArgs, match_id};
use crate::api_client::OrgApi;
use crate::screen::{BAD, Cell, DIM, GOOD, WARNING};

/// The most webhooks that are listed; an org has fewer.
const LIST_LIMIT: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// List the webhooks of an org
    #[command(after_help = "\
Examples:
  ostler webhook ls --org bella
  ostler webhook ls --org bella --json")]
    Ls(OrgArgs),
    /// Send events to an address, and print its signing key once
    #[command(after_help = "\
Examples:
  ostler webhook create https://crm.example/ostler --org bella
  ostler webhook create https://crm.example/ostler --org bella \\
      --events session_closed,escalation --description CRM")]
    Create(create::WebhookCreateArgs),
    /// Show a webhook: what it gets, and whether it arrives
    #[command(after_help = "\
Examples:
  ostler webhook show crm.example --org bella
  ostler webhook show whk_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --json")]
    Show(WebhookArgs),
    /// Change a webhook, or switch it on and off
    #[command(after_help = "\
Examples:
  ostler webhook edit crm.example --events message,run --org bella
  ostler webhook edit crm.example --disable --org bella
  ostler webhook edit crm.example --enable --skip-missed --org bella")]
    Edit(edit::WebhookEditArgs),
    /// Give a webhook a new signing key; the old one signs too for a day
    #[command(after_help = "\
Examples:
  ostler webhook rotate crm.example --org bella
  ostler webhook rotate crm.example --at-once --org bella")]
    Rotate(rotate::WebhookRotateArgs),
    /// Delete a webhook with the log of its deliveries
    #[command(after_help = "\
Examples:
  ostler webhook delete crm.example --org bella")]
    Delete(WebhookArgs),
    /// Send a test event and print how it arrived
    #[command(after_help = "\
Examples:
  ostler webhook test crm.example --org bella")]
    Test(WebhookArgs),
    /// List what was sent to a webhook, or show one delivery with its body
    #[command(after_help = "\
Examples:
  ostler webhook deliveries crm.example --org bella
  ostler webhook deliveries crm.example --state failed --org bella
  ostler webhook deliveries crm.example …7ybc --org bella")]
    Deliveries(deliveries::WebhookDeliveriesArgs),
    /// Send a delivery again, or all since a time, with the ids that they had
    #[command(after_help = "\
Examples:
  ostler webhook redeliver crm.example …7ybc --org bella
  ostler webhook redeliver crm.example --since 6h --failed --org bella
  ostler webhook redeliver crm.example --since 2026-11-18T09:00Z --org bella")]
    Redeliver(redeliver::WebhookRedeliverArgs),
}

/// The webhook that a command works on.
#[derive(Debug, Args)]
pub(crate) struct WebhookArgs {
    /// Webhook, by the host of its address, its id or the end of its id
    #[arg(value_name = "WEBHOOK")]
    webhook: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &WebhookCommand) -> anyhow::Result<()> {
    match command {
        WebhookCommand::Ls(args) => ls::run(args).await,
        WebhookCommand::Create(args) => create::run(args).await,
        WebhookCommand::Show(args) => show::run(args).await,
        WebhookCommand::Edit(args) => edit::run(args).await,
        WebhookCommand::Rotate(args) => rotate::run(args).await,
        WebhookCommand::Delete(args) => delete::run(args).await,
        WebhookCommand::Test(args) => test::run(args).await,
        WebhookCommand::Deliveries(args) => deliveries::run(args).await,
        WebhookCommand::Redeliver(args) => redeliver::run(args).await,
    }
}

/// Finds a webhook by the host of its address, its id or the end of its id.
async fn find(org: &OrgApi, name: &str) -> anyhow::Result<WebhookId> {
    let all: Vec<Webhook> = org.list(&["webhooks"], &[], LIST_LIMIT).await?;
    let mut named = all.iter().filter(|one| host(&one.url) == name || one.url == name);
    match (named.next(), named.next()) {
        (Some(one), None) => return Ok(one.id),
        (Some(one), Some(other)) => anyhow::bail!(
            "several webhooks go to {name}; name one by its id, such as {} or {}",
            one.id,
            other.id
        ),
        (None, _) => {}
    }
    let known: Vec<WebhookId> = all.iter().map(|one| one.id).collect();
    match_id(name, &known)?.with_context(|| {
        let (org_name, slug) = (&org.org.name, &org.org.slug);
        format!("{org_name} has no webhook `{name}`; see `ostler webhook ls --org {slug}`")
    })
}

/// Returns the host of a URL, with its port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest)
}

/// Parses a kind of event.
fn parse_event(name: &str) -> Result<OrgEventKind, String> {
    name.trim().parse().map_err(|_| {
        let names: Vec<&str> = OrgEventKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("there is no such event; events are: {}", names.join(", "))
    })
}

/// Returns the events of a webhook as text.
fn events_text(webhook: &Webhook) -> String {
    if webhook.events.is_empty() {
        return "all events".to_owned();
    }
    webhook.events.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
}

/// Returns the state of a webhook as text.
fn status_cell(webhook: &Webhook) -> Cell {
    match (webhook.status, webhook.failing_since) {
        (WebhookStatus::Enabled, None) => Cell::styled("on", GOOD),
        (WebhookStatus::Enabled, Some(_)) => Cell::styled("failing", WARNING),
        (WebhookStatus::Disabled, _) => Cell::styled("off", DIM),
        (WebhookStatus::SwitchedOff, _) => Cell::styled("switched off", BAD),
    }
}
