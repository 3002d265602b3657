//! The one-time link with which a person sets a password.

use ostler_domain::time::Timestamp;
use ostler_runtime::operations::NewPasswordCode;
use serde_json::{Value, json};

use super::rfc3339;
use super::session::view::format_time;
use crate::installation::Installation;
use crate::screen::DIM;

/// A link and whom it is for.
pub(crate) struct PasswordLink {
    email: String,
    pub(crate) link: String,
    expires_at: Timestamp,
}

impl PasswordLink {
    pub(crate) fn new(installation: &Installation, created: NewPasswordCode) -> Self {
        let NewPasswordCode { code, user, expires_at } = created;
        let link = activation_link(installation, code.expose());
        Self { email: user.email, link, expires_at }
    }

    pub(crate) fn json(&self) -> Value {
        json!({"email": self.email, "link": self.link, "expires_at": rfc3339(self.expires_at)})
    }

    /// Prints the link on standard output and what to do with it on standard error.
    pub(crate) fn print(&self) {
        anstream::println!("{}", self.link);
        anstream::eprintln!(
            "{DIM}Send this link to {} yourself; it is not shown again. In a browser it asks for a \
             password. It works once, until {}, while `ostler serve` runs.{DIM:#}",
            self.email,
            format_time(self.expires_at)
        );
    }
}

/// Returns the link that a person opens with a one-time code.
pub(crate) fn activation_link(installation: &Installation, code: &str) -> String {
    format!("{}/v1/activate?code={code}", installation.web_url())
}
