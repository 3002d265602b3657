//! The client for chat completions, as defined by OpenAI and offered by many
//! others.

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
use crate::http::{Http, PostRequest, key_header};
use crate::sse::SseEvent;
use crate::stream::{self, Decoder};

/// The address and settings of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Our name for the model, in errors, records and prices.
    pub name: String,
    /// The provider's name for the model.
    pub model: String,
    /// The URL before `/chat/completions`, for example `https://api.openai.com/v1`.
    pub base_url: String,
    /// `None` for servers without authentication.
    pub key: Option<SecretRef>,
    pub limit: LimitField,
    pub price: ModelPrice,
}

/// The request field that limits the length of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// `max_completion_tokens`: OpenAI, whose newer models reject the other.
    MaxCompletionTokens,
    /// `max_tokens`: all others, some of which ignore the other.
    MaxTokens,
}

/// A model behind a chat completions API.
#[derive(Debug, Clone)]
pub struct OpenAi {
    http: Http,
    options: Options,
}

impl OpenAi {
    /// Creates a client.
    pub const fn new(http: Http, options: Options) -> Self {
        Self { http, options }
    }
}

impl Model for OpenAi {
    fn answer(&self, request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let options = self.options.clone();
        let post = move || post(&options, &request);
        let decoder = decode::AnswerDecoder::default();
        stream::answer(self.options.name.clone(), self.http.clone(), post, decoder)
    }

    fn price(&self) -> ModelPrice {
        self.options.price
    }
}

fn post(options: &Options, request: &Request) -> Result<PostRequest, Fault> {
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
    Ok(PostRequest { url, headers, body, key })
}

impl Decoder for decode::AnswerDecoder {
    fn decode(&mut self, event: &SseEvent<'_>, out: &mut VecDeque<Chunk>) -> Result<bool, Fault> {
        self.decode_event(&event.data, out)
    }

    fn finish(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        self.complete(out)
    }
}
