//! The random secrets of a log-in: the token in the cookie, and the one-time code with which
//! a person sets a password. Only their hashes are stored.

use std::fmt;
use std::str::FromStr;

/// The random part of a secret has at least this many characters.
const MIN_RANDOM_LENGTH: usize = 32;

macro_rules! login_secrets {
    ($($(#[$doc:meta])* $name:ident, $error:ident = $prefix:literal, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(String);

        #[doc = concat!("The text is not ", $what, ". It may be a part of one, so the error")]
        /// does not repeat it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
        #[error("this is not {}; one starts with `{}`", $what, $prefix)]
        pub struct $error;

        impl $name {
            /// The prefix, by which leaked secrets are recognized.
            pub const PREFIX: &str = $prefix;

            /// Returns the whole secret.
            pub fn expose(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let text = text.trim();
                let random = text.strip_prefix(Self::PREFIX).unwrap_or_default();
                let is_plain = random.bytes().all(|byte| byte.is_ascii_alphanumeric());
                if random.len() >= MIN_RANDOM_LENGTH && is_plain {
                    Ok(Self(text.to_owned()))
                } else {
                    Err($error)
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )*};
}

login_secrets! {
    /// The token in the cookie of a logged-in browser.
    LoginToken, InvalidLoginToken = "osl_", "a log-in token";
    /// The one-time code with which a person sets the password of their account.
    PasswordCode, InvalidPasswordCode = "osp_", "a password code";
}

#[cfg(test)]
mod tests {
    use super::{InvalidLoginToken, LoginToken, PasswordCode};

    #[test]
    fn s13_a_secret_of_a_log_in_is_never_printed() {
        let text = format!("osl_{}", "a1".repeat(32));
        let token: LoginToken = format!(" {text}\n").parse().unwrap();
        assert_eq!(token.expose(), text);
        assert_eq!(format!("{token:?}"), "LoginToken(…)");
        for wrong in ["", "osl_", "osl_short", &"a1".repeat(32), &format!("{text}é")] {
            assert_eq!(wrong.parse::<LoginToken>().err(), Some(InvalidLoginToken), "{wrong}");
        }
        assert!(text.parse::<PasswordCode>().is_err(), "the kinds are told apart");
    }
}
