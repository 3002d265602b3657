//! The client of the HTTP API, with which operating commands work: on a local installation
//! through the routes within this process, on a server over the network. Requests, responses
//! and problems are the same, so each command has one code path and one output.

pub(crate) mod contexts;
mod events;
mod lines;
mod network;
mod org;
mod target;

use std::time::Duration;

use ostler_api::org::OrgSummary;
use ostler_api::page::{MAX_LIMIT, Page};
use ostler_api::problem::Problem;
use ostler_server::local::{LocalApi, LocalRequest, LocalResponse};
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use events::BodyStream;
pub(crate) use events::{EventStream, ServerEvent};
pub(crate) use lines::LineStream;
pub(crate) use network::NetworkApi;
pub(crate) use org::{AgentNames, OrgApi, person_name};
pub(crate) use target::Target;

use crate::app::App;
use crate::commands::args::{InstallationArgs, OrgArgs, OrgsArgs};
use crate::installation::Installation;
use crate::model_uses::ModelUseRecorder;
use crate::refused_command::NotHere;

/// The API of a local installation or of a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ApiClient {
    transport: Transport,
}

#[derive(Clone)]
enum Transport {
    /// Within this process; `url` is that at which browsers would reach the server.
    Local {
        api: LocalApi,
        url: String,
        model_uses: ModelUseRecorder,
    },
    Network(NetworkApi),
}

/// A request to the API.
pub(crate) struct ApiRequest {
    pub(crate) method: &'static str,
    /// The path with its query.
    pub(crate) path: String,
    /// A JSON document, or nothing.
    pub(crate) body: Vec<u8>,
    /// The idempotency key; a new one for each request otherwise.
    pub(crate) key: Option<String>,
    /// How long the server may take beside the usual time, for those that wait for an agent.
    pub(crate) extra_time: Duration,
}

