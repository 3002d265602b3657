//! A program that asks: the command line, or anybody's.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ostler_domain::id::{ApprovalId, CallId, DocumentId, NoticeId, OrgId, SessionId};
use ostler_domain::secret::KeySecret;
use reqwest::{Method, RequestBuilder, Response};
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::approval::{self, Approval, Approve, Reject};
use crate::credit::{Account, Grant, Line};
use crate::dead_letter::{Abandon, DeadLetter};
use crate::escalation::Waiting;
use crate::knowledge::{Added, Document, NewDocument};
use crate::notice::Notice;
use crate::page::{Page, Turn};
use crate::problem::Problem;
use crate::session::{Assign, Assigned, Say, Session, SessionDetail, TakenOver, Which};
use crate::unknown_call::{Resolve, UnknownCall};
use crate::who::Me;

/// For a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// For an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// The most bytes of an answer.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Why there is no answer, or none that helps.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("`{0}` is no address of a server; one looks like http://127.0.0.1:7470")]
    BadAddress(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// Nobody answers.
    #[error("the server does not answer: {0}")]
    NoAnswer(#[source] reqwest::Error),
    /// The server did not do it, and says why.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// Somebody else answers.
    #[error("the answer cannot be read: {0}; is this an Ostler server of the same version?")]
    Unreadable(String),
}

/// What the client answers.
pub type Result<T> = std::result::Result<T, ClientError>;

/// Asks a server, with a key. A copy shares its connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    key: KeySecret,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// Asks the server at an address. It contacts nobody yet.
    pub fn new(address: &str, key: KeySecret) -> Result<Self> {
        let bad = || ClientError::BadAddress(address.to_owned());
        let base = Url::parse(address).map_err(|_| bad())?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(bad());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .user_agent(concat!("ostler/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ClientError::NoAnswer)?;
        Ok(Self { http, base, key })
    }

    /// Whom the key stands for.
    pub async fn me(&self) -> Result<Me> {
        self.get(&["v1", "me"], &()).await
    }

    /// What can be done in an org.
    pub fn org(&self, org: OrgId) -> OrgClient<'_> {
        OrgClient { client: self, org: org.to_string() }
    }

    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        self.http.request(method, url).bearer_auth(self.key.expose())
    }

    async fn get<Q: Serialize, T: DeserializeOwned>(&self, path: &[&str], query: &Q) -> Result<T> {
        read(self.request(Method::GET, path).query(query)).await
    }
}

/// What can be done in an org.
#[derive(Debug, Clone)]
pub struct OrgClient<'c> {
    client: &'c Client,
    org: String,
}

#[derive(Serialize)]
struct Listing<'t, W> {
    #[serde(flatten)]
    turn: &'t Turn,
    which: W,
}

