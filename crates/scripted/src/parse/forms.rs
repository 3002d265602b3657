//! Values that a script can write in several forms, such as a text or a mapping.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use crate::error::describe;

pub(super) const NOT_A_TEXT: &str = "a text is expected here; put it in quotes";

/// A value that is written as a scalar, a mapping or a list. Errors in it keep their
/// positions, which they lose in untagged enums.
pub(super) trait Forms: Sized {
    fn from_scalar(scalar: Value) -> Result<Self, String>;

    fn from_map<'de, D: Deserializer<'de>>(map: D) -> Result<Self, D::Error>;

    fn from_list<'de, D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("a list is not expected here"))
    }
}

/// Implements `Deserialize` for types with several forms.
macro_rules! deserialize_forms {
    ($($type:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any($crate::parse::forms::FormsVisitor(std::marker::PhantomData))
            }
        }
    )+};
}
pub(super) use deserialize_forms;

pub(super) struct FormsVisitor<T>(pub(super) PhantomData<T>);

macro_rules! visit_scalars {
    ($($visit:ident($type:ty)),+) => {$(
        fn $visit<E: Error>(self, scalar: $type) -> Result<T, E> {
            T::from_scalar(scalar.into()).map_err(E::custom)
        }
    )+};
}

impl<'de, T: Forms> Visitor<'de> for FormsVisitor<T> {
    type Value = T;

    visit_scalars!(
        visit_bool(bool),
        visit_i64(i64),
        visit_u64(u64),
        visit_f64(f64),
        visit_str(&str)
    );

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a mapping")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(SeqAccessDeserializer::new(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(MapAccessDeserializer::new(map))
    }
}

/// Parses one word, or a list of them.
pub(crate) fn one_or_more<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: for<'a> Deserialize<'a>,
{
    let words = match Value::deserialize(from)? {
        Value::Array(words) => words,
        word => vec![word],
    };
    let parse = |word: Value| {
        let word = word.as_str().ok_or_else(|| D::Error::custom(NOT_A_TEXT))?;
        T::deserialize(word.into_deserializer()).map_err(|error| D::Error::custom(describe(&error)))
    };
    words.into_iter().map(parse).collect()
}
