//! The backlog: how many messages of an org may wait to be answered.
//!
//! To count them is to walk along all that wait, and whoever floods an org would
//! make every message cost such a walk. So they are counted with a margin, and as
//! many messages as the margin has room for come in without being counted. What
//! is answered meanwhile only makes more room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::id::OrgId;

use crate::backend::Tx;
use crate::backend::sql::Sql;
use crate::error::{Result, StoreError};

/// The part of a backlog that comes in after one count. With several processes
/// the limit may be passed by as much for each of the others.
const MARGIN: u32 = 32;

/// Whether so many wait and one more. It walks no further than that.
const WAITING: Sql = Sql {
    sqlite: "SELECT 1 FROM inbox INDEXED BY inbox_pending
       WHERE org = ?1 AND state = 'pending' LIMIT 1 OFFSET ?2",
    postgres: "SELECT 1 FROM inbox WHERE org = $1 AND state = 'pending' LIMIT 1 OFFSET $2",
};

/// How many messages of each org come in before they are counted again.
#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<HashMap<OrgId, u32>>);

impl Room {
    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is room for so many. What is left of an earlier count stays: those who
    /// have taken of it may not be in the database yet.
    fn found(&self, org: OrgId, room: u32) {
        let mut all = self.lock();
        let left = all.entry(org).or_default();
        if *left == 0 {
            *left = room;
        }
    }

    /// Takes one place, if there is one.
    fn take(&self, org: OrgId) -> bool {
        match self.lock().get_mut(&org) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// What a message has to do with the backlog of its org.
#[derive(Debug)]
pub(crate) enum Backlog {
    /// It is let in.
    Open,
    /// It is let in if there is room.
    Limited {
        /// The most that wait.
        limit: u32,
        /// Where it is written down how much room there is.
        room: Arc<Room>,
    },
}

impl Backlog {
    /// A message that comes from outside. [`u32::MAX`] is no limit, and says
    /// nothing about the room that there is for others.
    pub(crate) fn of(org: OrgId, limit: u32, room: &Arc<Room>) -> Self {
        if limit == u32::MAX || room.take(org) {
            return Self::Open;
        }
        Self::Limited { limit, room: room.clone() }
    }

    /// Refuses a message for which there is no room.
    pub(crate) async fn check<T: Tx>(&self, tx: &T, org: OrgId) -> Result<()> {
        let Self::Limited { limit, room } = self else { return Ok(()) };
        let (limit, margin) = (*limit, limit / MARGIN);
        let refused = StoreError::Backlog { limit };
        let Some(most) = limit.checked_sub(1) else { return Err(refused) };
        if !more_than(tx, org, most - margin).await? {
            room.found(org, margin);
        } else if margin == 0 || more_than(tx, org, most).await? {
            return Err(refused);
        }
        Ok(())
    }
}

async fn more_than<T: Tx>(tx: &T, org: OrgId, most: u32) -> Result<bool> {
    Ok(tx.first(&WAITING, &[org.into(), most.into()]).await?.is_some())
}
