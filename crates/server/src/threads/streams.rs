//! Event streams of threads, counted by owner.

use ostler_api::problem::ProblemCode;

use super::ThreadOwner;
use crate::error::{ApiError, Result};
use crate::open_counts::{OpenCount, OpenCounts};

/// How many streams each owner has open.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnerStreams(OpenCounts<ThreadOwner>);

/// An open stream. Dropping it makes room for another one.
pub(crate) type OpenStream = OpenCount<ThreadOwner>;

impl OwnerStreams {
    /// Counts a stream of an owner. Fails if the owner has `max` of them already.
    pub(super) fn open(&self, owner: &ThreadOwner, max: usize) -> Result<OpenStream> {
        self.0.open(owner.clone(), max).ok_or_else(|| {
            let detail = format!("you have {max} open event streams of threads; close one first");
            ApiError::new(ProblemCode::TooMany, detail)
        })
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
    }
}
