//! `ostler agent show`: the configuration of an agent, and its work on queues.

mod queue;

use anyhow::bail;
use clap::Args;
use ostler_api::agent::{AgentChannel, AgentDetail, AgentSummary};
use ostler_api::org::OrgSummary;
use ostler_domain::agent::AgentKind;
use ostler_domain::money::Usd;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::QueueError;
use serde_json::{Value, json};

use super::ls::status;
use crate::api_client::{OrgApi, open_orgs};
use crate::commands::args::BusArgs;
use crate::screen::{Cell, DIM, HEADER, count, print_fields};

/// Costs are in millionths of a dollar.
const MICROS_PER_CENT: u64 = 10_000;

#[derive(Debug, Args)]
pub(crate) struct AgentShowArgs {
    /// Agent, by slug or name
    #[arg(value_name = "AGENT")]
    name: String,
    #[command(flatten)]
    bus: BusArgs,
}

pub(super) async fn run(args: &AgentShowArgs) -> anyhow::Result<()> {
    let name = args.bus.org.as_deref().unwrap_or_default();
    let orgs = open_orgs(&args.bus.installation, name).await?;
    match find(&orgs, &args.name).await? {
        Some((org, agent)) => show_agent(args, org, &agent).await,
        None => show_queue_agent(args, &orgs).await,
    }
}

/// Finds an agent by slug or name. Fails if several orgs have one.
async fn find<'o>(
    orgs: &'o [OrgApi],
    name: &str,
) -> anyhow::Result<Option<(&'o OrgApi, AgentSummary)>> {
    let mut found = Vec::new();
    for org in orgs {
        let agents: Vec<AgentSummary> = org.list(&["agent-summaries"], &[], usize::MAX).await?;
        let same = |agent: &AgentSummary| agent.slug == name || agent.name == name;
        found.extend(agents.into_iter().filter(same).map(|agent| (org, agent)));
    }
    if found.len() > 1 {
        let each: Vec<String> = found
            .iter()
            .map(|(org, agent)| format!("{} of {}", agent.slug, org.org.slug))
            .collect();
        bail!("several agents are called `{name}`: {}; name the org with --org", each.join(", "));
    }
    Ok(found.pop())
}

async fn show_agent(
    args: &AgentShowArgs,
    org: &OrgApi,
    agent: &AgentSummary,
) -> anyhow::Result<()> {
    let detail: AgentDetail = org.get(&["agents", &agent.slug, "summary"]).await?;
    let on_queue = match agent.slug.parse::<AgentName>() {
        Ok(name) => queue::load(&args.bus, org, &name).await?,
        Err(_) => None,
    };
    if args.bus.output.json {
        let mut json = agent_json(&org.org, &detail.agent);
        json["soul_version"] = json!(detail.soul_version);
        json["channels"] = json!(detail.channels);
        json["queue"] = json!(on_queue);
        return crate::commands::print_json(&json);
    }
    print(&org.org, &detail);
    if let Some(details) = &on_queue {
        anstream::println!();
        queue::print(details);
    }
    Ok(())
}

async fn show_queue_agent(args: &AgentShowArgs, orgs: &[OrgApi]) -> anyhow::Result<()> {
    let name: AgentName = args.name.parse()?;
    for org in orgs {
        if let Some(details) = queue::load(&args.bus, org, &name).await? {
            if args.bus.output.json {
                let mut json = json!(details);
                json["runs_on"] = "queue".into();
                json["org"] = org.org.slug.as_str().into();
                return crate::commands::print_json(&json);
            }
            queue::print(&details);
            return Ok(());
        }
    }
    Err(QueueError::UnknownAgent(name).into())
}

/// Returns an agent at a glance, with its org.
pub(super) fn agent_json(org: &OrgSummary, agent: &AgentSummary) -> Value {
    let mut json = json!(agent);
    json["runs_on"] = "conversations".into();
    json["org"] = org.slug.as_str().into();
    json["org_id"] = json!(org.id);
    json
}

fn print(org: &OrgSummary, detail: &AgentDetail) {
    let AgentDetail { agent, soul_version, channels } = detail;
    let mut fields = identity(org, agent);
    fields.extend(rules(agent));
    let channels = channels.iter().map(|AgentChannel { channel, enabled, .. }| {
        let state = if *enabled { "" } else { " (off)" };
        format!("{channel}{state}")
    });
    fields.push(("channels", or(channels.collect::<Vec<_>>().join(", "), "bound to none")));
    fields.extend(soul_version.map(|version| ("soul", format!("version {version}"))));
    let mut rows = vec![[Cell::styled(agent.name.as_str(), HEADER), status(agent.status)]];
    rows.extend(fields.into_iter().map(|(name, text)| [Cell::styled(name, DIM), text.into()]));
    print_fields(&rows);
}

/// Returns who the agent is, and what it presents.
fn identity(org: &OrgSummary, agent: &AgentSummary) -> Vec<(&'static str, String)> {
    let (layer, guarded_as) = (agent.business_layer, agent.guardrail_layer);
    let mut role = format!("{}, business layer {layer}", agent.subtype);
    if guarded_as != layer {
        role.push_str(&format!(", guarded as {guarded_as}"));
    }
    let kind = match agent.kind {
        AgentKind::Conversational => None,
        AgentKind::Internal => Some("internal: no messages from people"),
        AgentKind::Template => Some("template for workers"),
        AgentKind::Worker => Some("worker, made from a template"),
    };
    let protected = agent.protected.then_some("a system agent; only platform admins change it");
    let brand = agent.brand.as_ref();
    let brand = brand.map(|brand| [&*brand.name, &brand.voice, &brand.about].join("; "));
    let mut fields =
        vec![("agent", format!("{} of {} ({})", agent.slug, org.slug, org.name)), ("role", role)];
    fields.extend(kind.map(|text| ("kind", text.to_owned())));
    fields.extend(protected.map(|text| ("protected", text.to_owned())));
    fields.extend(brand.map(|text| ("brand", text)));
    fields
}

/// Returns what the agent may do, and with what.
fn rules(agent: &AgentSummary) -> Vec<(&'static str, String)> {
    let policy = &agent.tools;
    let mut tools = format!("profile {}", agent.profile);
    for (word, names) in [("only", &policy.allow), ("without", &policy.deny)] {
        if !names.is_empty() {
            tools.push_str(&format!("; {word} {}", join(names)));
        }
    }
    let messages = count(agent.limits.max_messages_per_day.into(), "message");
    let cost = Usd::from_micros(agent.limits.max_cents_per_day * MICROS_PER_CENT);
    let models = agent.models.join(", then ");
    let approvals = join(&agent.require_approval_for);
    vec![
        ("autonomy", agent.autonomy.name().into()),
        ("models", or(models, "the default of the org or the installation")),
        ("tools", tools),
        ("asks before", or(approvals, "what its autonomy does not allow")),
        ("blocked topics", or(agent.blocked_topics.join(", "), "none")),
        ("limits", format!("{messages} and {cost} a day")),
        ("knowledge", or(join(&agent.knowledge_tags), "all documents of the org")),
    ]
}

/// Joins names with commas.
fn join(names: impl IntoIterator<Item = impl ToString>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns a text, or another one if it is empty.
fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}