/// The response to a request.
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl ApiClient {
    /// Opens the installation or server that the arguments name.
    pub(crate) async fn open(args: &InstallationArgs) -> anyhow::Result<Self> {
        match Target::find(args)? {
            Target::Server(context) => Ok(Self::over(NetworkApi::new(&context)?)),
            Target::Local => Self::within(&Installation::find(args)?).await,
        }
    }

    /// Opens the installation or server that the arguments name. On a local installation, the
    /// app in which the API works comes with it: it answers and runs what the command starts.
    pub(crate) async fn open_with_app(
        args: &InstallationArgs,
    ) -> anyhow::Result<(Self, Option<App>)> {
        match Target::find(args)? {
            Target::Server(context) => Ok((Self::over(NetworkApi::new(&context)?), None)),
            Target::Local => {
                let installation = Installation::find(args)?;
                let app = App::open(&installation).await?;
                Ok((Self::of_app(&app, &installation)?, Some(app)))
            }
        }
    }

    /// Opens the API of a local installation.
    pub(crate) async fn within(installation: &Installation) -> anyhow::Result<Self> {
        Self::of_app(&App::open(installation).await?, installation)
    }

    /// Returns the API of an app within this process.
    pub(crate) fn of_app(app: &App, installation: &Installation) -> anyhow::Result<Self> {
        let (api, url) = (LocalApi::new(&app.server()?), installation.web_url());
        let model_uses = app.model_uses.clone();
        Ok(Self { transport: Transport::Local { api, url, model_uses } })
    }

    /// Uses the API of a server.
    pub(crate) const fn over(network: NetworkApi) -> Self {
        Self { transport: Transport::Network(network) }
    }

    /// Gets a resource. `path` has the segments after `/v1`.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> anyhow::Result<T> {
        let response = self.send("GET", url(path, query)?, Vec::new(), None).await?;
        self.parse(&response).await
    }

    /// Posts a body under an idempotency key: a repeat with the same key does nothing again.
    pub(crate) async fn post_once<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        key: &str,
    ) -> anyhow::Result<T> {
        let body = serde_json::to_vec(body)?;
        let response = self.send("POST", url(path, &[])?, body, Some(key.to_owned())).await?;
        self.parse(&response).await
    }

    /// Posts a body and waits for what an agent or a model does, beside the usual time.
    pub(crate) async fn post_waiting<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
        extra_time: Duration,
    ) -> anyhow::Result<T> {
        let path = url(path, &[])?;
        let body = serde_json::to_vec(body)?;
        let request = ApiRequest { method: "POST", path, body, key: None, extra_time };
        let response = self.send_request(request).await?;
        self.parse(&response).await
    }

    /// Posts a file, which is the body of the request.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        bytes: Vec<u8>,
    ) -> anyhow::Result<T> {
        let response = self.send("POST", url(path, query)?, bytes, None).await?;
        self.parse(&response).await
    }

    /// Follows a stream of events, from its end or after the event with an id.
    pub(crate) async fn follow(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        after: Option<&str>,
    ) -> anyhow::Result<EventStream> {
        Ok(EventStream::new(self.open_body(url(path, query)?, after).await?))
    }

    /// Reads a long list of lines.
    pub(crate) async fn lines(&self, path: &[&str]) -> anyhow::Result<LineStream> {
        Ok(LineStream::new(self.open_body(url(path, &[])?, None).await?))
    }

    /// Reads a file.
    pub(crate) async fn download(&self, path: &[&str]) -> anyhow::Result<Vec<u8>> {
        let response = self.send("GET", url(path, &[])?, Vec::new(), None).await?;
        if !(200..300).contains(&response.status) {
            return Err(self.error_of(&response).await);
        }
        Ok(response.body)
    }

    async fn open_body(&self, path: String, after: Option<&str>) -> anyhow::Result<BodyStream> {
        match &self.transport {
            Transport::Network(network) => match network.open_stream(&path, after).await? {
                Ok(response) => Ok(BodyStream::Network(response)),
                Err(refused) => Err(self.error_of(&refused).await),
            },
            Transport::Local { api, url, .. } => {
                let sent = LocalRequest {
                    method: "GET",
                    path: &path,
                    host: host(url),
                    body: &[],
                    last_event_id: after,
                };
                match api.open_stream(sent).await {
                    Ok(stream) => Ok(BodyStream::Local(stream)),
                    Err(LocalResponse { status, body }) => {
                        Err(self.error_of(&ApiResponse { status, body }).await)
                    }
                }
            }
        }
    }

    /// Returns the URL at which browsers and programs reach the server.
    pub(crate) fn web_url(&self) -> &str {
        match &self.transport {
            Transport::Local { url, .. } => url,
            Transport::Network(network) => network.url(),
        }
    }

    /// Returns whether the API is that of an installation on this machine.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self.transport, Transport::Local { .. })
    }

    /// Sends a request with a JSON body, unless the body is null.
    pub(crate) async fn change<T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &[&str],
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let body = serde_json::to_value(body)?;
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(&body)? };
        let response = self.send(method, url(path, &[])?, body, None).await?;
        self.parse(&response).await
    }

    /// Reads a list, page by page, up to `limit` items.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        limit: usize,
    ) -> anyhow::Result<Vec<T>> {
        let mut items: Vec<T> = Vec::new();
        let mut cursor: Option<String> = None;
        while items.len() < limit {
            let size = (limit - items.len()).min(MAX_LIMIT as usize).to_string();
            let mut query = query.to_vec();
            query.push(("limit", &size));
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: Page<T> = self.get(path, &query).await?;
            items.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        items.truncate(limit);
        Ok(items)
    }

    /// Returns the orgs that the caller may view, by slug.
    pub(crate) async fn orgs(&self) -> anyhow::Result<Vec<OrgSummary>> {
        Ok(self.get::<Page<OrgSummary>>(&["orgs"], &[]).await?.items)
    }

    /// Finds an org by its slug or id; without a name, the only one beside the platform. The
    /// error lists the slugs.
    pub(crate) async fn find_org(&self, name: &str) -> anyhow::Result<OrgApi> {
        let orgs = self.orgs().await?;
        let slugs = || orgs.iter().map(|org| org.slug.as_str()).collect::<Vec<_>>().join(", ");
        let org = if name.is_empty() {
            let mut active = orgs.iter().filter(|org| !org.platform && !org.archived);
            match (active.next(), active.next()) {
                (Some(only), None) => only,
                _ => {
                    anyhow::bail!("name an org with --org or OSTLER_ORG; there are: {}", slugs())
                }
            }
        } else {
            let found = orgs.iter().find(|org| org.slug == name || org.id.to_string() == name);
            found.ok_or_else(|| anyhow::anyhow!("no org `{name}`; there are: {}", slugs()))?
        };
        Ok(self.org(org.clone()))
    }

    /// Returns the API of the platform's org. Fails for callers who may not view it.
    pub(crate) async fn platform(&self) -> anyhow::Result<OrgApi> {
        let platform = self.orgs().await?.into_iter().find(|org| org.platform);
        let platform = platform.map(|org| self.org(org));
        platform.ok_or_else(|| {
            anyhow::anyhow!("there is no platform organization here, or you may not view it")
        })
    }

    /// Returns the API of an org.
    pub(crate) fn org(&self, org: OrgSummary) -> OrgApi {
        OrgApi { api: self.clone(), org }
    }

    async fn send(
        &self,
        method: &'static str,
        path: String,
        body: Vec<u8>,
        key: Option<String>,
    ) -> anyhow::Result<ApiResponse> {
        let extra_time = Duration::ZERO;
        self.send_request(ApiRequest { method, path, body, key, extra_time }).await
    }

    async fn send_request(&self, request: ApiRequest) -> anyhow::Result<ApiResponse> {
        match &self.transport {
            Transport::Local { api, url, model_uses } => {
                let ApiRequest { method, path, body, .. } = &request;
                let host = host(url);
                let sent = LocalRequest { method, path, host, body, last_event_id: None };
                let LocalResponse { status, body } = api.call(sent).await;
                model_uses.record().await;
                Ok(ApiResponse { status, body })
            }
            Transport::Network(network) => network.send(&request).await,
        }
    }

    /// Returns the error of a response that is none of success, with its sentence.
    async fn error_of(&self, response: &ApiResponse) -> anyhow::Error {
        let problem = serde_json::from_slice::<Problem>(&response.body);
        match (problem, &self.transport) {
            (Ok(problem), Transport::Network(network)) => network.explain(problem).await,
            (Ok(problem), Transport::Local { .. }) => problem.into(),
            (Err(_), Transport::Network(network)) => network.foreign_answer(response.status),
            (Err(error), Transport::Local { .. }) => error.into(),
        }
    }

    /// Reads the body of a response; what failed becomes an error with its sentence.
    async fn parse<T: DeserializeOwned>(&self, response: &ApiResponse) -> anyhow::Result<T> {
        if !(200..300).contains(&response.status) {
            return Err(self.error_of(response).await);
        }
        let body: &[u8] = if response.body.is_empty() { b"null" } else { &response.body };
        match (serde_json::from_slice(body), &self.transport) {
            (Ok(parsed), _) => Ok(parsed),
            (Err(error), Transport::Network(network)) => Err(network.unreadable(&error).await),
            (Err(error), Transport::Local { .. }) => Err(error.into()),
        }
    }
}

