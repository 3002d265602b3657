//! Authority: whether an agent may act on a message at once, must report the result,
//! or must have a plan approved first.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::name::AgentName;
use crate::time::Timestamp;

/// How much freedom an agent has, from free to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityTier {
    /// Act without reporting.
    JustDoIt,
    /// Act, then report the result to the grantor.
    DoItAndShowMe,
    /// Propose a plan and wait for approval.
    AskMeFirst,
}

impl AuthorityTier {
    /// The default for a message without claims.
    pub const WITHOUT_CLAIMS: Self = Self::DoItAndShowMe;

    /// Returns the stricter of two tiers.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        self.max(other)
    }

    /// Returns whether a plan must be approved before anything is dispatched.
    pub fn asks_first(self) -> bool {
        self == Self::AskMeFirst
    }

    /// Returns whether the grantor receives the result in addition to the reply.
    pub fn shows_result(self) -> bool {
        self != Self::JustDoIt
    }
}

/// The actions a claim covers. An action is named by the message type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedActions {
    All,
    Only(BTreeSet<String>),
}

impl ClaimedActions {
    fn covers(&self, action: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(actions) => actions.contains(action),
        }
    }
}

/// A grant of authority that travels with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityClaim {
    /// The agent that approves plans and receives results.
    pub granted_by: AgentName,
    pub granted_to: AgentName,
    pub tier: AuthorityTier,
    pub actions: ClaimedActions,
    /// For the record only, since the clocks of nodes differ.
    pub granted_at: Timestamp,
    /// The claim is void from this time on.
    pub expires_at: Option<Timestamp>,
}

/// What an agent may do with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    pub tier: AuthorityTier,
    /// The agent that is asked or informed; `None` if the message carries no claim.
    pub granted_by: Option<AgentName>,
}

/// Why a message is refused for its claims.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefused {
    #[error("the authority claim is for `{granted_to}` and not for `{agent}`")]
    WrongGrantee { granted_to: AgentName, agent: AgentName },
    #[error("the authority granted by `{granted_by}` has expired")]
    Expired { granted_by: AgentName },
    #[error("no authority claim of this message covers `{0}`")]
    NotCovered(String),
}

/// Returns what `agent` may do with a message of type `action`. One invalid claim
/// refuses the message; of several that cover the action, the strictest counts.
pub fn resolve_authority(
    claims: &[AuthorityClaim],
    agent: &AgentName,
    action: &str,
    without_claims: AuthorityTier,
    now: Timestamp,
) -> Result<Authority, ClaimRefused> {
    if claims.is_empty() {
        return Ok(Authority { tier: without_claims, granted_by: None });
    }
    for claim in claims {
        claim.check(agent, now)?;
    }
    let covering = claims.iter().filter(|claim| claim.actions.covers(action));
    let strictest = covering.max_by_key(|claim| claim.tier);
    let claim = strictest.ok_or_else(|| ClaimRefused::NotCovered(action.to_owned()))?;
    Ok(Authority { tier: claim.tier, granted_by: Some(claim.granted_by.clone()) })
}

impl AuthorityClaim {
    fn check(&self, agent: &AgentName, now: Timestamp) -> Result<(), ClaimRefused> {
        if self.granted_to != *agent {
            let (granted_to, agent) = (self.granted_to.clone(), agent.clone());
            return Err(ClaimRefused::WrongGrantee { granted_to, agent });
        }
        if self.expires_at.is_some_and(|expires| expires <= now) {
            return Err(ClaimRefused::Expired { granted_by: self.granted_by.clone() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Authority, AuthorityClaim, AuthorityTier, ClaimRefused, ClaimedActions, resolve_authority,
    };
    use crate::queue_agent::name::AgentName;
    use crate::time::Timestamp;

    fn name(text: &str) -> AgentName {
        text.parse().unwrap()
    }

    fn claim(tier: AuthorityTier, actions: &[&str], expires: Option<i64>) -> AuthorityClaim {
        let only = || ClaimedActions::Only(actions.iter().map(ToString::to_string).collect());
        AuthorityClaim {
            granted_by: name("boss"),
            granted_to: name("worker"),
            tier,
            actions: if actions.is_empty() { ClaimedActions::All } else { only() },
            granted_at: Timestamp::from_millis(1),
            expires_at: expires.map(Timestamp::from_millis),
        }
    }

    fn at(claims: &[AuthorityClaim], agent: &str, now: i64) -> Result<Authority, ClaimRefused> {
        let now = Timestamp::from_millis(now);
        resolve_authority(claims, &name(agent), "deploy", AuthorityTier::WITHOUT_CLAIMS, now)
    }

    /// X31: each tier says what happens before and after the work.
    #[test]
    fn x31_each_tier_has_its_duties() {
        let table = [
            (AuthorityTier::JustDoIt, false, false),
            (AuthorityTier::DoItAndShowMe, false, true),
            (AuthorityTier::AskMeFirst, true, true),
        ];
        for (tier, asks, shows) in table {
            assert_eq!((tier.asks_first(), tier.shows_result()), (asks, shows), "{tier:?}");
        }
        assert_eq!(
            AuthorityTier::JustDoIt.stricter(AuthorityTier::AskMeFirst),
            AuthorityTier::AskMeFirst
        );
    }

    /// X33: expired and foreign claims refuse the message; without claims the
    /// configured tier holds; the strictest that covers the message counts.
    #[test]
    fn x33_a_bad_claim_refuses_the_message() {
        let granted = |tier| Ok(Authority { tier, granted_by: Some(name("boss")) });
        let expired = Err(ClaimRefused::Expired { granted_by: name("boss") });
        let free = claim(AuthorityTier::JustDoIt, &["deploy"], Some(10));
        let strict = claim(AuthorityTier::AskMeFirst, &[], None);
        let other = claim(AuthorityTier::AskMeFirst, &["delete"], None);
        let both = [free.clone(), strict.clone()];
        let narrow = [free.clone(), other.clone()];
        let table = [
            (&[][..], 5, Ok(Authority { tier: AuthorityTier::DoItAndShowMe, granted_by: None })),
            (&both[..1], 9, granted(AuthorityTier::JustDoIt)),
            (&both[..1], 10, expired.clone()),
            (&both[..], 9, granted(AuthorityTier::AskMeFirst)),
            (&both[..], 10, expired),
            (&narrow[..], 9, granted(AuthorityTier::JustDoIt)),
            (&narrow[1..], 9, Err(ClaimRefused::NotCovered("deploy".into()))),
        ];
        for (claims, now, expected) in table {
            assert_eq!(at(claims, "worker", now), expected, "{claims:?} at {now}");
        }
        let (granted_to, agent) = (name("worker"), name("thief"));
        let refused = Err(ClaimRefused::WrongGrantee { granted_to, agent });
        assert_eq!(at(&both, "thief", 5), refused);
    }

    /// X33: a claim survives serialization.
    #[test]
    fn x33_a_claim_round_trips() {
        for claim in [
            claim(AuthorityTier::AskMeFirst, &[], None),
            claim(AuthorityTier::JustDoIt, &["a"], Some(3)),
        ] {
            let stored = serde_json::to_string(&claim).unwrap();
            assert_eq!(serde_json::from_str::<AuthorityClaim>(&stored).unwrap(), claim);
        }
    }
}
