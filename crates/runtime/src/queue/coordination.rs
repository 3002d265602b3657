//! The messages by which agents coordinate. Their types begin with `ostler.`;
//! the harness carries some of them out, the others are for the agent.

use ostler_bus::{Envelope, Kind, Payload};
use ostler_domain::dispatch::delegation::Delegation;
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::dispatch::plan::{Plan, PlanAnswer};
use ostler_domain::dispatch::sla::SlaAction;
use ostler_domain::id::{DelegationId, EnvelopeId};
use ostler_domain::reference::ReferenceCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::{AgentError, Reply};
use super::plans::PlanKey;

/// What the types of these messages begin with.
const PREFIX: &str = "ostler.";

/// A message of a known type.
pub trait Coordination: Serialize + DeserializeOwned {
    /// Its type.
    const KIND: &'static str;

    /// It as a new message.
    fn envelope(&self, reference: ReferenceCode) -> Envelope {
        Envelope::new(Self::KIND, self.payload(), reference)
    }

    /// It as an agent's reply.
    fn reply(&self) -> Reply {
        Reply::new(Self::KIND, self.payload())
    }

    /// Its content.
    fn payload(&self) -> Payload {
        // These are plain records, and writing one does not fail.
        serde_json::to_value(self).unwrap_or_default().into()
    }

    /// Whether a message is one.
    fn is(kind: &Kind) -> bool {
        kind.as_str() == Self::KIND
    }

    /// Reads one.
    fn read(envelope: &Envelope) -> Result<Self, AgentError> {
        Self::deserialize(&*envelope.message.payload).map_err(|error| {
            let reason = format!("this is not a message of type `{}`: {error}", Self::KIND);
            AgentError::new(FailureClass::Data, reason)
        })
    }
}

/// Whether a message is of one of these types.
pub(super) fn is_coordination(kind: &Kind) -> bool {
    kind.as_str().starts_with(PREFIX)
}

macro_rules! messages {
    ($($(#[$doc:meta])* $kind:literal $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Coordination for $name {
            const KIND: &'static str = $kind;
        }
    )*};
}

messages! {
    /// An agent is asked to finish what it does and stop.
    "ostler.shutdown_request" ShutdownRequest {
        /// Why.
        reason: String,
    }
    /// It has finished, and stops.
    "ostler.shutdown_approved" ShutdownApproved {
        /// Who.
        agent: AgentName,
    }
    /// An agent has work.
    "ostler.assigned" Assigned {
        /// What.
        work: Delegation,
    }
    /// Work is finished; the whole team of whoever did it hears this.
    "ostler.task_completed" TaskCompleted {
        /// Which work.
        work: DelegationId,
        /// Who did it.
        by: AgentName,
        /// What became ready by it.
        ready: Vec<DelegationId>,
    }
    /// An agent asks whether it may go ahead.
    "ostler.plan_approval_request" PlanApprovalRequest {
        /// Which plan; the answer repeats it.
        key: PlanKey,
        /// Who wants to act, and for whom.
        plan: Plan,
        /// What it would do.
        proposal: Value,
    }
    /// The answer to that.
    "ostler.plan_approval_response" PlanApprovalResponse {
        /// Which plan.
        key: PlanKey,
        /// What was decided.
        decision: PlanAnswer,
    }
    /// A plan was dropped; whoever asked for the work hears this.
    "ostler.plan_rejected" PlanRejected {
        /// Who would have acted.
        agent: AgentName,
        /// Why it was not to.
        reason: String,
    }
    /// An agent has nothing to do; the leader of its team hears this.
    "ostler.idle" Idle {
        /// Who.
        agent: AgentName,
        /// In which team.
        team: TeamName,
    }
    /// An agent asks the leader of a team to be let in.
    "ostler.join_request" JoinRequest {
        /// Who.
        agent: AgentName,
        /// Where.
        team: TeamName,
    }
    /// The leader lets it in.
    "ostler.join_approved" JoinApproved {
        /// Whom.
        agent: AgentName,
        /// Where.
        team: TeamName,
    }
    /// What was done; whoever granted the authority for it hears this.
    "ostler.report" Report {
        /// Who did it.
        agent: AgentName,
        /// Upon which message.
        message: EnvelopeId,
        /// Of which type.
        kind: Kind,
        /// What was replied.
        result: Option<Value>,
    }
    /// Work is late: the alert at its deadline, or the escalation at the end.
    "ostler.sla" Sla {
        /// Which work.
        work: Delegation,
        /// What this is.
        action: SlaAction,
    }
}
