//! Why an address is not fetched.

use std::error::Error;

/// Why an address is not fetched. The texts are for models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefused {
    #[error("this is not a web address; one looks like https://example.com/page")]
    InvalidUrl,
    #[error("addresses with a user name or password are not fetched")]
    UserInfo,
    #[error("only the standard web ports are allowed")]
    Port,
    /// The host name is not part of the public internet.
    #[error("`{0}` is not a name of the public internet")]
    Name(String),
    /// The IP address is in this range, which is not public.
    #[error("this address is {0} and not part of the public internet")]
    Address(&'static str),
    /// The IP address is not in the usual notation.
    #[error("write an IP address as four numbers with dots, or use a name")]
    NonCanonicalAddress,
}

impl AddressRefused {
    /// Returns the refusal of a resolver among the causes of an error.
    pub(crate) fn cause_of(error: &reqwest::Error) -> Option<Self> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref::<Self>() {
                return Some(refused.clone());
            }
            cause = error.source();
        }
        None
    }
}
