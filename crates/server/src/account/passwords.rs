//! Hashing and checking passwords with argon2id. It is slow on purpose, so it runs beside
//! the async threads, a few at a time.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use ostler_api::problem::ProblemCode;
use ostler_domain::secret::PasswordHash;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{ApiError, Result};

/// How many passwords are hashed at the same time; each takes 19 MiB of memory.
const CONCURRENT_HASHES: usize = 4;
/// How long a request waits for its turn.
const WAIT: Duration = Duration::from_secs(5);

/// Checked when the account is missing or has no password, so that the response time is the
/// same. It is a hash of a random password that nobody has kept.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$UMfCw8JDBpjRVu2FrXRdHA$\
     0bJd7bq1yb3Tk6wJQX5Jzv0qZb4vXv1wJ0iYbKqQ1hM";

/// Hashes and checks passwords.
#[derive(Debug, Clone)]
pub(crate) struct Passwords(Arc<Semaphore>);

impl Default for Passwords {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(CONCURRENT_HASHES)))
    }
}

impl Passwords {
    /// Returns the hash of a password, with a random salt.
    pub(crate) async fn hash(&self, password: String) -> Result<PasswordHash> {
        let hash = self
            .run(move || Argon2::default().hash_password(password.as_bytes()))
            .await?
            .map_err(|error| ApiError::internal(&error))?;
        hash.to_string().parse().map_err(|error| ApiError::internal(&error))
    }

    /// Returns whether a password has this hash. Without one, the work is the same.
    pub(crate) async fn verify(
        &self,
        password: String,
        hash: Option<PasswordHash>,
    ) -> Result<bool> {
        let has_hash = hash.is_some();
        let verified = self
            .run(move || {
                let hash = hash.as_ref().map_or(NOBODY, PasswordHash::expose);
                Argon2::default().verify_password(password.as_bytes(), hash).is_ok()
            })
            .await?;
        Ok(verified && has_hash)
    }

    /// Runs slow work when it is its turn.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let Ok(Ok(permit)) = timeout(WAIT, self.0.clone().acquire_owned()).await else {
            let detail = "too many log-ins at the moment; try again in a few seconds";
            return Err(ApiError::new(ProblemCode::Unavailable, detail));
        };
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        done.await.map_err(|error| ApiError::internal(&error))
    }
}

#[cfg(test)]
mod tests {
    use argon2::{Argon2, Params, PasswordVerifier as _};

    use super::{NOBODY, Passwords};

    #[tokio::test]
    async fn s13_a_password_is_checked_against_its_own_argon2id_hash() {
        let passwords = Passwords::default();
        let [one, two] = [
            passwords.hash("amber-otter-41".into()).await.ok().unwrap(),
            passwords.hash("amber-otter-41".into()).await.ok().unwrap(),
        ];
        assert!(one.expose().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", one.expose());
        assert_ne!(one, two, "each has a salt of its own");
        let verify = async |password: &str, hash| {
            passwords.verify(password.into(), hash).await.ok().unwrap()
        };
        assert!(verify("amber-otter-41", Some(one.clone())).await);
        assert!(!verify("amber-otter-42", Some(two)).await);
        assert!(!verify("", None).await);
    }

    #[test]
    fn s13_a_missing_account_costs_the_same_work() {
        let hash = NOBODY.strip_prefix("$argon2id$v=19$").unwrap();
        let parameters = Params::default();
        let expected = format!(
            "m={},t={},p={}$",
            parameters.m_cost(),
            parameters.t_cost(),
            parameters.p_cost()
        );
        assert!(hash.starts_with(&expected), "{hash}");
        let refused = Argon2::default().verify_password(b"x", NOBODY);
        assert!(
            matches!(refused, Err(argon2::password_hash::Error::PasswordInvalid)),
            "it is a hash that can be checked: {refused:?}"
        );
    }
}
