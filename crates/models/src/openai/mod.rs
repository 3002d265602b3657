//! Chat completions, as OpenAI defined them and many others speak them.

mod decode;
mod request;
mod wire;

use std::collections::VecDeque;

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::secret::SecretRef;
use ostler_engine::model::{Chunk, Model, ModelError, ModelErrorKind, Request};
use ostler_engine::secret;
use reqwest::header::HeaderMap;

use crate::fault::Fault;
use crate::http::{Http, Post, key_header};
use crate::sse::Event;
use crate::stream::{self, Decoder};

/// Where a model is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What the model is called here: in errors, records and prices.
    pub name: String,
    /// What the provider calls it.
    pub model: String,
    /// The address before `/chat/completions`: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Where the key is kept; none for a server that wants none.
    pub key: Option<SecretRef>,
    /// What the limit of an answer is called.
    pub limit: LimitField,
    /// What it costs.
    pub price: ModelPrice,
}

/// What the limit of an answer is called in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// `max_completion_tokens`: OpenAI, whose newer models refuse the other.
    MaxCompletionTokens,
    /// `max_tokens`: everybody else, some of whom ignore the other.
    MaxTokens,
}

/// A model that speaks chat completions.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    options: Options,
}

impl OpenAi {
    /// A model over these connections.
    pub const fn new(http: Http, options: Options) -> Self {
        Self { http, options }
    }
}

impl Model for OpenAi {
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
    let key = options.key.as_ref().map(secret::read_key).transpose();
    let key = key.map_err(|error| Fault::new(ModelErrorKind::NoKey, error.to_string()))?;
    if let Some(key) = &key {
        let (name, value) = key_header("authorization", "Bearer ", key)?;
        headers.insert(name, value);
    }
    let body = request::body(options, request);
    let body = serde_json::to_vec(&body).map_err(Fault::malformed)?;
    let url = format!("{}/chat/completions", options.base_url.trim_end_matches('/'));
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
