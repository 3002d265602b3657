//! The `Knowledge` group: tools for the documents of an org.

mod search_knowledge;

pub(crate) use search_knowledge::SearchKnowledge;