impl OrgClient<'_> {
    /// Sessions, newest first.
    pub async fn sessions(&self, which: Which, turn: &Turn) -> Result<Page<Session>> {
        self.get(&["sessions"], &Listing { turn, which }).await
    }

    /// A session with its messages, its runs, and what waits for a person.
    pub async fn session(&self, id: SessionId) -> Result<SessionDetail> {
        self.get(&["sessions", &id.to_string()], &()).await
    }

    /// Takes a conversation over.
    pub async fn take_over(&self, id: SessionId) -> Result<TakenOver> {
        self.post(&["sessions", &id.to_string(), "take-over"], &()).await
    }

    /// Writes to the customer, word for word.
    pub async fn say(&self, id: SessionId, say: &Say) -> Result<Session> {
        self.post(&["sessions", &id.to_string(), "messages"], say).await
    }

    /// Hands a conversation back to its agent.
    pub async fn resume(&self, id: SessionId) -> Result<Session> {
        self.post(&["sessions", &id.to_string(), "resume"], &()).await
    }

    /// Calls it a false alarm.
    pub async fn dismiss(&self, id: SessionId) -> Result<Session> {
        self.post(&["sessions", &id.to_string(), "dismiss"], &()).await
    }

    /// Ends a session.
    pub async fn close(&self, id: SessionId) -> Result<Session> {
        self.post(&["sessions", &id.to_string(), "close"], &()).await
    }

    /// Makes agents the team of a session.
    pub async fn assign(&self, id: SessionId, agents: &Assign) -> Result<Assigned> {
        self.post(&["sessions", &id.to_string(), "assign"], agents).await
    }

    /// The queue of conversations that wait for a person.
    pub async fn escalations(&self) -> Result<Page<Waiting>> {
        self.get(&["escalations"], &()).await
    }

    /// Calls in a state, oldest first.
    pub async fn approvals(&self, which: approval::State, turn: &Turn) -> Result<Page<Approval>> {
        self.get(&["approvals"], &Listing { turn, which }).await
    }

    /// A call that waits for a person, or did.
    pub async fn approval(&self, id: ApprovalId) -> Result<Approval> {
        self.get(&["approvals", &id.to_string()], &()).await
    }

    /// Says yes.
    pub async fn approve(&self, id: ApprovalId, yes: &Approve) -> Result<Approval> {
        self.post(&["approvals", &id.to_string(), "approve"], yes).await
    }

    /// Says no.
    pub async fn reject(&self, id: ApprovalId, no: &Reject) -> Result<Approval> {
        self.post(&["approvals", &id.to_string(), "reject"], no).await
    }

    /// Messages that could not be answered, or not be sent.
    pub async fn dead_letters(&self, turn: &Turn) -> Result<Page<DeadLetter>> {
        self.get(&["dead-letters"], turn).await
    }

    /// Tries a dead letter again.
    pub async fn replay(&self, id: &str) -> Result<()> {
        self.done(Method::POST, &["dead-letters", id, "replay"], &()).await
    }

    /// Lays a dead letter aside.
    pub async fn abandon(&self, id: &str, why: &Abandon) -> Result<()> {
        self.done(Method::POST, &["dead-letters", id, "abandon"], why).await
    }

    /// Calls of which nobody knows what became, oldest first.
    pub async fn unknown_calls(&self, turn: &Turn) -> Result<Page<UnknownCall>> {
        self.get(&["unknown-calls"], turn).await
    }

    /// Says what became of a call; the agent goes on with that.
    pub async fn resolve(&self, id: CallId, known: &Resolve) -> Result<()> {
        self.done(Method::POST, &["unknown-calls", &id.to_string(), "resolve"], known).await
    }

    /// The account.
    pub async fn credits(&self) -> Result<Account> {
        self.get(&["credits"], &()).await
    }

    /// The ledger, newest first.
    pub async fn ledger(&self, turn: &Turn) -> Result<Page<Line>> {
        self.get(&["credits", "ledger"], turn).await
    }

    /// Grants credits.
    pub async fn grant(&self, grant: &Grant) -> Result<()> {
        self.done(Method::POST, &["credits", "grants"], grant).await
    }

    /// Documents, the last changed first.
    pub async fn documents(&self, turn: &Turn) -> Result<Page<Document>> {
        self.get(&["knowledge"], turn).await
    }

    /// Adds a document.
    pub async fn add_document(&self, document: &NewDocument) -> Result<Added> {
        self.post(&["knowledge"], document).await
    }

    /// Removes a document.
    pub async fn remove_document(&self, id: DocumentId) -> Result<()> {
        self.done(Method::DELETE, &["knowledge", &id.to_string()], &()).await
    }

    /// What the owner has not read, oldest first.
    pub async fn notices(&self, turn: &Turn) -> Result<Page<Notice>> {
        self.get(&["notices"], turn).await
    }

    /// Marks a notice as read.
    pub async fn read_notice(&self, id: NoticeId) -> Result<()> {
        self.done(Method::POST, &["notices", &id.to_string(), "read"], &()).await
    }

    fn path<'p>(&'p self, rest: &[&'p str]) -> Vec<&'p str> {
        let mut path = vec!["v1", "orgs", self.org.as_str()];
        path.extend(rest);
        path
    }

    async fn get<Q: Serialize, T: DeserializeOwned>(&self, path: &[&str], query: &Q) -> Result<T> {
        self.client.get(&self.path(path), query).await
    }

    async fn post<B: Serialize, T: DeserializeOwned>(&self, path: &[&str], body: &B) -> Result<T> {
        read(self.client.request(Method::POST, &self.path(path)).json(body)).await
    }

    async fn done<B: Serialize>(&self, method: Method, path: &[&str], body: &B) -> Result<()> {
        answered(self.client.request(method, &self.path(path)).json(body)).await?;
        Ok(())
    }
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T> {
    let body = answered(request).await?;
    serde_json::from_slice(&body).map_err(|error| ClientError::Unreadable(error.to_string()))
}

/// The answer, unless it is a problem. Errors are without the address, since
/// whoever asked knows it and logs need not.
async fn answered(request: RequestBuilder) -> Result<Bytes> {
    let none = |error: reqwest::Error| ClientError::NoAnswer(error.without_url());
    let answer = request.send().await.map_err(none)?;
    let status = answer.status();
    let body = body(answer).await?;
    if status.is_success() {
        return Ok(body);
    }
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => Err(problem.into()),
        Err(_) => Err(ClientError::Unreadable(format!("its status is {status}"))),
    }
}

async fn body(mut answer: Response) -> Result<Bytes> {
    let none = |error: reqwest::Error| ClientError::NoAnswer(error.without_url());
    let mut read = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(none)? {
        if read.len() + chunk.len() > MOST_BYTES {
            return Err(ClientError::Unreadable(format!("it is longer than {MOST_BYTES} bytes")));
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read.freeze())
}
