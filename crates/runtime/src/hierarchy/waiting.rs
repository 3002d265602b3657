//! What waits for the decision of a PM, as lines of its prompt.

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::hierarchy::delegation::{OrgDelegation, OrgDelegationStatus};
use ostler_domain::hierarchy::insight::Insight;
use ostler_domain::hierarchy::issue::{Issue, IssueStatus};
use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::session::key::ConversationEntry;
use ostler_store::{OrgStore, StoreError};
use serde::de::DeserializeOwned;

use super::plan::{DELEGATION, INSIGHT, ISSUE};
use crate::org_view::AgentView;
use crate::records::session::Session;

/// How many of the newest records of a kind are looked at.
const NEWEST: u32 = 50;
/// The most characters of a text.
const MAX_CHARS: usize = 600;

/// Returns what waits for the decision of an agent. Only a PM that talks to its own people
/// reads it.
pub(crate) async fn waiting_for(
    store: OrgStore<'_>,
    agent: &AgentView,
    session: &Session,
) -> Result<Vec<String>, StoreError> {
    let decides = agent.agent.subtype == Subtype::Pm && session.entry == ConversationEntry::Owner;
    if !decides {
        return Ok(Vec::new());
    }
    let org = session.org;
    let mut lines: Vec<String> = Vec::new();
    let issues = load::<Issue>(store, ISSUE).await?;
    lines
        .extend(issues.iter().filter(|(_, one)| one.target.org == org && one.is_open()).map(issue));
    let work = load::<OrgDelegation>(store, DELEGATION).await?;
    lines.extend(work.iter().filter(|(_, one)| one.target == org && one.is_open()).map(delegation));
    let insights = load::<Insight>(store, INSIGHT).await?;
    lines.extend(insights.iter().filter(|(_, one)| is_new(one, org)).map(insight));
    Ok(lines)
}

fn is_new(insight: &Insight, org: OrgId) -> bool {
    insight.target == org && insight.acknowledged_at.is_none()
}

/// Returns the newest records of a kind, oldest first.
async fn load<T: DeserializeOwned>(
    store: OrgStore<'_>,
    kind: &str,
) -> Result<Vec<(RecordId, T)>, StoreError> {
    let newest = store.newest_records(kind, None, NEWEST).await?;
    let decoded = newest.into_iter().rev();
    Ok(decoded
        .filter_map(|record| Some((record.id, serde_json::from_str(&record.data).ok()?)))
        .collect())
}

fn issue((id, issue): &(RecordId, Issue)) -> String {
    let status = match issue.status {
        IssueStatus::Acknowledged => "acknowledged",
        _ => "pending",
    };
    let Issue { sender, summary, severity, context, .. } = issue;
    let mut text =
        format!("Issue {id} ({status}, {} severity) from {sender}: {summary}", severity.name());
    if !context.trim().is_empty() {
        text.push_str(&format!("\n  {}", context.trim().replace('\n', "\n  ")));
    }
    cut(&text)
}

fn delegation((id, work): &(RecordId, OrgDelegation)) -> String {
    let status = match work.status {
        OrgDelegationStatus::Accepted => "accepted",
        _ => "pending",
    };
    let OrgDelegation { sender, instruction, priority, .. } = work;
    let priority = priority.name();
    cut(&format!("Delegation {id} ({status}, {priority} priority) from {sender}: {instruction}"))
}

fn insight((id, insight): &(RecordId, Insight)) -> String {
    let Insight { sender, insight, evidence, .. } = insight;
    let evidence = evidence.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    cut(&format!("Insight {id} from {sender}: {insight}{evidence}"))
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}
