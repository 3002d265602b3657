//! Log and limit of requests whose key is not valid, by the address that they come from.
//!
//! Beyond the limit, an address is answered without a look into the database until the
//! minute is over, apart from keys that were valid before: others behind the same address
//! go on.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_domain::login::attempts::client_network;
use ostler_domain::secret::ApiKeySecret;
use sha2::{Digest, Sha256};

/// Requests with invalid keys that an address may send in a minute.
const PER_MINUTE: u32 = 60;
/// The most addresses and valid keys that are remembered.
const MAX_REMEMBERED: usize = 20_000;

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyLookup {
    Allowed,
    /// The address sent too many invalid keys.
    Refused,
}

/// Counts invalid keys by address.
#[derive(Debug, Default)]
pub(crate) struct KeyRefusals(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// The minute and the number of refusals in it.
    addresses: HashMap<IpAddr, (i64, u32)>,
    /// Hashes of keys that were valid.
    valid: HashSet<[u8; 32]>,
}

impl KeyRefusals {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a key is looked up. `minute` counts the minutes since 1970.
    pub(crate) fn check(
        &self,
        address: IpAddr,
        key: Option<&ApiKeySecret>,
        minute: i64,
    ) -> KeyLookup {
        let remembered = self.lock();
        let counted = remembered.addresses.get(&client_network(address));
        let is_over = counted.is_some_and(|(at, count)| *at == minute && *count >= PER_MINUTE);
        let is_known = key.is_some_and(|key| remembered.valid.contains(&digest(key)));
        if is_over && !is_known { KeyLookup::Refused } else { KeyLookup::Allowed }
    }

    /// Remembers a key that is valid.
    pub(crate) fn remember_valid(&self, key: &ApiKeySecret) {
        let (digest, mut remembered) = (digest(key), self.lock());
        if remembered.valid.len() >= MAX_REMEMBERED {
            remembered.valid.clear();
        }
        remembered.valid.insert(digest);
    }

    /// Counts an invalid key and logs it. Beyond the limit nothing is logged.
    pub(crate) fn record(&self, address: IpAddr, key: Option<&ApiKeySecret>, minute: i64) {
        let count = {
            let mut remembered = self.lock();
            if let Some(key) = key {
                remembered.valid.remove(&digest(key));
            }
            if remembered.addresses.len() >= MAX_REMEMBERED {
                remembered.addresses.retain(|_, (at, _)| *at == minute);
            }
            if remembered.addresses.len() >= MAX_REMEMBERED {
                return;
            }
            let entry = remembered.addresses.entry(client_network(address)).or_default();
            *entry = if entry.0 == minute { (minute, entry.1 + 1) } else { (minute, 1) };
            entry.1
        };
        // The first characters of a key are shown in listings too.
        let prefix = key.map(ApiKeySecret::prefix).unwrap_or_default();
        match count {
            ..PER_MINUTE => tracing::warn!(%address, prefix, "API key refused"),
            PER_MINUTE => tracing::warn!(
                %address,
                prefix,
                "API key refused, further refusals of this minute are not logged"
            ),
            _ => {}
        }
    }
}

fn digest(key: &ApiKeySecret) -> [u8; 32] {
    Sha256::digest(key.expose().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::KeyLookup::{Allowed, Refused};
    use super::{KeyRefusals, PER_MINUTE};

    #[test]
    fn s12_an_address_with_many_invalid_keys_waits_and_valid_keys_go_on() {
        let refusals = KeyRefusals::default();
        let [one, other]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|a| a.parse().unwrap());
        let valid = "osk_a-valid-key-of-a-program-that-works".parse().unwrap();
        let guess = "osk_a-key-that-somebody-guesses-and-guesses".parse().unwrap();
        refusals.remember_valid(&valid);
        for _ in 0..PER_MINUTE {
            assert_eq!(refusals.check(one, Some(&guess), 7), Allowed);
            refusals.record(one, Some(&guess), 7);
        }
        assert_eq!(refusals.check(one, Some(&guess), 7), Refused);
        assert_eq!(refusals.check(one, None, 7), Refused);
        assert_eq!(refusals.check(one, Some(&valid), 7), Allowed);
        assert_eq!(refusals.check(other, Some(&guess), 7), Allowed);
        assert_eq!(refusals.check(one, Some(&guess), 8), Allowed, "the next minute");
        refusals.record(one, Some(&valid), 7);
        assert_eq!(refusals.check(one, Some(&valid), 7), Refused, "it was revoked");
    }
}
