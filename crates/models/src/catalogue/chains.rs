//! Model chains for many agents over one catalogue.

use std::sync::Arc;

use ostler_engine::model::Model;
use ostler_engine::turn::{ModelChains, Models};

use super::Catalogue;

/// A catalogue shared by many agents.
#[derive(Clone)]
pub struct SharedCatalogue(pub Arc<Catalogue>);

struct AgentModels {
    catalogue: Arc<Catalogue>,
    default: Option<Arc<dyn Model>>,
}

impl Models for AgentModels {
    fn model(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        match name {
            None => self.default.clone(),
            Some(name) => self.catalogue.model(Some(name)),
        }
    }
}

impl ModelChains for SharedCatalogue {
    fn chain(&self, names: &[String]) -> Arc<dyn Models> {
        let catalogue = self.0.clone();
        let default = if names.is_empty() {
            catalogue.model(None)
        } else {
            let others = catalogue.options.fallbacks.iter().map(String::as_str);
            let others = others.filter(|other| !names.iter().any(|name| name == other));
            catalogue.chain(names.iter().map(String::as_str).chain(others))
        };
        Arc::new(AgentModels { catalogue, default })
    }
}
