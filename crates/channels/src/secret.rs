//! Secrets of bindings, for as long as a connection is open. None is printed.

use std::fmt;

use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;

/// A secret: a bot's token, a password, a key for signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret as it was read, without white space around it.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// The secret itself, for whoever signs with it or sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// A text that may quote the secret, without it.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[hidden]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Reads the secret that an org keeps somewhere, or says why it cannot: whether
/// the org may use that place is for the reader to judge. It is asked anew each
/// time, so that a rotated secret counts at once.
pub type ReadSecret = dyn Fn(OrgId, &SecretRef) -> Result<Secret, String> + Send + Sync;

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_is_neither_printed_nor_repeated() {
        let secret = Secret::new(" 123:abc\n");
        assert_eq!(secret.expose(), "123:abc");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.hide_in("POST /bot123:abc/getMe"), "POST /bot[hidden]/getMe");
        assert_eq!(Secret::new("").hide_in("as it is"), "as it is");
    }
}
