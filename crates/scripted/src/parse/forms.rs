//! Values that a script can write in several forms, such as a text or a mapping.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A value that is written as a scalar, a list or a mapping. A form that a type does not
/// implement is an error. Unlike with untagged enums, errors keep their positions.
pub(crate) trait Forms: Sized {
    /// What the value is, in errors.
    const EXPECTED: &'static str;

    fn from_scalar(_: Value) -> Result<Self, String> {
        Err(Self::unexpected())
    }

    fn from_list<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(Self::unexpected()))
    }

    fn from_map<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(Self::unexpected()))
    }

    fn unexpected() -> String {
        format!("{} is expected here", Self::EXPECTED)
    }
}

/// Implements `Deserialize` for types with several forms.
macro_rules! deserialize_forms {
    ($($type:ty),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any($crate::parse::forms::FormsVisitor::default())
            }
        }
    )+};
}
pub(crate) use deserialize_forms;

pub(crate) struct FormsVisitor<T>(PhantomData<T>);

impl<T> Default for FormsVisitor<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

fn scalar<T: Forms, E: Error>(value: impl Into<Value>) -> Result<T, E> {
    T::from_scalar(value.into()).map_err(E::custom)
}

impl<'de, T: Forms> Visitor<'de> for FormsVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        scalar(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        scalar(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(SeqAccessDeserializer::new(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(MapAccessDeserializer::new(map))
    }
}
