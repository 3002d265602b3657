//! Anthropic's Messages.

mod decode;
mod request;
mod wire;

use std::collections::VecDeque;

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::secret::SecretRef;
use ostler_engine::model::{Chunk, Model, ModelError, ModelErrorKind, Request};
use ostler_engine::secret;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::fault::Fault;
use crate::http::{Http, Post, key_header};
use crate::sse::Event;
use crate::stream::{self, Decoder};

/// The version of the interface that is spoken here.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Where a model is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What the model is called here: in errors, records and prices.
    pub name: String,
    /// What the provider calls it.
    pub model: String,
    /// The address before `/messages`: `https://api.anthropic.com/v1`.
    pub base_url: String,
    /// Where the key is kept; none for a server that wants none.
    pub key: Option<SecretRef>,
    /// What it costs.
    pub price: ModelPrice,
}

/// A model that speaks Messages.
#[derive(Debug, Clone)]
pub struct Anthropic {
    http: Http,
    options: Options,
}

impl Anthropic {
    /// A model over these connections.
    pub const fn new(http: Http, options: Options) -> Self {
        Self { http, options }
    }
}

impl Model for Anthropic {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let options = self.options.clone();
        let post = move || post(&options, &request);
        let decoder = decode::Answer::default();
        stream::answer(self.options.name.clone(), self.http.clone(), post, decoder)
    }

    fn price(&self) -> ModelPrice {
        self.options.price
    }
}

fn post(options: &Options, request: &Request) -> Result<Post, Fault> {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("anthropic-version"), VERSION);
    let key = options.key.as_ref().map(secret::read_key).transpose();
    let key = key.map_err(|error| Fault::new(ModelErrorKind::NoKey, error.to_string()))?;
    if let Some(key) = &key {
        let (name, value) = key_header("x-api-key", "", key)?;
        headers.insert(name, value);
    }
    let body = request::body(options, request);
    let body = serde_json::to_vec(&body).map_err(Fault::malformed)?;
    let url = format!("{}/messages", options.base_url.trim_end_matches('/'));
    Ok(Post { url, headers, body, key })
}

impl Decoder for decode::Answer {
    fn event(&mut self, event: &Event<'_>, out: &mut VecDeque<Chunk>) -> Result<bool, Fault> {
        self.take(&event.data, out)
    }

    fn end(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        self.finish(out)
    }
}
