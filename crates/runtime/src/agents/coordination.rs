//! The messages with which agents coordinate. Their types start with `ostler.`.
//! The harness handles some of them; the others are passed to the agent.

use ostler_bus::{Envelope, EnvelopeKind, Payload};
use ostler_domain::id::{DelegationId, EnvelopeId};
use ostler_domain::queue_agent::delegation::Delegation;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::plan::{AgentPlan, PlanAnswer};
use ostler_domain::queue_agent::sla::SlaAction;
use ostler_domain::reference::ReferenceCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::{AgentError, AgentReply};
use super::plans::PlanKey;

const PREFIX: &str = "ostler.";

/// A coordination message.
pub trait CoordinationMessage: Serialize + DeserializeOwned {
    /// The message type.
    const KIND: &'static str;

    /// Returns a new message with this content.
    fn envelope(&self, reference: ReferenceCode) -> Envelope {
        Envelope::new(Self::KIND, self.payload(), reference)
    }

    /// Returns an agent's reply with this content.
    fn reply(&self) -> AgentReply {
        AgentReply::new(Self::KIND, self.payload())
    }

    /// Returns the content as JSON.
    fn payload(&self) -> Payload {
        // These are plain records, so serialization does not fail.
        serde_json::to_value(self).unwrap_or_default().into()
    }

    /// Returns whether a message has this type.
    fn is(kind: &EnvelopeKind) -> bool {
        kind.as_str() == Self::KIND
    }

    /// Returns the content of a message of this type; `None` for other types and payloads.
    fn of(envelope: &Envelope) -> Option<Self> {
        Self::is(&envelope.message.kind).then(|| Self::decode(envelope).ok()).flatten()
    }

    /// Decodes a message. Fails with a data error if its payload does not fit.
    fn decode(envelope: &Envelope) -> Result<Self, AgentError> {
        Self::deserialize(&*envelope.message.payload).map_err(|error| {
            let reason = format!("not a valid `{}` message: {error}", Self::KIND);
            AgentError::new(FailureClass::Data, reason)
        })
    }
}

/// Returns whether a message is a coordination message.
pub(super) fn is_coordination(kind: &EnvelopeKind) -> bool {
    kind.as_str().starts_with(PREFIX)
}

macro_rules! messages {
    ($($(#[$doc:meta])* $kind:literal $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl CoordinationMessage for $name {
            const KIND: &'static str = $kind;
        }
    )*};
}

messages! {
    /// Asks an agent to finish its work and stop.
    "ostler.shutdown_request" ShutdownRequest {
        reason: String,
    }
    /// The agent has finished and stops.
    "ostler.shutdown_approved" ShutdownApproved {
        agent: AgentName,
    }
    /// Gives work to an agent.
    "ostler.assigned" TaskAssigned {
        work: Delegation,
    }
    /// Announces finished work to the teams of the assignee.
    "ostler.task_completed" TaskCompleted {
        work: DelegationId,
        by: AgentName,
        /// Work that is no longer blocked.
        ready: Vec<DelegationId>,
    }
    /// Asks for approval of a plan.
    "ostler.plan_approval_request" PlanApprovalRequest {
        /// The response repeats it.
        key: PlanKey,
        plan: AgentPlan,
        /// What the agent would do.
        proposal: Value,
    }
    /// Approves or rejects a plan.
    "ostler.plan_approval_response" PlanApprovalResponse {
        key: PlanKey,
        decision: PlanAnswer,
    }
    /// Tells the requester that a plan was rejected.
    "ostler.plan_rejected" PlanRejected {
        agent: AgentName,
        reason: String,
    }
    /// Tells the leader of a team that a member has no work.
    "ostler.idle" IdleNotice {
        agent: AgentName,
        team: TeamName,
    }
    /// Asks the leader of a team for membership.
    "ostler.join_request" JoinRequest {
        agent: AgentName,
        team: TeamName,
    }
    /// The leader grants membership.
    "ostler.join_approved" JoinApproved {
        agent: AgentName,
        team: TeamName,
    }
    /// Reports to the granter of the authority what was done.
    "ostler.report" ActionReport {
        agent: AgentName,
        /// The message that was handled, and its type.
        message: EnvelopeId,
        kind: EnvelopeKind,
        /// The payload of the reply.
        result: Option<Value>,
    }
    /// Reports overdue work: the alert at the deadline, or the final
    /// escalation.
    "ostler.sla" SlaNotice {
        work: Delegation,
        action: SlaAction,
    }
}
