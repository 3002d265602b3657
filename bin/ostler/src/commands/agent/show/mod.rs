//! `ostler agent show`: the configuration of an agent, and its work on queues.

mod queue;

use anyhow::bail;
use clap::Args;
use ostler_domain::agent::{Agent, AgentKind, Protection};
use ostler_domain::org::Org;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{QueueError, Registry as _, StoredRecords};
use ostler_store::OrgBinding;
use serde_json::{Value, json};

use super::ls::status;
use crate::commands::args::BusArgs;
use crate::commands::operator::Operator;
use crate::screen::{Cell, DIM, HEADER, count, print_fields};

/// Costs are stored in millionths of a dollar.
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
    let operator = Operator::open(&args.bus.installation).await?;
    let orgs = match &args.bus.org {
        Some(name) => vec![crate::commands::find_org(&operator.store, name).await?],
        None => operator.store.orgs().await?,
    };
    match find(&operator, &orgs, &args.name).await? {
        Some((org, agent)) => show_agent(args, &operator, org, &agent).await,
        None => show_queue_agent(args, &operator, &orgs).await,
    }
}

/// Finds an agent by slug or name. Fails if several orgs have one.
async fn find<'o>(
    operator: &Operator,
    orgs: &'o [Org],
    name: &str,
) -> anyhow::Result<Option<(&'o Org, Agent)>> {
    let mut found = Vec::new();
    for org in orgs {
        let agents = operator.store.org(org.id).agents().await?;
        let same = |agent: &Agent| agent.slug == name || agent.display_name == name;
        found.extend(agents.into_iter().filter(same).map(|agent| (org, agent)));
    }
    if found.len() > 1 {
        let each: Vec<String> =
            found.iter().map(|(org, agent)| format!("{} of {}", agent.slug, org.slug)).collect();
        bail!("several agents are called `{name}`: {}; name the org with --org", each.join(", "));
    }
    Ok(found.pop())
}

async fn show_agent(
    args: &AgentShowArgs,
    operator: &Operator,
    org: &Org,
    agent: &Agent,
) -> anyhow::Result<()> {
    let bindings = operator.org(org).bindings().await?;
    let bindings: Vec<OrgBinding> =
        bindings.into_iter().filter(|bound| bound.agent == agent.id).collect();
    let soul = operator.org(org).soul_versions(&agent.slug).await?.last().map(|soul| soul.version);
    let on_queue = match agent.slug.parse::<AgentName>() {
        Ok(name) if is_registered(operator, org, &name).await? => {
            Some(queue::load(&args.bus, org, &name).await?)
        }
        _ => None,
    };
    if args.bus.output.json {
        let mut json = agent_json(org, agent);
        json["soul_version"] = json!(soul);
        json["channels"] = bindings.iter().map(binding_json).collect();
        json["queue"] = json!(on_queue);
        return crate::commands::print_json(&json);
    }
    print(org, agent, &bindings, soul);
    if let Some(details) = &on_queue {
        anstream::println!();
        queue::print(details);
    }
    Ok(())
}

async fn show_queue_agent(
    args: &AgentShowArgs,
    operator: &Operator,
    orgs: &[Org],
) -> anyhow::Result<()> {
    let name: AgentName = args.name.parse()?;
    for org in orgs {
        if is_registered(operator, org, &name).await? {
            let details = queue::load(&args.bus, org, &name).await?;
            if args.bus.output.json {
                let mut json = json!(details);
                json["runs_on"] = "queue".into();
                json["org"] = org.slug.as_str().into();
                return crate::commands::print_json(&json);
            }
            queue::print(&details);
            return Ok(());
        }
    }
    Err(QueueError::UnknownAgent(name).into())
}

async fn is_registered(operator: &Operator, org: &Org, name: &AgentName) -> anyhow::Result<bool> {
    let registry = StoredRecords::new(operator.store.clone(), org.id);
    Ok(registry.get(name).await?.is_some())
}

