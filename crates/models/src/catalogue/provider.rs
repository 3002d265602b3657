//! Providers: their address, wire format and key.

use std::sync::Arc;

use ostler_domain::money::price::ModelPrice;
use ostler_domain::secret::SecretRef;
use ostler_engine::model::Model;

use crate::anthropic::{self, Anthropic};
use crate::http::Http;
use crate::modalities::Modalities;
use crate::openai::{self, LimitField, OpenAi};

/// The provider whose wire format others use too.
const OPENAI: &str = "openai";

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFormat {
    /// Chat completions.
    OpenAi(LimitField),
    /// Messages.
    Anthropic,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The first part of its models' names.
    pub name: String,
    pub wire: WireFormat,
    pub base_url: String,
    /// `None` if it needs no key.
    pub key: Option<SecretRef>,
    /// Models to list besides those with a known price.
    pub models: Vec<String>,
    /// Models that accept only text; attachments are described to them.
    pub text_only: Vec<String>,
}

impl Provider {
    /// Creates a provider without a key.
    pub fn new(name: &str, wire: WireFormat, base_url: &str) -> Self {
        let (name, base_url) = (name.to_owned(), base_url.to_owned());
        Self { name, wire, base_url, key: None, models: Vec::new(), text_only: Vec::new() }
    }

    /// Sets the API key.
    #[must_use]
    pub fn with_key(self, key: SecretRef) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Returns the well-known providers at their default addresses.
    pub fn built_in() -> Vec<Self> {
        let openai = WireFormat::OpenAi(LimitField::MaxCompletionTokens);
        let other = WireFormat::OpenAi(LimitField::MaxTokens);
        let key = |name: &str| SecretRef::Env(name.to_owned());
        vec![
            Self::new(OPENAI, openai, "https://api.openai.com/v1").with_key(key("OPENAI_API_KEY")),
            Self::new("anthropic", WireFormat::Anthropic, "https://api.anthropic.com/v1")
                .with_key(key("ANTHROPIC_API_KEY")),
            Self::new("openrouter", other, "https://openrouter.ai/api/v1")
                .with_key(key("OPENROUTER_API_KEY")),
            Self::new("ollama", other, "http://localhost:11434/v1"),
            Self::new("vllm", other, "http://localhost:8000/v1"),
            Self::new("llamacpp", other, "http://localhost:8080/v1"),
        ]
    }

    /// Returns what a model accepts besides text. Compatible servers are only expected
    /// to accept images.
    pub(super) fn modalities(&self, model: &str) -> Modalities {
        if self.text_only.iter().any(|name| name == model) {
            return Modalities::TEXT_ONLY;
        }
        let images = Modalities { images: true, ..Modalities::TEXT_ONLY };
        match self.wire {
            WireFormat::Anthropic => Modalities { documents: true, ..images },
            WireFormat::OpenAi(_) if self.name == OPENAI => {
                let audio = model.contains("audio");
                Modalities { audio, documents: !audio, images: !audio }
            }
            WireFormat::OpenAi(_) => images,
        }
    }

    /// Returns the key under which cooldowns are recorded.
    pub(super) fn cooldown_key(&self) -> String {
        self.key.as_ref().map_or_else(|| self.name.clone(), ToString::to_string)
    }

    /// Creates a client for a model.
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
            WireFormat::OpenAi(limit) => {
                let options = openai::Options { name, model, base_url, key, limit, price };
                Arc::new(OpenAi::new(http, options))
            }
            WireFormat::Anthropic => {
                let options = anthropic::Options { name, model, base_url, key, price };
                Arc::new(Anthropic::new(http, options))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Modalities, Provider};

    #[test]
    fn modalities_follow_the_provider_and_the_model() {
        let check = |name: &str, images, audio, documents| {
            let (provider, model) = name.split_once('/').unwrap();
            let mut all = Provider::built_in().into_iter();
            let mut provider = all.find(|candidate| candidate.name == provider).unwrap();
            provider.text_only = vec!["words".into()];
            assert_eq!(
                provider.modalities(model),
                Modalities { images, audio, documents },
                "{name}"
            );
        };
        check("anthropic/claude-sonnet-4-5", true, false, true);
        check("openai/gpt-4o", true, false, true);
        check("openai/gpt-4o-audio-preview", false, true, false);
        check("ollama/llama3", true, false, false);
        check("ollama/words", false, false, false);
    }
}
