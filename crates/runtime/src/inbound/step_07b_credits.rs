//! Step 7.5: what the turn may spend, held before any model is asked.

use ostler_domain::agent::Protection;
use ostler_domain::id::{OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetLimit, BudgetView, SessionSpending, TurnBudget};
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::money::price::{MINIMUM_CHARGE, ModelPrice};
use ostler_store::{NewReservation, StoreError};

use crate::ids::fresh;
use crate::org_view::{AgentView, OrgView};
use crate::parts::Parts;
use crate::talk::session::Session;

/// What a turn may spend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purse {
    /// Who pays.
    pub(crate) payer: OrgId,
    /// What is held.
    pub(crate) reservation: ReservationId,
    /// How much that is.
    pub(crate) held: Credits,
    /// What the turn may spend.
    pub(crate) budget: TurnBudget,
    /// What the harness shows.
    pub(crate) view: BudgetView,
}

/// Why there is nothing to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Empty {
    /// The org, and its parent, have nothing left.
    Org,
    /// A cap of the parent stands in the way.
    ParentCap,
    /// The session has spent all that it may.
    Session,
    /// The team has.
    Team,
}

impl Empty {
    /// What people are told who run the agent.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Org => "the organization has no credits left",
            Self::ParentCap => "the organization above does not pay for more",
            Self::Session => "it has spent all that it may",
            Self::Team => "its team has spent all that it may",
        }
    }
}

impl From<BudgetLimit> for Empty {
    fn from(limit: BudgetLimit) -> Self {
        match limit {
            BudgetLimit::Org => Self::Org,
            BudgetLimit::Session => Self::Session,
            BudgetLimit::Team => Self::Team,
        }
    }
}

/// The most that can be asked for at once where there is no limit.
pub(crate) const PLENTY: Credits = Credits::new(1_000_000);

/// Holds what the first answer may cost.
pub(crate) async fn hold(
    parts: &Parts,
    org: &OrgView,
    agent: &AgentView,
    session: &Session,
    price: ModelPrice,
    input_tokens: u64,
    max_tokens: u64,
) -> Result<Result<Purse, Empty>, StoreError> {
    if session.budget.spending() == SessionSpending::Closed {
        return Ok(Err(Empty::Session));
    }
    let team = session.team.as_ref().map(|team| team.budget.remaining());
    if team.is_some_and(|left| left < MINIMUM_CHARGE) {
        return Ok(Err(Empty::Team));
    }
    let payer = payer(org, agent);
    let left = session.budget.remaining().min(team.unwrap_or(PLENTY));
    let wanted = price.estimate(input_tokens, max_tokens);
    let id = fresh(ReservationId::from_u128);
    let mut amount = wanted.min(left).max(MINIMUM_CHARGE);
    let store = &parts.store;
    let reserved = loop {
        let new = NewReservation {
            id,
            budget_owner: agent.agent.id,
            amount,
            lasts: parts.settings.reservation,
        };
        match store.org(payer).reserve(new).await {
            Ok(reserved) => break reserved,
            // As much as there is; the answer is made shorter.
            Err(StoreError::Credits(ReserveError::Exhausted { available, .. }))
                if available >= MINIMUM_CHARGE && available < amount =>
            {
                amount = available;
            }
            Err(StoreError::Credits(
                ReserveError::Exhausted { .. } | ReserveError::NoAccount(_),
            )) => {
                return Ok(Err(Empty::Org));
            }
            Err(StoreError::Credits(ReserveError::Cap(_))) => {
                match store.org(payer).affordable().await? {
                    Some(left) if left >= MINIMUM_CHARGE && left < amount => amount = left,
                    _ => return Ok(Err(Empty::ParentCap)),
                }
            }
            Err(other) => return Err(other),
        }
    };
    let view = if org.parent.is_some() {
        store.org(payer).budget(session.budget).await?
    } else {
        let session_budget = session.budget.remaining();
        BudgetView { session_budget, org_budget: reserved.left, parent_budget: None }
    };
    let budget = TurnBudget {
        reserved: amount,
        top_up: view.org_budget.unwrap_or(PLENTY) + view.parent_budget.unwrap_or(Credits::ZERO),
        session: session.budget.remaining(),
        kept_for_reading: session.budget.kept_for_reading(),
        team,
    };
    Ok(Ok(Purse { payer, reservation: id, held: amount, budget, view }))
}

/// Holds more than is held already, and says how much more that is; nothing if
/// there is no more.
pub(crate) async fn top_up(
    parts: &Parts,
    payer: OrgId,
    reservation: ReservationId,
    held: Credits,
    more: Credits,
) -> Credits {
    let lasts = parts.settings.reservation;
    match parts.store.org(payer).top_up(reservation, held + more, lasts).await {
        Ok(()) => more,
        Err(StoreError::Credits(_)) => Credits::ZERO,
        Err(error) => {
            tracing::warn!(%error, %reservation, "credits could not be held");
            Credits::ZERO
        }
    }
}

/// Who pays for an agent: its org, or the platform for what belongs to it.
pub(crate) fn payer(view: &OrgView, agent: &AgentView) -> OrgId {
    match agent.agent.protection {
        Protection::Protected => view.platform.unwrap_or(view.org.id),
        Protection::Open => view.org.id,
    }
}
