//! Providers: where they are, what they speak, where their keys are kept.

use std::sync::Arc;

use ostler_domain::money::price::ModelPrice;
use ostler_domain::secret::SecretRef;
use ostler_engine::model::Model;

use crate::anthropic::{self, Anthropic};
use crate::http::Http;
use crate::openai::{self, LimitField, OpenAi};
use crate::senses::Senses;

/// The provider whose wire others speak too.
const OPENAI: &str = "openai";

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
    /// Its models that take words only: they are told of all else.
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
            Self::new(OPENAI, openai, "https://api.openai.com/v1").with_key(key("OPENAI_API_KEY")),
            Self::new("anthropic", Wire::Anthropic, "https://api.anthropic.com/v1")
                .with_key(key("ANTHROPIC_API_KEY")),
            Self::new("openrouter", other, "https://openrouter.ai/api/v1")
                .with_key(key("OPENROUTER_API_KEY")),
            Self::new("ollama", other, "http://localhost:11434/v1"),
            Self::new("vllm", other, "http://localhost:8000/v1"),
            Self::new("llamacpp", other, "http://localhost:8080/v1"),
        ]
    }

    /// What one of its models takes beside words. Of servers that only speak as
    /// others do, nothing is expected but that models see.
    pub(super) fn senses(&self, model: &str) -> Senses {
        if self.words_only.iter().any(|one| one == model) {
            return Senses::WORDS;
        }
        let sees = Senses { sees: true, ..Senses::WORDS };
        match self.wire {
            Wire::Anthropic => Senses { reads: true, ..sees },
            Wire::OpenAi(_) if self.name == OPENAI => {
                let hears = model.contains("audio");
                Senses { hears, reads: !hears, sees: !hears }
            }
            Wire::OpenAi(_) => sees,
        }
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

#[cfg(test)]
mod tests {
    use super::{Provider, Senses};

    #[test]
    fn models_take_what_their_makers_say() {
        let check = |name: &str, sees, hears, reads| {
            let (provider, model) = name.split_once('/').unwrap();
            let mut all = Provider::built_in().into_iter();
            let mut provider = all.find(|one| one.name == provider).unwrap();
            provider.words_only = vec!["words".into()];
            assert_eq!(provider.senses(model), Senses { sees, hears, reads }, "{name}");
        };
        check("anthropic/claude-sonnet-4-5", true, false, true);
        check("openai/gpt-4o", true, false, true);
        check("openai/gpt-4o-audio-preview", false, true, false);
        check("ollama/llama3", true, false, false);
        check("ollama/words", false, false, false);
    }
}