fn binding_json(bound: &OrgBinding) -> Value {
    let binding = &bound.binding;
    json!({"binding": binding.id, "channel": binding.channel, "enabled": binding.enabled,
        "priority": binding.priority})
}

/// Returns the configuration of an agent, with the names of world files.
pub(super) fn agent_json(org: &Org, agent: &Agent) -> Value {
    let position = BusinessPosition::of(org, &agent.subtype);
    json!({"runs_on": "conversations", "id": agent.id, "org": org.slug, "org_id": org.id,
        "slug": agent.slug, "name": agent.display_name, "subtype": agent.subtype.name(),
        "business_layer": position.business_layer.number(),
        "guardrail_layer": position.guardrail_layer.number(),
        "status": agent.status, "kind": agent.kind,
        "protected": agent.protection == Protection::Protected,
        "autonomy": agent.autonomy.name(), "models": agent.models,
        "profile": agent.tools.profile.name(), "tools": agent.tools.policy,
        "require_approval_for": agent.require_approval_for,
        "blocked_topics": agent.blocked_topics,
        "limits": {"max_messages_per_day": agent.limits.max_messages_per_day,
            "max_cents_per_day": agent.limits.max_cost_per_day.as_micros() / MICROS_PER_CENT},
        "brand": agent.brand, "knowledge_tags": agent.knowledge_tags,
        "created_at": agent.created_at})
}

fn print(org: &Org, agent: &Agent, bindings: &[OrgBinding], soul: Option<u32>) {
    let mut fields = identity(org, agent);
    fields.extend(rules(agent));
    let channels = bindings.iter().map(|bound| {
        let state = if bound.binding.enabled { "" } else { " (off)" };
        format!("{}{state}", bound.binding.channel)
    });
    fields.push(("channels", or(channels.collect::<Vec<_>>().join(", "), "bound to none")));
    fields.extend(soul.map(|version| ("soul", format!("version {version}"))));
    let mut rows = vec![[Cell::styled(agent.display_name.as_str(), HEADER), status(agent.status)]];
    rows.extend(fields.into_iter().map(|(name, text)| [Cell::styled(name, DIM), text.into()]));
    print_fields(&rows);
}

/// Returns who the agent is, and what it presents.
fn identity(org: &Org, agent: &Agent) -> Vec<(&'static str, String)> {
    let position = BusinessPosition::of(org, &agent.subtype);
    let (layer, guarded_as) = (position.business_layer.number(), position.guardrail_layer.number());
    let mut role = format!("{}, business layer {layer}", agent.subtype.name());
    if guarded_as != layer {
        role.push_str(&format!(", guarded as {guarded_as}"));
    }
    let kind = match agent.kind {
        AgentKind::Conversational => None,
        AgentKind::Internal => Some("internal: no messages from people"),
        AgentKind::Template => Some("template for workers"),
        AgentKind::Worker => Some("worker, made from a template"),
    };
    let protected = (agent.protection == Protection::Protected)
        .then_some("a system agent; only platform admins change it");
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
fn rules(agent: &Agent) -> Vec<(&'static str, String)> {
    let policy = &agent.tools.policy;
    let mut tools = format!("profile {}", agent.tools.profile.name());
    for (word, names) in [("only", &policy.allow), ("without", &policy.deny)] {
        if !names.is_empty() {
            tools.push_str(&format!("; {word} {}", join(names)));
        }
    }
    let messages = count(agent.limits.max_messages_per_day.into(), "message");
    let models = agent.models.join(", then ");
    let approvals = join(&agent.require_approval_for);
    vec![
        ("autonomy", agent.autonomy.name().into()),
        ("models", or(models, "the default of the org or the installation")),
        ("tools", tools),
        ("asks before", or(approvals, "what its autonomy does not allow")),
        ("blocked topics", or(agent.blocked_topics.join(", "), "none")),
        ("limits", format!("{messages} and {} a day", agent.limits.max_cost_per_day)),
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
