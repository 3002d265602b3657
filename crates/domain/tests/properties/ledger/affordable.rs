//! What an org can afford: what the ledger says is what it then accepts.

use ostler_domain::id::ReservationId;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::SessionBudget;
use ostler_domain::money::pools::Account;
use proptest::prelude::*;

use super::{GIA, NOBODY, Run, beginnings, ops, orgs, parent_of, policies};
use crate::check;

/// E05, E06, C07: after any history what an org can afford is exactly the most
/// that it could reserve, whether its own credits, its parent's, its own cap or
/// that of all children binds; without a limit there is no most.
#[test]
fn e05_what_is_affordable_is_the_most_that_can_be_reserved() {
    let steps = prop::collection::vec(ops(), 0..25);
    check(300, &(policies(), beginnings(), steps), |(policy, beginnings, steps)| {
        let mut run = Run::new(&policy, &beginnings);
        for op in &steps {
            run.step(op)?;
        }
        let now = run.now;
        for org in orgs().into_iter().chain([NOBODY]) {
            let accepts = |amount: u64| {
                let id = ReservationId::from_u128(u128::MAX);
                let mut ledger = run.ledger.clone();
                ledger.reserve(id, org, GIA, Credits::new(amount), now, now).is_ok()
            };
            match run.ledger.affordable(org, now) {
                Some(most) => {
                    let opened = run.ledger.account(org).is_some();
                    prop_assert_eq!(accepts(most.get()), opened, "{} for {}", most, org);
                    prop_assert!(!accepts(most.get() + 1), "more than {} for {}", most, org);
                }
                None => prop_assert!(accepts(1_000_000), "a limit for {}", org),
            }
        }
        Ok(())
    });
}

/// C21, E03, E05: what is shown of the budgets is what they are: the org's own
/// credits, the parent's share for a child only, and together what the org can
/// afford.
#[test]
fn c21_the_view_adds_up_to_what_is_affordable() {
    let steps = prop::collection::vec(ops(), 0..25);
    check(
        200,
        &(policies(), beginnings(), steps, 0..60u64),
        |(policy, beginnings, steps, spent)| {
            let mut run = Run::new(&policy, &beginnings);
            for op in &steps {
                run.step(op)?;
            }
            let session = SessionBudget { spent: Credits::new(spent), ..SessionBudget::default() };
            for org in orgs() {
                let view = run.ledger.view(org, &session, run.now);
                let account = run.ledger.account(org);
                prop_assert_eq!(view.session_budget, session.remaining());
                let own = account.map_or(Some(Credits::ZERO), Account::available);
                prop_assert_eq!(view.org_budget, own);
                let has_parent = account.is_some() && parent_of(org).is_some();
                prop_assert_eq!(view.parent_budget.is_some(), has_parent);
                let both = own.map(|own| own + view.parent_budget.unwrap_or_default());
                prop_assert_eq!(run.ledger.affordable(org, run.now), both);
            }
            Ok(())
        },
    );
}
