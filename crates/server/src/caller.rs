//! Who makes a request: a program with an API key, a user with the cookie of a log-in, or the
//! operator at the machine, whose requests come from the process itself.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use ostler_api::problem::ProblemCode;
use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::key_scope::KeyAccess;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::ApiKeySecret;
use ostler_runtime::operations::Actor;
use ostler_store::{ApiKey, Login, StoreError, UserAccount};

use crate::account::cookie::CookieTransport;
use crate::account::key_refusals::KeyLookup;
use crate::account::same_site;
use crate::error::{ApiError, Result};
use crate::rate_limits::RateKey;
use crate::server::{ClientAddress, Server};

/// Who makes a request.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// An API key and its org.
    Key { org: OrgId, key: ApiKey },
    /// A user and the log-in of their browser.
    User { login: Login, account: UserAccount },
    /// The operator at the machine, with every right.
    Terminal,
}

/// The mark of a request that the process makes itself. An extension of the request, which
/// nothing from the network can set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalRequest;

impl Caller {
    pub(crate) const fn actor(&self) -> Actor {
        match self {
            Self::Key { org, key } => Actor::Key { id: key.id, org: *org, role: key.role },
            Self::User { account, .. } => Actor::User(account.user.id),
            Self::Terminal => Actor::Terminal,
        }
    }

    /// Returns the bits of the key's or user's id.
    pub(crate) const fn id(&self) -> u128 {
        self.actor().user_id().as_u128()
    }

    /// Returns whether the caller is of an org itself, and not of its parent.
    pub(crate) fn is_of(&self, org: OrgId) -> bool {
        match self {
            Self::Key { org: own, .. } => *own == org,
            Self::User { account, .. } => account.memberships.iter().any(|one| one.org == org),
            Self::Terminal => true,
        }
    }

    /// Returns the org in which something about a request is stored: the one that the request
    /// is about if the caller is of it, else an org of the caller.
    pub(crate) fn storage_org(&self, about: Option<OrgId>) -> Option<OrgId> {
        match self {
            Self::Key { org, .. } => Some(*org),
            Self::User { account, .. } => about
                .filter(|org| self.is_of(*org))
                .or_else(|| account.memberships.first().map(|one| one.org)),
            Self::Terminal => about,
        }
    }

    /// Returns the orgs of the caller. The terminal has none of its own.
    pub(crate) fn orgs(&self) -> Vec<OrgId> {
        match self {
            Self::Key { org, .. } => vec![*org],
            Self::User { account, .. } => account.memberships.iter().map(|one| one.org).collect(),
            Self::Terminal => Vec::new(),
        }
    }

    /// Returns the only org of the caller, if there is only one.
    pub(crate) fn only_org(&self) -> Option<OrgId> {
        match self {
            Self::Key { org, .. } => Some(*org),
            Self::User { account, .. } => match account.memberships.as_slice() {
                [only] => Some(only.org),
                _ => None,
            },
            Self::Terminal => None,
        }
    }

    /// Returns the log-in and the account of a user. Fails for a key.
    pub(crate) fn user(&self) -> Result<(&Login, &UserAccount)> {
        match self {
            Self::User { login, account } => Ok((login, account)),
            Self::Key { .. } => {
                let detail = "this is for people who are logged in; a key has no account";
                Err(ApiError::new(ProblemCode::Forbidden, detail))
            }
            Self::Terminal => Err(no_account()),
        }
    }

    /// Returns whether the key or log-in is still valid, and may still view the org.
    async fn is_valid(&self, server: &Server, org: OrgId) -> Result<bool> {
        let (store, now) = (&server.deps.store, server.deps.clock.now());
        let is_valid = match self {
            Self::Key { org, key } => {
                let key = store.org(*org).key(key.id).await?;
                key.revoked_at.is_none() && key.expires_at.is_none_or(|end| end > now)
            }
            Self::User { login, .. } => {
                store.logins(login.user).await?.iter().any(|one| one.id == login.id)
            }
            Self::Terminal => true,
        };
        let operations = server.deps.operations.as_actor(self.actor(), org);
        Ok(is_valid && operations.check(OrgPermission::View).await.is_ok())
    }

    /// Waits until the key or log-in ends, or may no longer view the org.
    pub(crate) async fn revoked(self, server: Server, org: OrgId) {
        loop {
            tokio::time::sleep(VALIDITY_INTERVAL).await;
            // While the database is not available, streams go on.
            if matches!(self.is_valid(&server, org).await, Ok(false)) {
                return;
            }
        }
    }
}

/// Returns the error of the operator at the machine who asks about their own account.
pub(crate) fn no_account() -> ApiError {
    let detail = "this is for people who are logged in; the terminal has no account";
    ApiError::new(ProblemCode::Forbidden, detail)
}

/// How often it is checked whether the caller of an open stream may go on.
const VALIDITY_INTERVAL: Duration = Duration::from_secs(10);

