//! Log-in of people, and what they do with their own account: log-ins, password, sessions
//! of browsers, resets by admins.
//!
//! | file | holds |
//! |---|---|
//! | `activation` | setting a first or new password with a one-time code |
//! | `address` | the network address of a client behind trusted proxies |
//! | `cookie` | the cookie of a logged-in browser |
//! | `key_refusals` | log and limit of requests with invalid keys |
//! | `log_in` | logging in and out |
//! | `members` | resets by admins |
//! | `notice_choices` | what a user wants to be notified of |
//! | `oidc` | logging in with an identity provider |
//! | `own` | who the caller is; own log-ins; changing the password |
//! | `passwords` | hashing and checking passwords |
//! | `same_site` | refusing changes that another site makes with somebody's cookie |

mod activation;
pub(crate) mod address;
pub(crate) mod cookie;
pub(crate) mod key_refusals;
mod log_in;
mod members;
mod notice_choices;
pub(crate) mod oidc;
mod own;
mod passwords;
pub(crate) mod same_site;

use axum::Router;
use axum::routing::{delete, get, post, put};
use ipnet::IpNet;

use self::key_refusals::KeyRefusals;
use self::oidc::{IdentityProvider, IdentityProviders};
use self::passwords::Passwords;
use crate::server::Server;

/// How people and keys are recognized.
#[derive(Debug, Clone, Default)]
pub struct AccountOptions {
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    pub identity_providers: Vec<IdentityProvider>,
}

/// What the server remembers of accounts.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) options: AccountOptions,
    pub(crate) passwords: Passwords,
    pub(crate) key_refusals: KeyRefusals,
    pub(crate) providers: IdentityProviders,
}

impl Accounts {
    pub(crate) fn new(options: AccountOptions) -> Self {
        let providers = IdentityProviders::new(&options.identity_providers);
        let (passwords, key_refusals) = (Passwords::default(), KeyRefusals::default());
        Self { options, passwords, key_refusals, providers }
    }
}

/// Routes for people who are not logged in.
pub(crate) fn public_routes() -> Router<Server> {
    Router::new()
        .route("/v1/login", get(oidc::routes::list).post(log_in::log_in))
        .route("/v1/login/{provider}", get(oidc::routes::begin))
        .route("/v1/login/{provider}/callback", get(oidc::routes::finish))
        .route("/v1/activate", get(activation::show).post(activation::activate))
}

/// Routes of the caller's own account.
pub(crate) fn own_routes() -> Router<Server> {
    Router::new()
        .route("/me", get(own::me))
        .route("/me/password", put(own::change_password))
        .route("/me/sessions", get(own::sessions))
        .route("/me/sessions/{login}", delete(own::end_session))
        .route("/logout", post(log_in::log_out))
}

/// Routes of an org about its members: their log-ins, and what each chooses.
pub(crate) fn member_routes() -> Router<Server> {
    Router::new()
        .route("/notice-choices", get(notice_choices::show).patch(notice_choices::change))
        .route("/members/{member}/password-code", post(members::create_password_code))
        .route("/members/{member}/logins", get(members::logins).delete(members::end_logins))
}
