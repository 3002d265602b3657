//! The models that a user can choose from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A model that a user can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AvailableModel {
    pub id: String,
    pub provider: String,
    pub model_name: String,
    pub has_api_key: bool,
    /// How to set the key, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_hint: Option<String>,
    pub use_count: u64,
}

/// Whether a model can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAuthStatus {
    pub has_auth: bool,
    /// How to set the key: the name of a variable or a command.
    pub hint: Option<String>,
}

/// Lists models and knows whether their keys are present.
pub trait ModelAuthChecker: Send + Sync {
    /// Returns the ids of the models, as `provider/model`.
    fn models(&self) -> Vec<String>;

    /// Returns whether a model can be used; `None` if it is not known.
    fn status(&self, model: &str) -> Option<ModelAuthStatus>;
}

/// Knows how often models were used.
pub trait ModelUseCountProvider: Send + Sync {
    /// Returns the counts by model.
    fn use_counts(&self) -> BTreeMap<String, u64>;
}

/// Returns the models that a user can choose from, the most used first.
pub(crate) fn available(
    checker: &dyn ModelAuthChecker,
    counts: Option<&dyn ModelUseCountProvider>,
) -> Vec<AvailableModel> {
    let counts = counts.map(ModelUseCountProvider::use_counts).unwrap_or_default();
    let mut models: Vec<AvailableModel> = checker
        .models()
        .into_iter()
        .map(|id| {
            let (provider, model_name) = id.split_once('/').unwrap_or(("", &id));
            let status = checker.status(&id);
            AvailableModel {
                provider: provider.to_owned(),
                model_name: model_name.to_owned(),
                has_api_key: status.as_ref().is_some_and(|status| status.has_auth),
                key_hint: status.filter(|status| !status.has_auth).and_then(|status| status.hint),
                use_count: counts.get(&id).copied().unwrap_or(0),
                id,
            }
        })
        .collect();
    models.sort_by(|a, b| b.use_count.cmp(&a.use_count).then_with(|| a.id.cmp(&b.id)));
    models
}
