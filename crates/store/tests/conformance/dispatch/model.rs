//! Whatever is done to delegations, the store answers as the domain's board.

use ostler_domain::dispatch::delegation::{Board, DelegationStatus as Status};
use ostler_domain::id::DelegationId;
use ostler_store::{Store, StoreError, WhichDelegations as Which};

use super::{at, id, name, work};
use crate::on_every_backend;
use crate::world::with_org;

/// Chance that is the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn some(&mut self) -> u128 {
        u128::from(self.below(12)) + 1
    }
}

on_every_backend!(
    /// X24, X40: random work, dependencies and updates, compared step by step.
    x40_the_store_says_what_the_board_says
);
async fn x40_the_store_says_what_the_board_says(store: &Store) {
    let org = with_org(store, 1).await;
    let there = store.org(org);
    for seed in 0..6_u64 {
        let base = u128::from(seed) * 100;
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut board = Board::default();
        for step in 0..60 {
            let (one, other) = (base + chance.some(), base + chance.some());
            let (said, expected) = match chance.below(4) {
                0 => {
                    let blockers = if chance.below(2) == 0 { vec![] } else { vec![other] };
                    let new = work(one, &blockers);
                    let expected = board.delegate(new.clone()).map(|()| vec![]);
                    (there.delegate(new).await.map(|()| vec![]), expected)
                }
                1 => {
                    let expected = board.block(id(one), id(other)).map(|()| vec![]);
                    let said = there.block_delegation(id(one), id(other)).await;
                    (said.map(|()| vec![]), expected)
                }
                _ => {
                    let to = Status::ALL[chance.below(5) as usize];
                    let expected = board.update(id(one), to, at(2000));
                    let said = there.update_delegation(id(one), to, at(2000)).await;
                    let ids = |ready: Vec<_>| {
                        let ids = ready.iter().map(|work: &super::Delegation| work.id);
                        ids.collect::<Vec<DelegationId>>()
                    };
                    (said.map(ids), expected)
                }
            };
            let said = said.map_err(|error| match error {
                StoreError::Delegation(refused) => refused,
                other => panic!("{other}"),
            });
            assert_eq!(said, expected, "seed {seed} step {step}");
        }
        let expected: [(Which, Vec<_>); 5] = [
            (Which::All, board.all().cloned().collect()),
            (Which::Of(name("ada")), board.of(&name("ada")).cloned().collect()),
            (Which::Blocked, board.blocked().cloned().collect()),
            (Which::Ready, board.ready().cloned().collect()),
            (Which::OverdueAt(at(1001)), board.overdue(at(1001)).cloned().collect()),
        ];
        for (which, expected) in expected {
            let after = id(base);
            let found = there.delegations(which.clone(), Some(after), 100).await.unwrap();
            assert_eq!(found, expected, "{which:?} of seed {seed}");
        }
    }
}
