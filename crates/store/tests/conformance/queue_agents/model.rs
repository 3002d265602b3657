//! Random operations on delegations, compared with the domain's `DelegationBoard`.

use ostler_domain::id::DelegationId;
use ostler_domain::queue_agent::delegation::{DelegationBoard, DelegationStatus as Status};
use ostler_store::{DelegationFilter, Store, StoreError};

use super::{at, id, name, work};
use crate::on_every_backend;
use crate::support::with_org;

/// A deterministic random number generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn number(&mut self) -> u128 {
        u128::from(self.below(12)) + 1
    }
}

on_every_backend!(
    /// X24, X40: random delegations, blockers and updates, compared step by step.
    x40_the_store_agrees_with_the_delegation_board
);
async fn x40_the_store_agrees_with_the_delegation_board(store: &Store) {
    let org = with_org(store, 1).await;
    let org_store = store.org(org);
    for seed in 0..6_u64 {
        let base = u128::from(seed) * 100;
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut board = DelegationBoard::default();
        for step in 0..60 {
            let (one, other) = (base + rng.number(), base + rng.number());
            let (actual, expected) = match rng.below(4) {
                0 => {
                    let blockers = if rng.below(2) == 0 { vec![] } else { vec![other] };
                    let new = work(one, &blockers);
                    let expected = board.delegate(new.clone()).map(|()| vec![]);
                    (org_store.create_delegation(new).await.map(|()| vec![]), expected)
                }
                1 => {
                    let expected = board.block(id(one), id(other)).map(|()| vec![]);
                    let actual = org_store.block_delegation(id(one), id(other)).await;
                    (actual.map(|()| vec![]), expected)
                }
                _ => {
                    let to = Status::ALL[rng.below(5) as usize];
                    let expected = board.update(id(one), to, at(2000));
                    let actual = org_store.update_delegation(id(one), to, at(2000)).await;
                    let ids = |ready: Vec<_>| {
                        let ids = ready.iter().map(|work: &super::Delegation| work.id);
                        ids.collect::<Vec<DelegationId>>()
                    };
                    (actual.map(ids), expected)
                }
            };
            let actual = actual.map_err(|error| match error {
                StoreError::Delegation(refused) => refused,
                other => panic!("{other}"),
            });
            assert_eq!(actual, expected, "seed {seed} step {step}");
        }
        let expected: [(DelegationFilter, Vec<_>); 5] = [
            (DelegationFilter::All, board.all().cloned().collect()),
            (
                DelegationFilter::AssignedTo(name("ada")),
                board.assigned_to(&name("ada")).cloned().collect(),
            ),
            (DelegationFilter::Blocked, board.blocked().cloned().collect()),
            (DelegationFilter::Ready, board.ready().cloned().collect()),
            (DelegationFilter::OverdueAt(at(1001)), board.overdue(at(1001)).cloned().collect()),
        ];
        for (filter, expected) in expected {
            let after = id(base);
            let found = org_store.delegations(filter.clone(), Some(after), 100).await.unwrap();
            assert_eq!(found, expected, "{filter:?} of seed {seed}");
        }
    }
}
