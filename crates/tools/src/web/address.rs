//! Why something is not fetched.

use std::net::IpAddr;

use ostler_domain::address::not_public;

/// Why something is not fetched. The words are for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not an address of a page.
    #[error("this is not a web address; one looks like https://example.com/page")]
    NotAUrl,
    /// It has a user name or a password in it.
    #[error("an address with a user name or password in it is not fetched")]
    UserInfo,
    /// Its port is not one of the web.
    #[error("only the usual ports of the web are used")]
    Port,
    /// The name is not one of the public internet.
    #[error("`{0}` is not a name of the public internet")]
    Name(String),
    /// It leads to an address that is not public.
    #[error("this address is {0} and not part of the public internet")]
    Address(&'static str),
    /// It is an IP address written in an unusual way.
    #[error("write an IP address as four numbers with dots, or use a name")]
    OddAddress,
}

/// Says why an address is not part of the public internet, if it is not.
pub(super) fn check(address: IpAddr) -> Result<(), Refused> {
    not_public(address).map_or(Ok(()), |why| Err(Refused::Address(why)))
}
