//! Deep links: addresses that open a conversation with an org, or with one of its agents. A
//! link holds a random secret, so nobody can guess one or change the org it names; only the
//! hash of the secret is stored.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::audit::AuditActor;
use crate::id::{AgentId, OrgId, RecordId};
use crate::time::Timestamp;

/// How many days a link is valid, unless its creator says otherwise.
pub const DEFAULT_LINK_DAYS: u32 = 30;
/// The longest that a link may be valid.
pub const MAX_LINK_DAYS: u32 = 365;

/// The length of a token: org, link and secret.
const TOKEN_BYTES: usize = 48;

/// What a link carries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DeepLinkToken {
    pub org: OrgId,
    pub link: RecordId,
    pub secret: [u8; 16],
}

impl std::fmt::Debug for DeepLinkToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeepLinkToken({}, {}, …)", self.org, self.link)
    }
}

impl DeepLinkToken {
    /// Returns the bytes that are written into the address.
    pub fn to_bytes(self) -> [u8; TOKEN_BYTES] {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..16].copy_from_slice(&self.org.as_u128().to_be_bytes());
        bytes[16..32].copy_from_slice(&self.link.as_u128().to_be_bytes());
        bytes[32..].copy_from_slice(&self.secret);
        bytes
    }

    /// Reads the bytes of an address; returns `None` if they are none of a link.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TOKEN_BYTES] = bytes.try_into().ok()?;
        let part = |at: usize| -> Option<[u8; 16]> { bytes.get(at..at + 16)?.try_into().ok() };
        Some(Self {
            org: OrgId::from_u128(u128::from_be_bytes(part(0)?)),
            link: RecordId::from_u128(u128::from_be_bytes(part(16)?)),
            secret: part(32)?,
        })
    }
}

/// A deep link, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeepLink {
    /// The agent that a test reaches; `None` means the PM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The hash of the secret.
    pub hash: String,
    pub created_by: AuditActor,
    pub expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// Why a link does not open a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeepLinkRefused {
    #[error("This link is not valid.")]
    Unknown,
    #[error("This link is not valid any more.")]
    Revoked,
    #[error("This link has expired.")]
    Expired,
}

impl DeepLink {
    /// Checks that the link may be opened with a secret of this hash.
    pub fn check(&self, hash: &str, now: Timestamp) -> Result<(), DeepLinkRefused> {
        if self.hash != hash {
            return Err(DeepLinkRefused::Unknown);
        }
        if self.revoked_at.is_some() {
            return Err(DeepLinkRefused::Revoked);
        }
        if now >= self.expires_at {
            return Err(DeepLinkRefused::Expired);
        }
        Ok(())
    }
}

/// Returns how long a link is valid, within the limits.
pub fn deep_link_lifetime(days: u32) -> Duration {
    Duration::from_secs(u64::from(days.clamp(1, MAX_LINK_DAYS)) * 24 * 60 * 60)
}

/// Returns the address that opens a conversation with a Telegram bot.
pub fn telegram_url(bot: &str, payload: &str) -> String {
    format!("https://t.me/{}?start={payload}", bot.trim_start_matches('@'))
}

#[cfg(test)]
mod tests {
    use super::{DeepLink, DeepLinkRefused, DeepLinkToken, deep_link_lifetime, telegram_url};
    use crate::audit::AuditActor;
    use crate::id::{OrgId, RecordId};
    use crate::time::Timestamp;

    /// L34: a link opens with its own secret, until it expires or is revoked.
    #[test]
    fn l34_a_link_expires_and_is_revoked() {
        let link = DeepLink {
            agent: None,
            hash: "h".into(),
            created_by: AuditActor::Terminal,
            expires_at: Timestamp::from_millis(2000),
            revoked_at: None,
        };
        let (now, late) = (Timestamp::from_millis(1999), Timestamp::from_millis(2000));
        let revoked = DeepLink { revoked_at: Some(now), ..link.clone() };
        let table = [
            (&link, "h", now, Ok(())),
            (&link, "x", now, Err(DeepLinkRefused::Unknown)),
            (&link, "h", late, Err(DeepLinkRefused::Expired)),
            (&revoked, "h", now, Err(DeepLinkRefused::Revoked)),
        ];
        for (n, (link, hash, now, expected)) in table.into_iter().enumerate() {
            assert_eq!(link.check(hash, now), expected, "{n}");
        }
        assert_eq!(deep_link_lifetime(0).as_secs(), 86_400);
        assert_eq!(deep_link_lifetime(9999).as_secs(), 365 * 86_400);
        assert_eq!(telegram_url("@Bella", "x"), "https://t.me/Bella?start=x");
    }

    /// L34: a token names its org and link, and nothing shorter or longer is one.
    #[test]
    fn l34_a_token_reads_back() {
        let token = DeepLinkToken {
            org: OrgId::from_u128(7),
            link: RecordId::from_u128(u128::MAX),
            secret: *b"0123456789abcdef",
        };
        let bytes = token.to_bytes();
        assert_eq!(DeepLinkToken::from_bytes(&bytes), Some(token));
        assert_eq!(DeepLinkToken::from_bytes(&bytes[1..]), None);
        assert!(format!("{token:?}").ends_with(", …)"), "{token:?}");
    }
}
