//! A typed client of the HTTP API for the tests.

use ostler_api::approval::{Approval, ApprovalState};
use ostler_api::credit::{CreditAccount, LedgerLine};
use ostler_api::dead_letter::DeadLetter;
use ostler_api::escalation::QueuedEscalation;
use ostler_api::knowledge::{AddedDocument, Document, NewDocument};
use ostler_api::me::Me;
use ostler_api::notice::Notice;
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::Problem;
use ostler_api::session::{
    SendMessageRequest, Session, SessionDetail, SessionFilter, TakeoverResult,
};
use ostler_api::unknown_outcome::{ResolveRequest, UnknownOutcome};
use ostler_domain::id::{CallId, OrgId, SessionId};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

type Result<T> = std::result::Result<T, Problem>;

/// Sends requests with an API key.
pub(super) struct Client {
    pub(super) http: reqwest::Client,
    pub(super) base: String,
    pub(super) key: String,
}

impl Client {
    pub(super) async fn me(&self) -> Result<Me> {
        read(self.request(Method::GET, "/v1/me")).await
    }

    pub(super) fn org(&self, org: OrgId) -> OrgClient<'_> {
        OrgClient { client: self, org }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key)
    }
}

/// The routes of one org.
pub(super) struct OrgClient<'c> {
    client: &'c Client,
    org: OrgId,
}

#[derive(Serialize)]
struct ListQuery<'p, W> {
    #[serde(flatten)]
    page: &'p PageQuery,
    which: W,
}

impl OrgClient<'_> {
    pub(super) async fn sessions(
        &self,
        which: SessionFilter,
        page: &PageQuery,
    ) -> Result<Page<Session>> {
        self.get("sessions", &ListQuery { page, which }).await
    }

    pub(super) async fn session(&self, id: SessionId) -> Result<SessionDetail> {
        self.get(&format!("sessions/{id}"), &()).await
    }

    pub(super) async fn take_over(&self, id: SessionId) -> Result<TakeoverResult> {
        self.post(&format!("sessions/{id}/take-over"), &()).await
    }

    pub(super) async fn say(&self, id: SessionId, message: &SendMessageRequest) -> Result<Session> {
        self.post(&format!("sessions/{id}/messages"), message).await
    }

    pub(super) async fn resume(&self, id: SessionId) -> Result<Session> {
        self.post(&format!("sessions/{id}/resume"), &()).await
    }

    pub(super) async fn close(&self, id: SessionId) -> Result<Session> {
        self.post(&format!("sessions/{id}/close"), &()).await
    }

    pub(super) async fn escalations(&self) -> Result<Page<QueuedEscalation>> {
        self.get("escalations", &()).await
    }

    pub(super) async fn approvals(
        &self,
        which: ApprovalState,
        page: &PageQuery,
    ) -> Result<Page<Approval>> {
        self.get("approvals", &ListQuery { page, which }).await
    }

    pub(super) async fn dead_letters(&self, page: &PageQuery) -> Result<Page<DeadLetter>> {
        self.get("dead-letters", page).await
    }

    pub(super) async fn replay(&self, id: &str) -> Result<()> {
        send(self.request(Method::POST, &format!("dead-letters/{id}/replay")).json(&())).await?;
        Ok(())
    }

    pub(super) async fn unknown_outcomes(&self, page: &PageQuery) -> Result<Page<UnknownOutcome>> {
        self.get("unknown-outcomes", page).await
    }

    pub(super) async fn resolve(&self, id: CallId, outcome: &ResolveRequest) -> Result<()> {
        let path = format!("unknown-outcomes/{id}/resolve");
        send(self.request(Method::POST, &path).json(outcome)).await?;
        Ok(())
    }

    pub(super) async fn credits(&self) -> Result<CreditAccount> {
        self.get("credits", &()).await
    }

    pub(super) async fn ledger(&self, page: &PageQuery) -> Result<Page<LedgerLine>> {
        self.get("credits/ledger", page).await
    }

    pub(super) async fn documents(&self, page: &PageQuery) -> Result<Page<Document>> {
        self.get("knowledge", page).await
    }

    pub(super) async fn add_document(&self, document: &NewDocument) -> Result<AddedDocument> {
        self.post("knowledge", document).await
    }

    pub(super) async fn notices(&self, page: &PageQuery) -> Result<Page<Notice>> {
        self.get("notices", page).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, &format!("/v1/orgs/{}/{path}", self.org))
    }

    pub(super) async fn get<Q: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        query: &Q,
    ) -> Result<T> {
        read(self.request(Method::GET, path).query(query)).await
    }

    pub(super) async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T> {
        read(self.request(Method::POST, path).json(body)).await
    }
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T> {
    Ok(send(request).await?.json().await.unwrap())
}

/// Sends a request; a response that is not a success is a problem.
async fn send(request: RequestBuilder) -> Result<Response> {
    let response = request.send().await.unwrap();
    if response.status().is_success() { Ok(response) } else { Err(response.json().await.unwrap()) }
}
