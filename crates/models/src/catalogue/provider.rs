//! Providers: where they are, what they speak, where their keys are kept.

use std::sync::Arc;

use ostler_domain::money::price::ModelPrice;
use ostler_domain::secret::SecretRef;
use ostler_engine::model::Model;

use crate::anthropic::{self, Anthropic};
use crate::http::Http;
use crate::openai::{self, LimitField, OpenAi};

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat completions.
    OpenAi(LimitField),
    /// Messages.
    Anthropic,
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, the first part of its models' names.
    pub name: String,
    /// What it speaks.
    pub wire: Wire,
    /// Where it is.
    pub base_url: String,
    /// Where its key is kept; none if it wants none.
    pub key: Option<SecretRef>,
    /// Models to list, besides those whose prices are known.
    pub models: Vec<String>,
    /// Its models that take words only: they are told of pictures.
    pub words_only: Vec<String>,
}

impl Provider {
    /// A provider that wants no key.
    pub fn new(name: &str, wire: Wire, base_url: &str) -> Self {
        let (name, base_url) = (name.to_owned(), base_url.to_owned());
        Self { name, wire, base_url, key: None, models: Vec::new(), words_only: Vec::new() }
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(self, key: SecretRef) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The providers that everybody knows, at their usual places.
    pub fn built_in() -> Vec<Self> {
        let openai = Wire::OpenAi(LimitField::MaxCompletionTokens);
        let other = Wire::OpenAi(LimitField::MaxTokens);
        let key = |name: &str| SecretRef::Env(name.to_owned());
        vec![
            Self::new("openai", openai, "https://api.openai.com/v1")
                .with_key(key("OPENAI_API_KEY")),
            Self::new("anthropic", Wire::Anthropic, "https://api.anthropic.com/v1")
                .with_key(key("ANTHROPIC_API_KEY")),
            Self::new("openrouter", other, "https://openrouter.ai/api/v1")
                .with_key(key("OPENROUTER_API_KEY")),
            Self::new("ollama", other, "http://localhost:11434/v1"),
            Self::new("vllm", other, "http://localhost:8000/v1"),
            Self::new("llamacpp", other, "http://localhost:8080/v1"),
        ]
    }

    /// What its key is known by when it rests.
    pub(super) fn cooldown_key(&self) -> String {
        self.key.as_ref().map_or_else(|| self.name.clone(), ToString::to_string)
    }

    /// A client for one of its models.
    pub(super) fn client(
        &self,
        http: Http,
        name: &str,
        model: &str,
        price: ModelPrice,
    ) -> Arc<dyn Model> {
        let (name, model) = (name.to_owned(), model.to_owned());
        let (base_url, key) = (self.base_url.clone(), self.key.clone());
        match self.wire {
            Wire::OpenAi(limit) => {
                let options = openai::Options { name, model, base_url, key, limit, price };
                Arc::new(OpenAi::new(http, options))
            }
            Wire::Anthropic => {
                let options = anthropic::Options { name, model, base_url, key, price };
                Arc::new(Anthropic::new(http, options))
            }
        }
    }
}
