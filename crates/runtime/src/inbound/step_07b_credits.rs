//! Step 7.5: what the turn may spend, held before any model is asked.

use ostler_domain::agent::Protection;
use ostler_domain::id::{OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetLimit, BudgetView, SessionSpending, TurnBudget};
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::money::price::{MINIMUM_CHARGE, ModelPrice};
use ostler_store::{NewReservation, StoreError};

use super::case::Case;
use crate::ids::fresh;
use crate::org_view::{AgentView, OrgView};
use crate::talk::session::Session;

/// What a turn may spend.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purse {
    /// Who pays.
    pub(super) payer: OrgId,
    /// What is held.
    pub(super) reservation: ReservationId,
    /// How much that is.
    pub(super) held: Credits,
    /// What the turn may spend.
    pub(super) budget: TurnBudget,
    /// What the harness shows.
    pub(super) view: BudgetView,
}

/// Why there is nothing to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// The org, and its parent, have nothing left.
    Org,
    /// A cap of the parent stands in the way.
    ParentCap,
    /// The session has spent all that it may.
    Session,
    /// The team has.
    Team,
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
pub(super) async fn hold(
    case: &Case<'_>,
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
    let payer = payer(&case.view, agent);
    let left = session.budget.remaining().min(team.unwrap_or(PLENTY));
    let wanted = price.estimate(input_tokens, max_tokens);
    let id = fresh(ReservationId::from_u128);
    let mut amount = wanted.min(left).max(MINIMUM_CHARGE);
    let store = &case.desk.parts.store;
    let reserved = loop {
        let new = NewReservation {
            id,
            budget_owner: agent.agent.id,
            amount,
            lasts: case.desk.parts.settings.reservation,
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
    let view = if case.view.parent.is_some() {
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

/// Who pays for an agent: its org, or the platform for what belongs to it.
pub(crate) fn payer(view: &OrgView, agent: &AgentView) -> OrgId {
    match agent.agent.protection {
        Protection::Protected => view.platform.unwrap_or(view.org.id),
        Protection::Open => view.org.id,
    }
}
