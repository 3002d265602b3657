//! Log-in of people: passwords, how long a log-in lasts, and how often one may be tried.
//!
//! Hashing, cookies and clocks are the business of the server.

pub mod attempts;
pub mod secret;

use std::time::Duration;

/// The fewest characters of a password.
pub const MIN_PASSWORD_CHARACTERS: usize = 12;
/// The most bytes of a password, so that hashing one stays cheap.
pub const MAX_PASSWORD_BYTES: usize = 256;

/// How long a log-in stays valid without a request.
pub const IDLE_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How long a log-in is valid at most.
pub const MAX_LIFETIME: Duration = Duration::from_secs(14 * 24 * 3600);
/// How long a password code is valid.
pub const PASSWORD_CODE_LIFETIME: Duration = Duration::from_secs(3 * 24 * 3600);
/// The most log-ins of a user at the same time; a further one ends the oldest.
pub const MAX_LOGINS: u32 = 20;

/// Why a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRefused {
    #[error("a password has at least {MIN_PASSWORD_CHARACTERS} characters")]
    TooShort,
    #[error("a password has at most {MAX_PASSWORD_BYTES} bytes")]
    TooLong,
    #[error("this password is the e-mail address or one character repeated; choose another one")]
    TooSimple,
}

/// Checks a new password of the user with this e-mail address.
pub fn check_password(password: &str, email: &str) -> Result<(), PasswordRefused> {
    if password.chars().count() < MIN_PASSWORD_CHARACTERS {
        return Err(PasswordRefused::TooShort);
    }
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(PasswordRefused::TooLong);
    }
    let first = password.chars().next();
    let is_repeated = password.chars().all(|letter| Some(letter) == first);
    if is_repeated || password.trim().eq_ignore_ascii_case(email.trim()) {
        return Err(PasswordRefused::TooSimple);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{PasswordRefused, check_password};

    #[test]
    fn s13_short_long_and_simple_passwords_are_refused() {
        use PasswordRefused::{TooLong, TooShort, TooSimple};
        for (password, expected) in [
            ("amber-otter-41", Ok(())),
            ("a somewhat longer sentence", Ok(())),
            ("éééééééééééa", Ok(())),
            ("", Err(TooShort)),
            ("elevenchars", Err(TooShort)),
            ("aaaaaaaaaaaaaaaa", Err(TooSimple)),
            ("Ada@Example.com", Err(TooSimple)),
        ] {
            assert_eq!(check_password(password, "ada@example.com"), expected, "{password}");
        }
        assert_eq!(check_password(&"ab".repeat(128), "a@b.c"), Ok(()));
        assert_eq!(check_password(&"ab".repeat(129), "a@b.c"), Err(TooLong));
    }
}