/// Middleware: rejects requests without a valid key or log-in.
pub(crate) async fn authenticate(
    State(server): State<Server>,
    address: ClientAddress,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    if request.extensions().get::<TerminalRequest>().is_some() {
        request.extensions_mut().insert(Caller::Terminal);
        return Ok(next.run(request).await);
    }
    let (now, from) = (server.deps.clock.now(), RateKey::address(address.0));
    server.rates.check(&from, now)?;
    let (method, headers) = (request.method(), request.headers());
    // Trying keys uses up the tokens of the address.
    let refuse = |error: ApiError| server.rates.take(from.clone(), now).err().unwrap_or(error);
    let transport = CookieTransport::of(&server, headers);
    let caller = if headers.contains_key(header::AUTHORIZATION) {
        find_key(&server, address, headers).await.map_err(refuse)?
    } else if let Some(token) = transport.read(headers) {
        if !method.is_safe() {
            same_site::check_change(headers, server.deps.public_url.as_deref())?;
        }
        match server.deps.store.login(&token).await {
            Ok((login, account)) => Caller::User { login, account },
            Err(StoreError::NotFound(_)) => {
                let detail = "the log-in has ended; log in again";
                return Err(ApiError::new(ProblemCode::Unauthorized, detail));
            }
            Err(other) => return Err(other.into()),
        }
    } else {
        find_key(&server, address, headers).await.map_err(refuse)?
    };
    check_scopes(&caller, method, request.uri().path())?;
    // A user counts like a key.
    server.rates.take(RateKey::Key(KeyId::from_u128(caller.id())), now)?;
    if let Some(org) = caller.only_org() {
        server.rates.take(RateKey::Org(org), now)?;
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Looked up when the header has no key, so that the response time is the same.
const NO_KEY: &str = "no-key-no-key-no-key-no-key-no-key-no-key";
const MINUTE_MILLIS: i64 = 60_000;

async fn find_key(
    server: &Server,
    ClientAddress(address): ClientAddress,
    headers: &HeaderMap,
) -> Result<Caller> {
    let refused = || {
        let detail = "send a valid API key as a bearer token, or log in";
        ApiError::new(ProblemCode::Unauthorized, detail)
    };
    let text = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let text = text.and_then(|text| text.strip_prefix("Bearer ")).map(str::trim);
    let sent: Option<ApiKeySecret> = text.and_then(|text| text.parse().ok());
    let refusals = &server.accounts.key_refusals;
    let minute = server.deps.clock.now().as_millis() / MINUTE_MILLIS;
    if refusals.check(address, sent.as_ref(), minute) == KeyLookup::Refused {
        let detail = "too many invalid keys from this address; try again in a minute";
        return Err(ApiError::new(ProblemCode::TooMany, detail));
    }
    let secret = sent.clone().or_else(|| NO_KEY.parse().ok()).ok_or_else(refused)?;
    match (server.deps.store.authenticate(&secret).await, &sent) {
        (Ok((org, key)), Some(sent)) => {
            refusals.remember_valid(sent);
            Ok(Caller::Key { org, key })
        }
        (Ok(_) | Err(StoreError::NotFound(_)), _) => {
            refusals.record(address, sent.as_ref(), minute);
            Err(refused())
        }
        (Err(other), _) => Err(other.into()),
    }
}

/// Checks a request against the scopes of a key. Every key may ask who it is.
fn check_scopes(caller: &Caller, method: &Method, path: &str) -> Result<()> {
    let Caller::Key { key, .. } = caller else { return Ok(()) };
    let resource = resource(path);
    let access = if method.is_safe() { KeyAccess::Read } else { KeyAccess::Write };
    if resource == "me" || key.scopes.cover(resource, access) {
        return Ok(());
    }
    let word = if access == KeyAccess::Read { "read" } else { "write" };
    let detail =
        format!("this key has the scopes {}; this request needs `{resource}:{word}`", key.scopes);
    Err(ApiError::new(ProblemCode::Forbidden, detail))
}

/// Returns the resource of a path: the word after the org, or else the first word.
fn resource(path: &str) -> &str {
    let path = path.strip_prefix("/v1/").unwrap_or(path.trim_start_matches('/'));
    let mut words = path.split('/');
    match words.next().unwrap_or_default() {
        "orgs" => words.nth(1).unwrap_or_default(),
        first => first,
    }
}

#[cfg(test)]
mod tests {
    use super::resource;

    #[test]
    fn s12_the_resource_of_a_path_is_the_word_after_the_org() {
        for (path, expected) in [
            ("/v1/orgs/bella/sessions/ses_1/resume", "sessions"),
            ("/orgs/bella/credits/grants", "credits"),
            ("/orgs/bella", ""),
            ("/events", "events"),
            ("/me", "me"),
            ("/", ""),
        ] {
            assert_eq!(resource(path), expected, "{path}");
        }
    }
}
