//! `ostler budget`: what an org, its clients, its sessions and its agents may spend.

use clap::{Args, Subcommand};
use ostler_api::credit::CreditAccount;
use ostler_world::spec::{AgentDefinition, OrgDefinition};
use ostler_world::{Address, Kind, Resource};
use serde_json::json;

use super::args::OrgArgs;
use super::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor};
use crate::api_client::open_org;
use crate::screen::{Cell, DIM, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetCommand {
    /// Show what an organization, its clients, sessions, teams and agents may spend
    #[command(after_help = "\
Examples:
  ostler budget show --org nordlicht
  ostler budget show --org nordlicht --json")]
    Show(OrgArgs),
    /// Change budgets and caps of an organization
    #[command(after_help = "\
Examples:
  ostler budget set monthly=500 --org nordlicht
  ostler budget set daily=20 session=80 team=150 --org nordlicht
  ostler budget set per-child=200 all-children=800 --org harbour
  ostler budget set child.nordlicht=50 --org harbour

An empty value resets a budget to that of the plan. Limits of an agent are set with
`ostler agent set AGENT limits.max_messages_per_day=50`.")]
    Set(BudgetSetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BudgetSetArgs {
    /// Budgets in credits: monthly, daily, session, team, per-child, all-children,
    /// child.ORG
    #[arg(value_name = "KEY=VALUE", required = true)]
    fields: Vec<Assignment>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &BudgetCommand) -> anyhow::Result<()> {
    match command {
        BudgetCommand::Show(args) => show(args).await,
        BudgetCommand::Set(args) => set(args).await,
    }
}

async fn show(args: &OrgArgs) -> anyhow::Result<()> {
    let api = open_org(args).await?;
    let editor = ResourceEditor::open(&api.api).await?;
    let org = editor.org(&api)?;
    let spec: OrgDefinition = editor.get(&Address::of_org(&org.slug))?.spec()?;
    let left: CreditAccount = api.get(&["credits"]).await?;
    let agents = editor
        .resources()
        .iter()
        .filter(|(address, _)| address.kind == Kind::Agent && address.org == org.slug);
    let agents: Vec<AgentDefinition> =
        agents.filter_map(|(_, one)| Resource::spec(one).ok()).collect();
    let period = org.period_credits();
    if args.output.json {
        let limits = agents.iter().map(|agent| {
            json!({"agent": agent.slug, "max_messages_per_day": agent.limits.max_messages_per_day,
                "max_cents_per_day": agent.limits.max_cents_per_day})
        });
        return super::print_json(&json!({
            "org": org.slug, "plan": org.plan, "monthly": period.monthly, "daily": period.daily,
            "left_today": left.available, "session": spec.settings.session_budget,
            "team": spec.settings.team.as_ref().map(|team| team.budget), "sharing": spec.sharing,
            "agents": limits.collect::<Vec<_>>(),
        }));
    }
    let allowance = |amount| match amount {
        ostler_domain::org::plan::Allowance::UpTo(credits) => format!("{credits}"),
        ostler_domain::org::plan::Allowance::Unlimited => "unlimited".to_owned(),
    };
    let row = |name: &str, value: String, note: &str| {
        [Cell::from(name), value.into(), Cell::styled(note, DIM)]
    };
    let own = |set: bool| if set { "" } else { "of the plan" };
    let budget = &spec.settings.session_budget;
    let mut rows = vec![
        row("monthly", allowance(period.monthly), own(spec.credits.monthly.is_some())),
        row("daily", allowance(period.daily), own(spec.credits.daily.is_some())),
        row(
            "left",
            left.available.map_or_else(|| "unlimited".to_owned(), |left| left.to_string()),
            "now",
        ),
        row("session", budget.cap.to_string(), &format!("read-only from {}", budget.warning.get())),
    ];
    if let Some(team) = &spec.settings.team {
        rows.push(row("team", team.budget.to_string(), "a session with several agents"));
    }
    if spec.sub_orgs {
        rows.push(row("per-child", spec.sharing.max_per_child.to_string(), "a day"));
        rows.push(row("all-children", spec.sharing.max_total.to_string(), "a day"));
        for (child, cap) in &spec.sharing.overrides {
            rows.push(row(&format!("child.{child}"), cap.to_string(), "a day"));
        }
    }
    for agent in &agents {
        let cents = agent.limits.max_cents_per_day;
        let cost = format!("${}.{:02} a day", cents / 100, cents % 100);
        let messages = format!("{} messages", agent.limits.max_messages_per_day);
        rows.push(row(&format!("agent {}", agent.slug), messages, &cost));
    }
    print_rows(&rows);
    Ok(())
}

async fn set(args: &BudgetSetArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let fields: Vec<Assignment> = args.fields.iter().map(place).collect::<anyhow::Result<_>>()?;
    let how = Change { args: &args.change, output: &args.target.output, ask: Ask::Never };
    let editor = ResourceEditor::open(&org.api).await?;
    editor.set(&Address::of_org(&org.org.slug), &fields, &how).await
}

/// Returns the assignment to the field of the org that a budget is.
fn place(field: &Assignment) -> anyhow::Result<Assignment> {
    let path = match field.key().as_str() {
        "monthly" => "credits.monthly".to_owned(),
        "daily" => "credits.daily".to_owned(),
        "session" => "settings.session_budget.cap".to_owned(),
        "session-warning" => "settings.session_budget.warning".to_owned(),
        "team" => "settings.team.budget".to_owned(),
        "per-child" => "sharing.max_per_child".to_owned(),
        "all-children" => "sharing.max_total".to_owned(),
        other => match other.strip_prefix("child.") {
            Some(child) => format!("sharing.overrides.{child}"),
            None => {
                let known = [
                    "monthly",
                    "daily",
                    "session",
                    "session-warning",
                    "team",
                    "per-child",
                    "all-children",
                    "child.ORG",
                ];
                anyhow::bail!(ostler_world::unknown_name("budget", other, known))
            }
        },
    };
    Ok(field.renamed(&path))
}
