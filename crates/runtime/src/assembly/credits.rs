//! Reserves the credits of a turn before any model is called.

use ostler_domain::agent::Protection;
use ostler_domain::id::{OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetLimit, BudgetView, SpendingMode, TurnBudget};
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::money::price::{MINIMUM_CHARGE, ModelPrice};
use ostler_store::{NewReservation, StoreError};

use super::SessionFacts;
use crate::deps::Deps;
use crate::ids::fresh;
use crate::org_view::{AgentView, OrgView};

/// The credits that are reserved for a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnFunds {
    /// The org that pays.
    pub(crate) payer: OrgId,
    pub(crate) reservation: ReservationId,
    pub(crate) held: Credits,
    pub(crate) budget: TurnBudget,
    /// What the session, the org and its parent have left.
    pub(crate) remaining: BudgetView,
}

/// Why no credits can be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FundsShortage {
    /// The org and its parent have no credits left.
    Org,
    /// A cap of the parent is reached.
    ParentCap,
    Session,
    Team,
}

impl FundsShortage {
    /// Returns the reason in words for operators.
    pub(crate) const fn explanation(self) -> &'static str {
        match self {
            Self::Org => "the organization has no credits left",
            Self::ParentCap => "the organization above does not pay for more",
            Self::Session => "it has spent all that it may",
            Self::Team => "its team has spent all that it may",
        }
    }
}

impl From<BudgetLimit> for FundsShortage {
    fn from(limit: BudgetLimit) -> Self {
        match limit {
            BudgetLimit::Org => Self::Org,
            // A turn's own agent is no subagent; its limit would be one of the session.
            BudgetLimit::Session | BudgetLimit::Subagent => Self::Session,
            BudgetLimit::Team => Self::Team,
        }
    }
}

/// The amount that stands for an account or a team without a limit.
pub(crate) const UNLIMITED: Credits = Credits::new(1_000_000);

/// Reserves what the first answer may cost. Where the account has less, the turn gets
/// what is left and its answers are cut shorter.
pub(crate) async fn reserve_credits(
    deps: &Deps,
    view: &OrgView,
    agent: &AgentView,
    session: &SessionFacts<'_>,
    price: ModelPrice,
    input_tokens: u64,
    max_tokens: u64,
) -> Result<Result<TurnFunds, FundsShortage>, StoreError> {
    if session.budget.spending_mode() == SpendingMode::Closed {
        return Ok(Err(FundsShortage::Session));
    }
    let team = session.team.map(|team| team.budget.remaining());
    if team.is_some_and(|left| left < MINIMUM_CHARGE) {
        return Ok(Err(FundsShortage::Team));
    }
    let payer = payer(view, agent);
    let left = session.budget.remaining().min(team.unwrap_or(UNLIMITED));
    let wanted = price.estimate_credits(input_tokens, max_tokens);
    let id = fresh(ReservationId::from_u128);
    let mut amount = wanted.min(left).max(MINIMUM_CHARGE);
    let store = &deps.store;
    let reserved = loop {
        let new = NewReservation {
            id,
            budget_owner: agent.agent.id,
            amount,
            ttl: deps.settings.reservation_ttl,
        };
        match store.org(payer).reserve_credits(new).await {
            Ok(reserved) => break reserved,
            // Takes what is left.
            Err(StoreError::Credits(ReserveError::Exhausted { available, .. }))
                if available >= MINIMUM_CHARGE && available < amount =>
            {
                amount = available;
            }
            Err(StoreError::Credits(
                ReserveError::Exhausted { .. } | ReserveError::NoAccount(_),
            )) => {
                return Ok(Err(FundsShortage::Org));
            }
            Err(StoreError::Credits(ReserveError::Cap(_))) => {
                match store.org(payer).affordable().await? {
                    Some(left) if left >= MINIMUM_CHARGE && left < amount => amount = left,
                    _ => return Ok(Err(FundsShortage::ParentCap)),
                }
            }
            Err(other) => return Err(other),
        }
    };
    let remaining = if view.parent.is_some() {
        store.org(payer).budget(session.budget).await?
    } else {
        let session_budget = session.budget.remaining();
        BudgetView { session_budget, org_budget: reserved.affordable, parent_budget: None }
    };
    let budget = TurnBudget {
        reserved: amount,
        top_up: remaining.org_budget.unwrap_or(UNLIMITED)
            + remaining.parent_budget.unwrap_or(Credits::ZERO),
        session: session.budget.remaining(),
        subagent: None,
        read_reserve: session.budget.read_reserve(),
        team,
    };
    Ok(Ok(TurnFunds { payer, reservation: id, held: amount, budget, remaining }))
}

/// Extends a reservation and returns the credits added: `more`, or zero if the account
/// does not have them.
pub(crate) async fn top_up(
    deps: &Deps,
    payer: OrgId,
    reservation: ReservationId,
    held: Credits,
    more: Credits,
) -> Credits {
    let ttl = deps.settings.reservation_ttl;
    match deps.store.org(payer).top_up_reservation(reservation, held + more, ttl).await {
        Ok(()) => more,
        Err(StoreError::Credits(_)) => Credits::ZERO,
        Err(error) => {
            tracing::warn!(%error, %reservation, "credits not reserved");
            Credits::ZERO
        }
    }
}

/// Returns the org that pays for an agent: its own, or the platform for a protected
/// agent.
pub(crate) fn payer(view: &OrgView, agent: &AgentView) -> OrgId {
    match agent.agent.protection {
        Protection::Protected => view.platform.unwrap_or(view.org.id),
        Protection::Open => view.org.id,
    }
}
