//! The system prompt of a turn.
//!
//! Each section is a function that returns its text or nothing; [`system_prompt`] lists them in
//! order. The fixed texts are Markdown files in `texts/`.

pub mod handoff;
pub mod history;
pub mod knowledge;
pub mod position;

use std::fmt::Write as _;

use crate::agent::autonomy::AutonomyLevel;
use crate::agent::{Agent, Brand};
use crate::org::Org;
use crate::org::layer::{BusinessLayer, BusinessPosition};
use crate::soul::Soul;
use crate::team::TeamSession;
use crate::tool::ToolName;

/// The note for a test conversation.
pub const TESTING_MODE: &str = include_str!("texts/testing_mode.md");

/// A document in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptDocument<'a> {
    pub title: &'a str,
    pub text: &'a str,
}

/// Everything that a system prompt depends on.
#[derive(Debug, Clone, Copy)]
pub struct PromptFacts<'a> {
    pub agent: &'a Agent,
    pub position: &'a BusinessPosition,
    pub org: &'a Org,
    /// The parent org; used for sub-orgs only.
    pub parent: Option<&'a Org>,
    /// The names of the active colleagues.
    pub colleagues: &'a [&'a str],
    pub soul: &'a Soul,
    /// The selected knowledge documents.
    pub documents: &'a [PromptDocument<'a>],
    /// The team of a team session.
    pub team: Option<&'a TeamSession>,
    /// Instructions from the PM or the agency.
    pub instructions: &'a [&'a str],
    /// What waits for the agent's decision.
    pub waiting: &'a [&'a str],
    /// Notices to the agent about failures elsewhere.
    pub notices: &'a [&'a str],
    /// Tools that are unavailable in this session; empty unless it is degraded.
    pub unavailable: &'a [ToolName],
    /// What a human said and did before handing back.
    pub resolution: Option<&'a str>,
    /// The summary of the previous session.
    pub previous_summary: Option<&'a str>,
    /// Whether the agent may use `escalate_to_parent`.
    pub can_escalate: bool,
    pub testing: bool,
}

/// Returns the system prompt.
pub fn system_prompt(facts: &PromptFacts<'_>) -> String {
    let sections = [
        Some(identity(facts)),
        Some(position::section(facts.position, facts.org, facts.parent, facts.can_escalate)),
        soul(facts.soul),
        Some(guardrails(facts)),
        facts.agent.brand.as_ref().map(brand),
        documents(facts.documents),
        facts.previous_summary.map(|text| format!("## The last conversation\n\n{text}")),
        facts.team.and_then(handoff::shared),
        facts.team.and_then(|team| handoff::block(team, facts.agent.id)),
        list("Your instructions", facts.instructions),
        waiting(facts.waiting),
        list("What you should know", facts.notices),
        facts.resolution.map(|text| format!("## What a colleague resolved\n\n{text}")),
        degraded(facts.unavailable),
        facts.testing.then(|| TESTING_MODE.trim_end().to_owned()),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    sections.join("\n\n") + "\n"
}

/// Returns who the agent is and with whom it works. The plan is hidden at layer 4.
fn identity(facts: &PromptFacts<'_>) -> String {
    let mut text = format!(
        "You are {}, {} of {}.",
        facts.agent.display_name, facts.agent.subtype, facts.org.name
    );
    if facts.position.guardrail_layer != BusinessLayer::EndCustomer {
        let _ = write!(text, "\nPlan: {}", facts.org.plan.name());
    }
    if !facts.colleagues.is_empty() {
        let _ = write!(text, "\nActive colleagues: {}", facts.colleagues.join(", "));
    }
    text
}

fn soul(soul: &Soul) -> Option<String> {
    let lists = |name: &str, items: &[String]| {
        (!items.is_empty()).then(|| format!("**{name}:** {}", items.join(", ")))
    };
    let line = |name: &str, text: &str| {
        (!text.trim().is_empty()).then(|| format!("**{name}:** {}", text.trim()))
    };
    let lines: Vec<String> = [
        line("Personality", &soul.personality),
        lists("Traits", &soul.traits),
        line("Style", &soul.communication_style),
        lists("Values", &soul.core_values),
        Some(soul.soul_markdown.trim().to_owned()).filter(|text| !text.is_empty()),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!lines.is_empty()).then(|| format!("## Your soul\n\n{}", lines.join("\n")))
}

/// Returns the rules that the agent must follow in every conversation.
fn guardrails(facts: &PromptFacts<'_>) -> String {
    let mut text = String::from("## Guardrails\n\n");
    let mut list = |name: &str, items: &[String]| {
        if !items.is_empty() {
            let _ = writeln!(text, "**{name}:**");
            for item in items {
                let _ = writeln!(text, "- {item}");
            }
        }
    };
    list("Never", &facts.soul.never_do);
    list("Always", &facts.soul.always_do);
    list("Hand over to a human instead of discussing", &facts.agent.blocked_topics);
    list("Hand over to a human when somebody mentions", &facts.soul.escalation_triggers);
    text + autonomy_note(facts.agent.autonomy).trim_end()
}

const fn autonomy_note(level: AutonomyLevel) -> &'static str {
    match level {
        AutonomyLevel::Supervised => include_str!("texts/supervised.md"),
        AutonomyLevel::SemiAutonomous => include_str!("texts/semi_autonomous.md"),
        AutonomyLevel::Autonomous => include_str!("texts/autonomous.md"),
        AutonomyLevel::DraftOnly => include_str!("texts/draft_only.md"),
    }
}

fn brand(brand: &Brand) -> String {
    format!("## Your brand\n\n**{}:** {}\n{}", brand.name, brand.voice, brand.about)
}

fn documents(documents: &[PromptDocument<'_>]) -> Option<String> {
    let each = documents.iter().map(|doc| format!("### {}\n\n{}", doc.title, doc.text));
    let texts: Vec<String> = each.collect();
    (!texts.is_empty()).then(|| format!("## Knowledge\n\n{}", texts.join("\n\n")))
}

fn list(title: &str, lines: &[&str]) -> Option<String> {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    (!lines.is_empty()).then(|| format!("## {title}\n\n{}", lines.join("\n")))
}

/// Returns what waits for the decision of the agent.
fn waiting(lines: &[&str]) -> Option<String> {
    let listed = list("Waiting for your decision", lines)?;
    Some(format!("{listed}\n\n{}", include_str!("texts/waiting.md").trim_end()))
}

fn degraded(unavailable: &[ToolName]) -> Option<String> {
    let names: Vec<&str> = unavailable.iter().map(ToolName::as_str).collect();
    let text = include_str!("texts/degraded.md").trim_end();
    (!names.is_empty()).then(|| fill(text, &[("tools", &names.join(", "))]))
}

/// Replaces the `{name}` placeholders of a text in a single pass, so that inserted values
/// are not searched for placeholders.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let found = values
            .iter()
            .find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix('}')?)));
        if let Some((value, after)) = found {
            out.push_str(value);
            rest = after;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests;
