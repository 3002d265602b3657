//! Secrets of bindings, in memory while a connection is open. They are never
//! printed.

use std::fmt;

use ostler_domain::id::OrgId;
use ostler_domain::secret::SecretRef;

/// A secret of a binding: a bot's token, a password or a signing key.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelSecret(String);

impl ChannelSecret {
    /// Creates a secret without the white space around `text`.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// Returns the secret itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces the secret in a text that may quote it.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[hidden]") }
    }
}

impl fmt::Debug for ChannelSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelSecret(…)")
    }
}

/// Reads a secret of an org, or returns why it cannot. The function also decides
/// whether the org may use that location. It is called for each use, so that a
/// rotated secret takes effect at once.
pub type SecretReader = dyn Fn(OrgId, &SecretRef) -> Result<ChannelSecret, String> + Send + Sync;

#[cfg(test)]
mod tests {
    use super::ChannelSecret;

    #[test]
    fn a_secret_is_neither_printed_nor_quoted() {
        let secret = ChannelSecret::new(" 123:abc\n");
        assert_eq!(secret.expose(), "123:abc");
        assert_eq!(format!("{secret:?}"), "ChannelSecret(…)");
        assert_eq!(secret.redact("POST /bot123:abc/getMe"), "POST /bot[hidden]/getMe");
        assert_eq!(ChannelSecret::new("").redact("as it is"), "as it is");
    }
}
