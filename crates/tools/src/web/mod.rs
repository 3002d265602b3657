//! Reading pages of the web, and nothing of our own network.
//!
//! An address is checked when it is written, and every address that a name stands
//! for is checked by the very look-up that the connection uses, on each hop. There
//! is no proxy, no cookie and no credential.

mod address;
mod charset;
mod fetch;
mod html;
mod resolve;
mod target;
pub(crate) mod tls;
mod web_fetch;

pub use address::Refused;
pub use fetch::{FetchError, Fetched, Fetcher};
pub use resolve::{Lookup, SystemLookup};
pub use target::Policy;
pub use web_fetch::WebFetch;
