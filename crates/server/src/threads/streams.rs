//! Event streams of threads, counted by owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_api::problem::ProblemCode;

use super::ThreadOwner;
use crate::error::{ApiError, Result};

/// How many streams each owner has open.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnerStreams(Arc<Mutex<HashMap<ThreadOwner, usize>>>);

/// An open stream. Dropping it makes room for another one.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: OwnerStreams,
    owner: ThreadOwner,
}

impl OwnerStreams {
    /// Counts a stream of an owner. Fails if the owner has `max` of them already.
    pub(super) fn open(&self, owner: &ThreadOwner, max: usize) -> Result<OpenStream> {
        let mut counts = self.counts();
        let count = counts.entry(owner.clone()).or_default();
        if *count >= max {
            let detail = format!("you have {max} open event streams of threads; close one first");
            return Err(ApiError::new(ProblemCode::TooMany, detail));
        }
        *count += 1;
        Ok(OpenStream { streams: self.clone(), owner: owner.clone() })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<ThreadOwner, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut counts = self.streams.counts();
        if let Some(count) = counts.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OwnerStreams;
    use crate::threads::ThreadOwner;
    use ostler_api::problem::ProblemCode;
    use ostler_domain::id::OrgId;

    #[test]
    fn an_owner_has_a_limited_number_of_streams() {
        let owner = |resource: &str| ThreadOwner {
            org: OrgId::from_u128(1),
            resource: resource.to_owned(),
        };
        let streams = OwnerStreams::default();
        let first = streams.open(&owner("anna"), 2).unwrap();
        let _second = streams.open(&owner("anna"), 2).unwrap();
        let refused = streams.open(&owner("anna"), 2).unwrap_err();
        assert_eq!(refused.0.code, ProblemCode::TooMany);
        drop(streams.open(&owner("ben"), 2).unwrap());
        drop(first);
        drop(streams.open(&owner("anna"), 2).unwrap());
        assert_eq!(streams.counts().len(), 1);
    }
}