/// Returns whether the server has answered that it did nothing. Its answer is stored under the
/// idempotency key, so the next attempt needs another one.
pub(crate) fn is_answered(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Problem>().is_some_and(|problem| problem.status < 500)
}

/// Returns whether the server refuses it, so that a repeat makes no sense.
pub(crate) fn is_refusal(error: &anyhow::Error) -> bool {
    let problem = error.downcast_ref::<Problem>();
    problem.is_some_and(|problem| {
        (400..500).contains(&problem.status) && !matches!(problem.status, 401 | 408 | 409 | 429)
    })
}

/// Opens the installation or server and finds the org that the arguments name.
pub(crate) async fn open_org(args: &OrgArgs) -> anyhow::Result<OrgApi> {
    ApiClient::open(&args.installation).await?.find_org(&args.org).await
}

/// Opens the installation or server and finds the org of the platform.
pub(crate) async fn open_platform(args: &InstallationArgs) -> anyhow::Result<OrgApi> {
    let api = ApiClient::open(args).await?;
    let platform = api.orgs().await?.into_iter().find(|org| org.platform);
    let missing = || not_here("only those who look after the platform may do this".to_owned());
    Ok(api.org(platform.ok_or_else(missing)?))
}

/// Opens the installation or server and finds the orgs that the arguments name.
pub(crate) async fn open_orgs(
    installation: &InstallationArgs,
    name: &str,
) -> anyhow::Result<Vec<OrgApi>> {
    let api = ApiClient::open(installation).await?;
    if !name.is_empty() {
        return Ok(vec![api.find_org(name).await?]);
    }
    let orgs = api.orgs().await?;
    Ok(orgs.into_iter().map(|org| api.org(org)).collect())
}

/// Opens the orgs of a listing.
pub(crate) async fn open_listed_orgs(args: &OrgsArgs) -> anyhow::Result<Vec<OrgApi>> {
    open_orgs(&args.installation, &args.org).await
}

/// Returns what a listing that is empty is about: the org, or all of them.
pub(crate) fn orgs_name(orgs: &[OrgApi]) -> &str {
    match orgs {
        [only] => &only.org.name,
        _ => "any organization",
    }
}

/// Returns the error for something that is not in an org.
pub(crate) fn not_here(why: String) -> anyhow::Error {
    NotHere(why).into()
}

/// Returns the host of a URL, with its port.
fn host(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, host)| host)
}

/// Returns the path and query of a request.
fn url(path: &[&str], query: &[(&str, &str)]) -> anyhow::Result<String> {
    let mut url = Url::parse("http://localhost/v1")?;
    if let Ok(mut segments) = url.path_segments_mut() {
        // A segment that is empty or a dot would name another resource.
        let names =
            path.iter().map(|name| if matches!(*name, "" | "." | "..") { "-" } else { name });
        segments.extend(names);
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{}{query}", url.path()))
}

/// What a response without a value is read as.
pub(crate) type Nothing = Option<Value>;

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn k03_names_in_paths_are_encoded() {
        type Query<'q> = &'q [(&'q str, &'q str)];
        let table: [(&[&str], Query<'_>, &str); 4] = [
            (&["orgs"], &[], "/v1/orgs"),
            (
                &["orgs", "bella", "contacts", "Rosa B/x?"],
                &[],
                "/v1/orgs/bella/contacts/Rosa%20B%2Fx%3F",
            ),
            (&["orgs", ".."], &[], "/v1/orgs/-"),
            (&["orgs"], &[("search", "a&b"), ("limit", "5")], "/v1/orgs?search=a%26b&limit=5"),
        ];
        for (path, query, expected) in table {
            assert_eq!(url(path, query).expect("a path"), expected);
        }
    }
}
