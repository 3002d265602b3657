//! Reserving for many turns at once: one transaction holds the account's row for
//! all who ask at the same time. Each for itself, they would wait in a row for it,
//! every one with a connection in hand.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ostler_domain::id::OrgId;

use super::book::Book;
use super::reserve::{NewReservation, Reserved, reserve_in};
use crate::Store;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::together::{Answers, Together};

/// Those who reserve at the same time, by the org that pays.
#[derive(Debug, Default)]
pub(crate) struct Reserving(Mutex<HashMap<OrgId, Together<ForMany>>>);

impl Reserving {
    /// Where those ask who draw on an org's account.
    pub(super) fn of(&self, org: OrgId) -> Together<ForMany> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(org).or_insert_with(|| Together::new(ForMany(org))).clone()
    }
}

/// Reserves for all who ask. Whoever gets nothing is served alone, and hears why.
pub(super) struct ForMany(OrgId);

impl Answers for ForMany {
    type Question = (Store, NewReservation);
    type Answer = Option<Result<Reserved>>;
    const MOST: usize = 64;

    async fn answer_all(&self, questions: Vec<Self::Question>) -> Vec<Self::Answer> {
        let (stores, all): (Vec<Store>, Vec<NewReservation>) = questions.into_iter().unzip();
        let Some(store) = stores.first() else { return Vec::new() };
        let many = all.len();
        match store.write(ReserveAll(self.0, all)).await {
            Ok(reserved) => reserved.into_iter().map(|one| one.map(Ok)).collect(),
            Err(StoreError::Unavailable(why)) => {
                let gone = || Some(Err(StoreError::Unavailable(why.clone())));
                std::iter::repeat_with(gone).take(many).collect()
            }
            Err(_) => std::iter::repeat_with(|| None).take(many).collect(),
        }
    }
}

/// It does not wait for the disk, as one alone does not.
struct ReserveAll(OrgId, Vec<NewReservation>);

impl Operation for ReserveAll {
    type Output = Vec<Option<Reserved>>;
    const FLUSHED: bool = false;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Option<Reserved>>> {
        let mut book = Book::open(tx, self.0).await?;
        let (mut answers, mut all) = (Vec::with_capacity(self.1.len()), Vec::new());
        for new in &self.1 {
            answers.push(match reserve_in(tx, &mut book, self.0, *new).await {
                Ok((reserved, add)) => {
                    all.push(add);
                    Some(reserved)
                }
                Err(StoreError::Credits(_)) => None,
                Err(other) => return Err(other),
            });
        }
        all.extend(book.write_back()?);
        tx.finish(&all).await?;
        Ok(answers)
    }
}
