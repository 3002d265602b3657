//! The engine tool for an HTTP tool of an org.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ostler_domain::tool::http::{HttpMethod, HttpTool};
use ostler_domain::tool::template::CONTACT_PLACEHOLDERS;
use ostler_domain::tool::{Audience, Risk};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::secret::{Secret, SecretScope};
use ostler_engine::tool::{DEFAULT_MAX_OUTPUT, Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::{Store, StoreError};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::http_request::{HttpRequest, build};
use super::http_response::{HttpAnswer, outcome, unanswered};
use crate::mcp::read_value;
use crate::web::{AddressRefused, FetchPolicy};

/// The most bytes of an answer that are read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// The longest idempotency key that is sent as it is.
const MAX_KEY_BYTES: usize = 200;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// An HTTP tool of an org. The engine limits its time.
pub(super) struct OrgHttpTool {
    pub(super) definition: ToolDefinition,
    pub(super) tool: HttpTool,
    pub(super) client: Client,
    pub(super) network: FetchPolicy,
    pub(super) secrets: SecretScope,
    /// The placeholders for the contact that the definition uses.
    contact_fields: Vec<&'static str>,
    /// Where contacts are read.
    contacts: Option<Store>,
}

impl OrgHttpTool {
    pub(super) fn new(
        tool: HttpTool,
        client: Client,
        network: FetchPolicy,
        secrets: SecretScope,
        contacts: Option<Store>,
    ) -> Self {
        let definition = ToolDefinition {
            timeout: Duration::from_secs(tool.timeout_secs.into()),
            idempotent: tool.idempotent,
            ..ToolDefinition::new(tool.spec(), tool.description.clone(), tool.schema())
        };
        let contact_fields = contact_fields(&tool);
        Self { definition, tool, client, network, secrets, contact_fields, contacts }
    }

    async fn run(&self, arguments: &Value, context: &ToolContext) -> ToolOutcome {
        let Value::Object(arguments) = arguments else {
            let text = "The arguments are not a JSON object.";
            return ToolOutcome::new(OutcomeStatus::Invalid, text);
        };
        let mut arguments = arguments.clone();
        if let Err(unknown) = self.set_contact(&mut arguments, context).await {
            return unknown;
        }
        let request = match build(&self.tool, &arguments) {
            Ok(request) => request,
            Err(error) => return ToolOutcome::new(OutcomeStatus::Invalid, error.to_string()),
        };
        let (headers, secrets) = match self.headers(&context.idempotency_key) {
            Ok(headers) => headers,
            Err(reason) => return self.not_set_up(&reason, context),
        };
        let mut outcome = match self.send(request, headers).await {
            Ok(answer) => outcome(&self.tool, &answer),
            Err(SendError::Refused(refused)) => {
                let reason =
                    format!("{refused}; only `local_network = true` in ostler.toml allows it");
                self.not_set_up(&reason, context)
            }
            Err(SendError::Unreachable) => ToolOutcome::failed(
                "The system cannot be reached, and nothing was done. Try it later.",
            ),
            Err(SendError::Lost) => {
                unanswered(&self.tool, "The connection was lost before the answer.".to_owned())
            }
        };
        for secret in secrets {
            outcome.content = secret.redact(&outcome.content);
        }
        outcome
    }

    /// Sets the values of the proven contact, whatever the model wrote under their names.
    async fn set_contact(
        &self,
        arguments: &mut Map<String, Value>,
        context: &ToolContext,
    ) -> Result<(), ToolOutcome> {
        arguments.retain(|name, _| !CONTACT_PLACEHOLDERS.contains(&name.as_str()));
        if self.contact_fields.is_empty() {
            return Ok(());
        }
        let unknown = || {
            let text = "Nothing was sent: it is not proven who the customer is.";
            ToolOutcome::new(OutcomeStatus::Refused, text)
        };
        let (Some(store), Some(id)) = (&self.contacts, context.contact) else {
            return Err(unknown());
        };
        let contact = match store.org(context.org).contact(id).await {
            Ok(stored) => stored.contact,
            Err(StoreError::NotFound(_)) => return Err(unknown()),
            Err(error) => return Err(self.not_set_up(&error, context)),
        };
        for field in &self.contact_fields {
            let value = match *field {
                "contact.id" => Some(contact.id.to_string()),
                "contact.name" => Some(contact.name.clone()),
                "contact.email" => contact.details.email.clone(),
                _ => contact.details.phone.clone(),
            };
            arguments.insert((*field).to_owned(), json!(value.ok_or_else(unknown)?));
        }
        Ok(())
    }

    /// Returns the outcome of a tool that cannot work as it is defined. Only the org's own
    /// people read the reason.
    fn not_set_up(&self, reason: &dyn fmt::Display, context: &ToolContext) -> ToolOutcome {
        let tool = self.tool.name.as_str();
        tracing::warn!(org = %context.org, tool, %reason, "HTTP tool of an org cannot be called");
        match context.audience {
            Audience::Staff => ToolOutcome::failed(format!("Nothing was sent: {reason}.")),
            Audience::Customer => ToolOutcome::failed("This tool does not work at the moment."),
        }
    }

    /// Returns the request headers, and the secrets in them.
    fn headers(&self, key: &str) -> Result<(HeaderMap, Vec<Secret>), String> {
        let (mut headers, mut secrets) = (HeaderMap::new(), Vec::new());
        for (name, value) in &self.tool.headers {
            let invalid = || format!("the header {name} is not valid");
            let (text, secret) =
                read_value(value, &self.secrets).map_err(|error| error.to_string())?;
            secrets.extend(secret);
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(text.trim()).map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        if self.tool.risk != Risk::Read {
            headers.insert(IDEMPOTENCY_KEY, key_header(key));
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok((headers, secrets))
    }

    async fn send(
        &self,
        request: HttpRequest,
        headers: HeaderMap,
    ) -> Result<HttpAnswer, SendError> {
        let url = self.network.parse_url(&request.url).map_err(SendError::Refused)?;
        let mut builder = self.client.request(method(self.tool.method), url);
        if let Some(body) = request.body {
            if !headers.contains_key(CONTENT_TYPE) {
                builder = builder.header(CONTENT_TYPE, body.content_type);
            }
            builder = builder.body(body.text);
        }
        let response =
            builder.headers(headers).send().await.map_err(
                |error| match AddressRefused::cause_of(&error) {
                    Some(refused) => SendError::Refused(refused),
                    None if error.is_connect() => SendError::Unreachable,
                    None => SendError::Lost,
                },
            )?;
        Ok(read_answer(response).await)
    }
}

/// Returns the placeholders for the contact that a definition uses.
fn contact_fields(tool: &HttpTool) -> Vec<&'static str> {
    let body = tool.body.as_ref().map(Value::to_string);
    let texts: Vec<&String> =
        [&tool.url].into_iter().chain(tool.query.values()).chain(&body).collect();
    let uses = |field: &&str| texts.iter().any(|text| text.contains(&format!("{{{field}}}")));
    CONTACT_PLACEHOLDERS.into_iter().filter(uses).collect()
}

/// Why there is no answer.
enum SendError {
    Refused(AddressRefused),
    /// The request was not sent.
    Unreachable,
    /// The request may have arrived.
    Lost,
}

const fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

/// Returns the value of the idempotency key header: the key, or its hash if it cannot be sent.
fn key_header(key: &str) -> HeaderValue {
    let plain = key.len() <= MAX_KEY_BYTES && key.bytes().all(|byte| byte.is_ascii_graphic());
    let value = if plain { HeaderValue::from_str(key).ok() } else { None };
    value.unwrap_or_else(|| {
        let hash = Sha256::digest(key.as_bytes());
        let text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("invalid"))
    })
}

/// Reads an answer up to a limit. A connection that breaks after the status leaves what was
/// read so far: the status is the answer.
async fn read_answer(mut response: Response) -> HttpAnswer {
    let status = response.status().as_u16();
    let (mut body, mut truncated) = (Vec::new(), false);
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_ANSWER_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            truncated = true;
            break;
        }
    }
    HttpAnswer { status, body, truncated }
}

impl Tool for OrgHttpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let outcome = self.run(&call.call().arguments, context).await.untrusted();
            ToolReply::Done(outcome.truncated(DEFAULT_MAX_OUTPUT))
        })
    }
}
