//! Batched reservations: one transaction locks the account's row for all turns that
//! reserve at the same time. Individually they would queue for the lock, each
//! occupying a connection.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ostler_domain::id::OrgId;

use super::locked_accounts::LockedAccounts;
use super::reservations::{NewReservation, RemainingCredits, reserve_in};
use crate::Store;
use crate::backend::Tx;
use crate::batcher::{BatchHandler, Batcher};
use crate::error::{Result, StoreError};

/// The reservation batchers, by the paying org.
#[derive(Debug, Default)]
pub(crate) struct ReservationBatchers(Mutex<HashMap<OrgId, Batcher<ReservationBatch>>>);

impl ReservationBatchers {
    /// Returns the batcher of an org's account.
    pub(super) fn of(&self, org: OrgId) -> Batcher<ReservationBatch> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(org).or_insert_with(|| Batcher::new(ReservationBatch(org))).clone()
    }
}

/// Handles a batch of reservations. `None` means that the caller must reserve alone, to
/// learn the reason.
pub(super) struct ReservationBatch(OrgId);

impl BatchHandler for ReservationBatch {
    type Request = (Store, NewReservation);
    type Response = Option<Result<RemainingCredits>>;
    const MAX_BATCH: usize = 64;

    async fn handle_batch(&self, questions: Vec<Self::Request>) -> Vec<Self::Response> {
        let (stores, all): (Vec<Store>, Vec<NewReservation>) = questions.into_iter().unzip();
        let Some(store) = stores.first() else { return Vec::new() };
        let (org, many) = (self.0, all.len());
        // Does not wait for the disk, like a single reservation.
        match store.org(org).write_later(move |tx| reserve_all(tx, org, &all)).await {
            Ok(reserved) => reserved.into_iter().map(|one| one.map(Ok)).collect(),
            Err(StoreError::Unavailable(why)) => {
                let gone = || Some(Err(StoreError::Unavailable(why.clone())));
                std::iter::repeat_with(gone).take(many).collect()
            }
            Err(_) => std::iter::repeat_with(|| None).take(many).collect(),
        }
    }
}

fn reserve_all(
    tx: &Tx,
    org: OrgId,
    reservations: &[NewReservation],
) -> Result<Vec<Option<RemainingCredits>>> {
    let mut accounts = LockedAccounts::open(tx, org)?;
    let (mut answers, mut all) = (Vec::with_capacity(reservations.len()), Vec::new());
    for new in reservations {
        answers.push(match reserve_in(tx, &mut accounts, org, *new) {
            Ok((reserved, add)) => {
                all.push(add);
                Some(reserved)
            }
            Err(StoreError::Credits(_)) => None,
            Err(other) => return Err(other),
        });
    }
    all.extend(accounts.write_back()?);
    tx.finish(&all)?;
    Ok(answers)
}
