//! Accounts on channels that belong to a user. A person proves an account by sending a code
//! from it that only they got; from then on the account is the user, whatever it writes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Relation;
use super::role::Role;
use crate::channel::Channel;
use crate::id::{OrgId, UserId};
use crate::time::Timestamp;

/// How long a code is valid, unless its creator says otherwise.
pub const DEFAULT_LINK_MINUTES: u32 = 30;
/// The longest that a code may be valid: a day.
pub const MAX_LINK_MINUTES: u32 = 24 * 60;

/// A one-time code that links an account, known only to its user. It fits into a link of
/// Telegram.
#[derive(Clone)]
pub struct LinkCode(String);

/// The text is not a linking code. It may be a part of one, so the error does not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a linking code; one starts with `{}`", LinkCode::PREFIX)]
pub struct InvalidLinkCode;

impl LinkCode {
    /// The prefix of every code, by which codes are recognized.
    pub const PREFIX: &str = "osl_";
    /// The lengths of a code without its prefix.
    const LENGTHS: std::ops::RangeInclusive<usize> = 32..=60;

    /// Returns the whole code.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for LinkCode {
    type Err = InvalidLinkCode;

    fn from_str(text: &str) -> Result<Self, InvalidLinkCode> {
        let text = text.trim();
        let random = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let is_plain = random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if Self::LENGTHS.contains(&random.len()) && is_plain {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidLinkCode)
    }
}

impl fmt::Debug for LinkCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkCode(…)")
    }
}

/// An account on a channel, which the channel proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelAccount {
    pub channel: Channel,
    /// The channel's identifier of the person.
    pub identifier: String,
}

/// An account that belongs to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLink {
    pub user: UserId,
    pub account: ChannelAccount,
    /// The display name of the account when it was linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub linked_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// What is stored of a code that was given to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingLink {
    pub user: UserId,
    /// The hash of the code.
    pub hash: String,
    pub expires_at: Timestamp,
    /// The account that used the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<ChannelAccount>,
}

/// Why a code links nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefused {
    #[error("This code is unknown. Ask for a new one.")]
    Unknown,
    #[error("This code has been used already. Ask for a new one.")]
    Used,
    #[error("This code has expired. Ask for a new one.")]
    Expired,
}

/// What using a code does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkUse {
    First,
    /// The same account used it before: the channel delivered the message again.
    Repeated,
}

impl PendingLink {
    /// Decides whether an account may use the code with this hash.
    pub fn redeem(
        &self,
        hash: &str,
        account: &ChannelAccount,
        now: Timestamp,
    ) -> Result<LinkUse, LinkRefused> {
        if self.hash != hash {
            return Err(LinkRefused::Unknown);
        }
        match &self.used_by {
            Some(by) if by == account => Ok(LinkUse::Repeated),
            Some(_) => Err(LinkRefused::Used),
            None if now >= self.expires_at => Err(LinkRefused::Expired),
            None => Ok(LinkUse::First),
        }
    }
}

/// Returns how long a code is valid, within the limits.
pub fn link_lifetime(minutes: u32) -> Duration {
    Duration::from_secs(u64::from(minutes.clamp(1, MAX_LINK_MINUTES)) * 60)
}

/// Returns how an org is related to one that a user owns, by the user's roles: their own, a
/// client of theirs, or `None`.
pub fn owned_relation(
    roles: impl IntoIterator<Item = (OrgId, Role)>,
    org: OrgId,
    parent: Option<OrgId>,
) -> Option<Relation> {
    let owned = roles.into_iter().filter(|(_, role)| role.must_be_held());
    let relations = owned.filter_map(|(home, _)| match home {
        own if own == org => Some(Relation::Own),
        above if Some(above) == parent => Some(Relation::Child),
        _ => None,
    });
    relations.min_by_key(|relation| *relation != Relation::Own)
}

#[cfg(test)]
mod tests {
    use super::{
        ChannelAccount, LinkCode, LinkRefused, LinkUse, PendingLink, link_lifetime, owned_relation,
    };
    use crate::channel::Channel;
    use crate::id::{OrgId, UserId};
    use crate::org::Relation;
    use crate::org::role::Role;
    use crate::time::Timestamp;

    fn account(identifier: &str) -> ChannelAccount {
        ChannelAccount { channel: Channel::Telegram, identifier: identifier.into() }
    }

    /// L14: a code links one account, once, in time.
    #[test]
    fn l14_a_code_links_one_account_once() {
        let now = Timestamp::from_millis(1000);
        let open = PendingLink {
            user: UserId::from_u128(1),
            hash: "h".into(),
            expires_at: Timestamp::from_millis(2000),
            used_by: None,
        };
        let used = PendingLink { used_by: Some(account("77")), ..open.clone() };
        let late = Timestamp::from_millis(2000);
        let table = [
            (&open, "h", "77", now, Ok(LinkUse::First)),
            (&open, "x", "77", now, Err(LinkRefused::Unknown)),
            (&open, "h", "77", late, Err(LinkRefused::Expired)),
            (&used, "h", "77", late, Ok(LinkUse::Repeated)),
            (&used, "h", "78", now, Err(LinkRefused::Used)),
        ];
        for (n, (pending, hash, who, now, expected)) in table.into_iter().enumerate() {
            assert_eq!(pending.redeem(hash, &account(who), now), expected, "{n}");
        }
        assert_eq!(link_lifetime(0).as_secs(), 60);
        assert_eq!(link_lifetime(u32::MAX).as_secs(), 24 * 60 * 60);
    }

    #[test]
    fn a_linking_code_is_never_printed() {
        let text = format!("osl_{}", "a1".repeat(16));
        let code: LinkCode = format!(" {text}\n").parse().unwrap();
        assert_eq!((code.expose(), format!("{code:?}")), (text.as_str(), "LinkCode(…)".into()));
        let long = format!("osl_{}", "a".repeat(61));
        for text in ["", "gia", "osl_", "osl_short", &"a1".repeat(16), &format!("{text}é"), &long]
        {
            assert!(text.parse::<LinkCode>().is_err(), "{text}");
        }
    }

    /// L14: only owners count, of the org itself before those of the agency.
    #[test]
    fn l14_an_org_is_owned_by_role() {
        let (agency, bella, other) =
            (OrgId::from_u128(1), OrgId::from_u128(2), OrgId::from_u128(3));
        type Case<'a> = (&'a [(OrgId, Role)], Option<Relation>);
        let table: [Case<'_>; 6] = [
            (&[], None),
            (&[(bella, Role::Admin), (agency, Role::Operator)], None),
            (&[(other, Role::Owner)], None),
            (&[(agency, Role::Owner)], Some(Relation::Child)),
            (&[(bella, Role::Owner)], Some(Relation::Own)),
            (&[(agency, Role::Owner), (bella, Role::Owner)], Some(Relation::Own)),
        ];
        for (roles, expected) in table {
            let found = owned_relation(roles.iter().copied(), bella, Some(agency));
            assert_eq!(found, expected, "{roles:?}");
        }
    }
}
