//! Authority: how far an agent may go with a message before somebody looks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::name::AgentName;
use crate::time::Timestamp;

/// How far an agent may go, from free to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Do it; the reply is all that is heard of it.
    JustDoIt,
    /// Do it, and report to whoever granted it.
    DoItAndShowMe,
    /// Propose a plan and wait for the answer.
    AskMeFirst,
}

impl Tier {
    /// What a message without claims is done with.
    pub const WITHOUT_CLAIMS: Self = Self::DoItAndShowMe;

    /// The stricter of what a task asks for and what its message allows.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        self.max(other)
    }

    /// Whether a plan is approved before anything is dispatched.
    pub fn asks_first(self) -> bool {
        self == Self::AskMeFirst
    }

    /// Whether the one who granted it is shown the result beside the reply.
    pub fn shows_result(self) -> bool {
        self != Self::JustDoIt
    }
}

/// What a claim is for. What a message wants is named by its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actions {
    /// Everything.
    All,
    /// These.
    Only(BTreeSet<String>),
}

impl Actions {
    fn cover(&self, action: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(actions) => actions.contains(action),
        }
    }
}

/// A grant that travels with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who grants it, and is asked or shown.
    pub granted_by: AgentName,
    /// Who may use it.
    pub granted_to: AgentName,
    /// How far.
    pub tier: Tier,
    /// For what.
    pub actions: Actions,
    /// When it was granted; for the record, since clocks of nodes differ.
    pub granted_at: Timestamp,
    /// From when on it is void.
    pub expires_at: Option<Timestamp>,
}

/// What an agent may do with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authority {
    /// How far it may go.
    pub tier: Tier,
    /// Who is asked or shown; nobody where the message carries no claim.
    pub granted_by: Option<AgentName>,
}

/// Why a message is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefused {
    /// The claim is somebody else's.
    #[error("the authority claim is for `{granted_to}` and not for `{agent}`")]
    WrongGrantee {
        /// Whose claim it is.
        granted_to: AgentName,
        /// Who used it.
        agent: AgentName,
    },
    /// The claim is void.
    #[error("the authority that `{granted_by}` granted has expired")]
    Expired {
        /// Who granted it.
        granted_by: AgentName,
    },
    /// No claim is for this.
    #[error("no authority claim of this message covers `{0}`")]
    NotCovered(String),
}

/// What an agent may do with a message of this type. One bad claim refuses the
/// message; of several that cover it, the strictest counts.
pub fn authority(
    claims: &[Claim],
    agent: &AgentName,
    action: &str,
    without_claims: Tier,
    now: Timestamp,
) -> Result<Authority, ClaimRefused> {
    if claims.is_empty() {
        return Ok(Authority { tier: without_claims, granted_by: None });
    }
    for claim in claims {
        claim.check(agent, now)?;
    }
    let covering = claims.iter().filter(|claim| claim.actions.cover(action));
    let strictest = covering.max_by_key(|claim| claim.tier);
    let claim = strictest.ok_or_else(|| ClaimRefused::NotCovered(action.to_owned()))?;
    Ok(Authority { tier: claim.tier, granted_by: Some(claim.granted_by.clone()) })
}

impl Claim {
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
    use super::{Actions, Authority, Claim, ClaimRefused, Tier, authority};
    use crate::dispatch::name::AgentName;
    use crate::time::Timestamp;

    fn name(text: &str) -> AgentName {
        text.parse().unwrap()
    }

    fn claim(tier: Tier, actions: &[&str], expires: Option<i64>) -> Claim {
        let only = || Actions::Only(actions.iter().map(ToString::to_string).collect());
        Claim {
            granted_by: name("boss"),
            granted_to: name("worker"),
            tier,
            actions: if actions.is_empty() { Actions::All } else { only() },
            granted_at: Timestamp::from_millis(1),
            expires_at: expires.map(Timestamp::from_millis),
        }
    }

    fn at(claims: &[Claim], agent: &str, now: i64) -> Result<Authority, ClaimRefused> {
        let now = Timestamp::from_millis(now);
        authority(claims, &name(agent), "deploy", Tier::WITHOUT_CLAIMS, now)
    }

    /// X31: each tier says what happens before and after the work.
    #[test]
    fn x31_each_tier_has_its_duties() {
        let table = [
            (Tier::JustDoIt, false, false),
            (Tier::DoItAndShowMe, false, true),
            (Tier::AskMeFirst, true, true),
        ];
        for (tier, asks, shows) in table {
            assert_eq!((tier.asks_first(), tier.shows_result()), (asks, shows), "{tier:?}");
        }
        assert_eq!(Tier::JustDoIt.stricter(Tier::AskMeFirst), Tier::AskMeFirst);
    }

    /// X33: expired and foreign claims refuse the message; without claims the
    /// configured tier holds; the strictest that covers the message counts.
    #[test]
    fn x33_a_bad_claim_refuses_the_message() {
        let granted = |tier| Ok(Authority { tier, granted_by: Some(name("boss")) });
        let expired = Err(ClaimRefused::Expired { granted_by: name("boss") });
        let free = claim(Tier::JustDoIt, &["deploy"], Some(10));
        let strict = claim(Tier::AskMeFirst, &[], None);
        let other = claim(Tier::AskMeFirst, &["delete"], None);
        let both = [free.clone(), strict.clone()];
        let narrow = [free.clone(), other.clone()];
        let table = [
            (&[][..], 5, Ok(Authority { tier: Tier::DoItAndShowMe, granted_by: None })),
            (&both[..1], 9, granted(Tier::JustDoIt)),
            (&both[..1], 10, expired.clone()),
            (&both[..], 9, granted(Tier::AskMeFirst)),
            (&both[..], 10, expired),
            (&narrow[..], 9, granted(Tier::JustDoIt)),
            (&narrow[1..], 9, Err(ClaimRefused::NotCovered("deploy".into()))),
        ];
        for (claims, now, expected) in table {
            assert_eq!(at(claims, "worker", now), expected, "{claims:?} at {now}");
        }
        let (granted_to, agent) = (name("worker"), name("thief"));
        let refused = Err(ClaimRefused::WrongGrantee { granted_to, agent });
        assert_eq!(at(&both, "thief", 5), refused);
    }

    /// X33: a claim reads back what it wrote.
    #[test]
    fn x33_a_claim_round_trips() {
        for claim in [claim(Tier::AskMeFirst, &[], None), claim(Tier::JustDoIt, &["a"], Some(3))] {
            let stored = serde_json::to_string(&claim).unwrap();
            assert_eq!(serde_json::from_str::<Claim>(&stored).unwrap(), claim);
        }
    }
}
