//! Messages of people to teams of queue agents: questions to the leader or to all members, and
//! broadcasts.

use std::time::{Duration, Instant};

use ostler_bus::{Envelope, EnvelopeKind, now};
use ostler_domain::id::EnvelopeId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::reference::ReferenceCode;
use serde_json::{Value, json};

use super::{OrgOperations, Result};
use crate::agents::{AgentRuntime, CouncilOptions, Placement, QueueError};

/// A message to a team.
#[derive(Debug, Clone)]
pub struct MessageToTeam {
    pub kind: EnvelopeKind,
    pub text: String,
}

/// Who of a team is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamAudience {
    Leader,
    /// Every member at the same time; at least so many must answer, or more than half.
    Council {
        quorum: Option<usize>,
    },
}

/// The answers of a team.
#[derive(Debug)]
pub struct TeamAnswers {
    pub reference: ReferenceCode,
    /// How many members were asked.
    pub asked: usize,
    pub took: Duration,
    pub answers: Vec<TeamAnswer>,
    /// Members without an answer, and why.
    pub missing: Vec<(AgentName, String)>,
}

/// The answer of a member.
#[derive(Debug)]
pub struct TeamAnswer {
    pub agent: AgentName,
    pub kind: EnvelopeKind,
    pub payload: Value,
}

/// A message that was sent to the members of a team.
#[derive(Debug)]
pub struct SentBroadcast {
    pub message: EnvelopeId,
    pub reference: ReferenceCode,
    pub members: usize,
    /// Members that cannot be reached, and why.
    pub missed: Vec<(AgentName, String)>,
}

impl OrgOperations<'_> {
    /// Asks the leader of a team, or all its members, and waits for the answers. Fails if there
    /// are fewer than the quorum in time.
    pub async fn ask_team(
        &self,
        agents: &AgentRuntime,
        name: &TeamName,
        message: MessageToTeam,
        audience: TeamAudience,
        timeout: Duration,
    ) -> Result<TeamAnswers> {
        self.authorize(OrgPermission::Operate).await?;
        let team = self.team(agents, name).await?;
        let mut members: Vec<AgentName> = match audience {
            TeamAudience::Leader => vec![team.leader().clone()],
            TeamAudience::Council { .. } => team.members().iter().cloned().collect(),
        };
        let asked = members.len();
        let unavailable = unavailable(agents, &members).await?;
        members.retain(|member| unavailable.iter().all(|(name, _)| name != member));
        let quorum = match audience {
            TeamAudience::Council { quorum: Some(quorum) } => quorum,
            TeamAudience::Council { quorum: None } | TeamAudience::Leader => asked / 2 + 1,
        };
        let envelope = envelope(agents, message).await?;
        self.audit_message("ask_team", name, &envelope).await?;
        let started = Instant::now();
        let opinions = agents.council(&members, &envelope, CouncilOptions { quorum, timeout });
        let opinions = opinions.await?;
        let answers = opinions.answers.into_iter().map(|(agent, reply)| TeamAnswer {
            agent,
            kind: reply.message.kind.clone(),
            payload: (*reply.message.payload).clone(),
        });
        let missing = opinions.missing.into_iter().map(|(agent, why)| (agent, why.to_string()));
        Ok(TeamAnswers {
            reference: envelope.reference,
            asked,
            took: started.elapsed(),
            answers: answers.collect(),
            missing: missing.chain(unavailable).collect(),
        })
    }

    /// Sends a message to every member of a team.
    pub async fn broadcast_to_team(
        &self,
        agents: &AgentRuntime,
        name: &TeamName,
        message: MessageToTeam,
    ) -> Result<SentBroadcast> {
        self.authorize(OrgPermission::Operate).await?;
        let team = self.team(agents, name).await?;
        let missed = unavailable(agents, team.members()).await?;
        let envelope = envelope(agents, message).await?;
        let (message, reference) = (envelope.message.id, envelope.reference);
        self.audit_message("broadcast_to_team", name, &envelope).await?;
        agents.broadcast(&team.name, envelope).await?;
        Ok(SentBroadcast { message, reference, members: team.members().len(), missed })
    }

    async fn audit_message(&self, action: &str, team: &TeamName, sent: &Envelope) -> Result<()> {
        let data = json!({"reference": sent.reference, "type": sent.message.kind});
        let entry = self.audit_entry(action, team, &data);
        Ok(self.inner().store.org(self.org).append_audit(entry).await?)
    }
}

/// Creates an envelope with a new reference code.
async fn envelope(agents: &AgentRuntime, message: MessageToTeam) -> Result<Envelope> {
    let code = agents.new_reference_code().await?;
    let payload = json!({"text": message.text});
    let mut envelope = Envelope::new(message.kind, payload, code);
    envelope.context.original_goal = Some(message.text.as_str().into());
    Ok(envelope)
}

/// Returns the agents that are unknown or stopped, and why they get no message.
async fn unavailable<'a>(
    agents: &AgentRuntime,
    names: impl IntoIterator<Item = &'a AgentName>,
) -> Result<Vec<(AgentName, String)>> {
    let mut unavailable = Vec::new();
    for name in names {
        let error = match agents.registry().get(name).await? {
            None => QueueError::UnknownAgent(name.clone()),
            Some(record)
                if record.placement == Placement::Hosted && !record.is_available(now()) =>
            {
                QueueError::AgentStopped(name.clone())
            }
            Some(_) => continue,
        };
        unavailable.push((name.clone(), error.to_string()));
    }
    Ok(unavailable)
}
