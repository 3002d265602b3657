//! New API keys: how long they are valid, and what a key may give to the keys that it makes.
//! Which roles somebody may give is decided in [`super::people`].

use super::key_scope::{DEFAULT_KEY_DAYS, KeyScopes, MAX_KEY_DAYS, key_lifetime};
use crate::time::Timestamp;

/// How long a new key is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLifetime {
    /// The usual time, and no longer than the key that makes it.
    Usual,
    Days(u32),
    Unlimited,
}

/// The key with which another one is made.
#[derive(Debug, Clone, Copy)]
pub struct MakerKey<'k> {
    pub scopes: &'k KeyScopes,
    pub expires_at: Option<Timestamp>,
}

/// Why a key is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NewKeyRefused {
    #[error("a key is valid for 1 to {MAX_KEY_DAYS} days, or never expires")]
    Lifetime,
    #[error("your key has the scopes {0}, and a key that it makes has these or fewer; name them")]
    WiderScopes(KeyScopes),
    #[error("a key that your key makes is not valid for longer than yours; choose fewer days")]
    OutlivesMaker,
}

/// Checks a new key and returns when it expires. `maker` is the key that makes it; people and
/// the operator at the machine have none.
pub fn check_new_key(
    scopes: &KeyScopes,
    lifetime: KeyLifetime,
    maker: Option<MakerKey<'_>>,
    now: Timestamp,
) -> Result<Option<Timestamp>, NewKeyRefused> {
    let latest = maker.and_then(|maker| maker.expires_at);
    if let Some(maker) = maker.filter(|maker| !maker.scopes.include(scopes)) {
        return Err(NewKeyRefused::WiderScopes(maker.scopes.clone()));
    }
    let asked = match lifetime {
        KeyLifetime::Usual => {
            let usual = now + key_lifetime(DEFAULT_KEY_DAYS);
            return Ok(Some(latest.map_or(usual, |latest| usual.min(latest))));
        }
        KeyLifetime::Days(days) if (1..=MAX_KEY_DAYS).contains(&days) => {
            Some(now + key_lifetime(days))
        }
        KeyLifetime::Days(_) => return Err(NewKeyRefused::Lifetime),
        KeyLifetime::Unlimited => None,
    };
    match (latest, asked) {
        (Some(latest), Some(asked)) if asked <= latest => Ok(Some(asked)),
        (Some(_), _) => Err(NewKeyRefused::OutlivesMaker),
        (None, asked) => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::KeyLifetime::{Days, Unlimited, Usual};
    use super::NewKeyRefused::{Lifetime, OutlivesMaker};
    use super::{MakerKey, NewKeyRefused, check_new_key};
    use crate::org::key_scope::{KeyScopes, key_lifetime};
    use crate::time::Timestamp;

    fn scopes(text: &str) -> KeyScopes {
        text.parse().unwrap()
    }

    #[test]
    fn s12_a_key_makes_no_key_that_may_do_more() {
        let now = Timestamp::from_millis(0);
        for (maker, new, is_within) in [
            ("", "", true),
            ("", "*:write", true),
            ("*:write", "", false),
            ("keys:write", "", false),
            ("keys:write", "keys:write", true),
            ("keys:write", "keys:read", true),
            ("keys:write", "keys:write knowledge:read", false),
            ("keys:write *:read", "*:read", true),
            ("keys:write knowledge:read", "*:read", false),
            ("keys:write *:read", "knowledge:write", false),
        ] {
            let (own, wanted) = (scopes(maker), scopes(new));
            let maker_key = MakerKey { scopes: &own, expires_at: None };
            let checked = check_new_key(&wanted, Unlimited, Some(maker_key), now);
            let expected =
                if is_within { Ok(None) } else { Err(NewKeyRefused::WiderScopes(own.clone())) };
            assert_eq!(checked, expected, "{maker:?} makes {new:?}");
        }
    }

    #[test]
    fn s12_a_key_does_not_outlive_the_key_that_makes_it() {
        let now = Timestamp::from_millis(7);
        let after = |days| now + key_lifetime(days);
        for (lifetime, maker_days, expected) in [
            (Usual, None, Ok(Some(after(90)))),
            (Usual, Some(30), Ok(Some(after(30)))),
            (Usual, Some(100), Ok(Some(after(90)))),
            (Days(30), Some(30), Ok(Some(after(30)))),
            (Days(31), Some(30), Err(OutlivesMaker)),
            (Unlimited, Some(30), Err(OutlivesMaker)),
            (Unlimited, None, Ok(None)),
            (Days(0), None, Err(Lifetime)),
            (Days(3651), None, Err(Lifetime)),
        ] {
            let all = KeyScopes::default();
            let maker = MakerKey { scopes: &all, expires_at: maker_days.map(after) };
            let checked = check_new_key(&all, lifetime, Some(maker), now);
            assert_eq!(checked, expected, "{lifetime:?} by a key of {maker_days:?} days");
        }
    }
}
