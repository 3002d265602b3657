//! Values that the host of a turn passes to its tools, found by their type.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

type Value = (TypeId, &'static str, Arc<dyn Any + Send + Sync>);

/// A set of values, one of each type. Cheap to clone.
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<[Value]>>);

impl Extensions {
    /// Returns the set with another value, which replaces one of the same type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(&self, value: Arc<T>) -> Self {
        let others = self.0.iter().flat_map(|values| values.iter());
        let kept = others.filter(|(id, ..)| *id != TypeId::of::<T>()).cloned();
        let added: Value = (TypeId::of::<T>(), type_name::<T>(), value);
        Self(Some(kept.chain([added]).collect()))
    }

    /// Returns the value of a type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let mut values = self.0.iter().flat_map(|values| values.iter());
        let (.., value) = values.find(|(id, ..)| *id == TypeId::of::<T>())?;
        value.clone().downcast().ok()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.0.iter().flat_map(|values| values.iter());
        f.debug_set().entries(values.map(|(_, name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Extensions;

    #[test]
    fn a_value_is_found_by_its_type() {
        let one = Extensions::default().with(Arc::new(1_u32));
        let both = one.with(Arc::new("text".to_owned())).with(Arc::new(2_u32));
        assert_eq!(one.get::<u32>().as_deref(), Some(&1));
        assert_eq!(one.get::<String>(), None);
        assert_eq!(both.get::<u32>().as_deref(), Some(&2));
        assert_eq!(both.get::<String>().as_deref().map(String::as_str), Some("text"));
    }
}
