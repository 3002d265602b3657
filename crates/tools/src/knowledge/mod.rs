//! The documents of an org.

mod search_knowledge;

pub(crate) use search_knowledge::SearchKnowledge;
