//! Properties of affordability: the ledger accepts exactly what it reports as
//! affordable.

use ostler_domain::id::ReservationId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::money::pools::CreditAccount;
use proptest::prelude::*;

use super::{GIA, LedgerPair, WITHOUT_ACCOUNT, initial_accounts, ops, orgs, parent_of, policies};
use crate::check;

/// E05, E06, C07: after any history, what an org can afford is exactly the maximum
/// it can reserve, whether its own credits, its parent's, its own cap or the cap of
/// all children is the limit; an unlimited plan has no maximum.
#[test]
fn e05_what_is_affordable_is_the_maximum_that_can_be_reserved() {
    let steps = prop::collection::vec(ops(), 0..25);
    check(300, &(policies(), initial_accounts(), steps), |(policy, initial_accounts, steps)| {
        let mut pair = LedgerPair::new(&policy, &initial_accounts);
        for op in &steps {
            pair.step(op)?;
        }
        let now = pair.now;
        for org in orgs().into_iter().chain([WITHOUT_ACCOUNT]) {
            let accepts = |amount: u64| {
                let id = ReservationId::from_u128(u128::MAX);
                let mut ledger = pair.ledger.clone();
                ledger.reserve(id, org, GIA, Credits::new(amount), now, now).is_ok()
            };
            match pair.ledger.affordable(org, now) {
                Some(maximum) => {
                    let opened = pair.ledger.account(org).is_some();
                    prop_assert_eq!(accepts(maximum.get()), opened, "{} for {}", maximum, org);
                    prop_assert!(!accepts(maximum.get() + 1), "more than {} for {}", maximum, org);
                }
                None => prop_assert!(accepts(1_000_000), "a limit for {}", org),
            }
        }
        Ok(())
    });
}

/// C21, E03, E05: the budget view shows the org's own credits and, for a child, the
/// parent's share, and together what the org can afford.
#[test]
fn c21_the_view_adds_up_to_what_is_affordable() {
    let steps = prop::collection::vec(ops(), 0..25);
    check(
        200,
        &(policies(), initial_accounts(), steps, 0..60u64),
        |(policy, initial_accounts, steps, spent)| {
            let mut pair = LedgerPair::new(&policy, &initial_accounts);
            for op in &steps {
                pair.step(op)?;
            }
            let session = SessionBudget { spent: Credits::new(spent), ..SessionBudget::default() };
            for org in orgs() {
                let view = pair.ledger.budget_view(org, &session, pair.now);
                let account = pair.ledger.account(org);
                prop_assert_eq!(view.session_budget, session.remaining());
                let own = account.map_or(Some(Credits::ZERO), CreditAccount::available);
                prop_assert_eq!(view.org_budget, own);
                let has_parent = account.is_some() && parent_of(org).is_some();
                prop_assert_eq!(view.parent_budget.is_some(), has_parent);
                let both = own.map(|own| own + view.parent_budget.unwrap_or_default());
                prop_assert_eq!(pair.ledger.affordable(org, pair.now), both);
            }
            Ok(())
        },
    );
}
