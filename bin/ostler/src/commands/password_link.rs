//! The one-time link with which a person sets a password.

use ostler_api::account::PasswordLink;
use ostler_runtime::operations::NewPasswordCode;
use serde_json::{Value, json};

use super::rfc3339;
use super::session::view::format_time;
use crate::installation::Installation;
use crate::screen::DIM;

/// Returns the link of a code of a local installation.
pub(crate) fn password_link(installation: &Installation, created: NewPasswordCode) -> PasswordLink {
    let NewPasswordCode { code, user, expires_at } = created;
    let code = code.expose().to_owned();
    let link = format!("{}/v1/activate?code={code}", installation.web_url());
    PasswordLink { user: user.id, email: user.email, code, link, expires_at }
}

pub(crate) fn link_json(link: &PasswordLink) -> Value {
    json!({"email": link.email, "link": link.link, "expires_at": rfc3339(link.expires_at)})
}

/// Prints a link on standard output and what to do with it on standard error.
pub(crate) fn print_link(link: &PasswordLink) {
    anstream::println!("{}", link.link);
    anstream::eprintln!(
        "{DIM}Send this link to {} yourself; it is not shown again. In a browser it asks for a \
         password. It works once, until {}, while `ostler serve` runs.{DIM:#}",
        link.email,
        format_time(link.expires_at)
    );
}
