//! The `Web` group: reads pages of the public web, and never of a private network.
//!
//! A URL is checked before the request. Every IP address of its host is checked by the
//! same DNS lookup that the connection uses, for each redirect. There are no proxies,
//! cookies or credentials.

mod charset;
mod fetch;
mod html;
mod policy;
mod refusal;
mod resolver;
mod web_fetch;

pub use fetch::{FetchError, FetchedPage, Fetcher};
pub use policy::FetchPolicy;
pub use refusal::AddressRefused;
pub use resolver::{HostResolver, SystemResolver};
pub use web_fetch::WebFetch;
