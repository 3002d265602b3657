//! Model chains for many agents over one catalogue.

use std::sync::Arc;

use ostler_engine::model::Model;
use ostler_engine::turn::{ModelChains, Models};

use super::{Catalogue, CatalogueError};

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
        let default = catalogue.chain(catalogue.chain_names(names));
        Arc::new(AgentModels { catalogue, default })
    }

    fn default_model(&self) -> Option<&str> {
        self.0.default_model()
    }
}

impl Catalogue {
    /// Checks that an agent with these models can answer: the first is known, and it or one
    /// that follows has its key. Without models the default is checked.
    pub fn check_chain(&self, names: &[String]) -> Result<(), CatalogueError> {
        let names = self.chain_names(names);
        let first = self.check(names.first().ok_or(CatalogueError::NoModel)?);
        match first {
            Err(CatalogueError::NoKey { .. })
                if names.iter().skip(1).any(|name| self.check(name).is_ok()) =>
            {
                Ok(())
            }
            first => first,
        }
    }

    /// Returns the models of an agent, or the default, and then the fallbacks.
    fn chain_names<'n>(&'n self, names: &'n [String]) -> Vec<&'n str> {
        let own = if names.is_empty() { self.options.default.as_slice() } else { names };
        let others = self.options.fallbacks.iter().filter(|other| !own.contains(other));
        let others = others.filter(|_| !own.is_empty());
        own.iter().chain(others).map(String::as_str).collect()
    }
}
