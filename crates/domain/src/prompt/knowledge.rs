//! Selection of the org's documents for the prompt.

use std::collections::BTreeSet;

use crate::id::DocumentId;
use crate::knowledge::clean_tag;
use crate::time::Timestamp;

/// Maximum number of documents in a prompt.
pub const MAX_DOCUMENTS: usize = 20;

/// What the selection needs to know of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFacts {
    pub id: DocumentId,
    pub tags: BTreeSet<String>,
    pub tokens: u64,
    pub updated_at: Timestamp,
    /// How well it matches the message; higher is better, 0 is no match.
    pub relevance: u32,
}

/// Returns the tokens that documents may take: a fifth of the context, within bounds.
pub const fn token_budget(context_tokens: u64) -> u64 {
    let fifth = context_tokens / 5;
    if fifth < 1000 {
        1000
    } else if fifth > 12_000 {
        12_000
    } else {
        fifth
    }
}

/// Selects the documents for an agent with these tags, newest first.
///
/// These are all that share a tag, or all if the agent has no tags. If they exceed the
/// budget, the best matches for the message are selected.
pub fn select<'a>(
    documents: &'a [DocumentFacts],
    agent_tags: &BTreeSet<String>,
    budget: u64,
) -> Vec<&'a DocumentFacts> {
    let wanted: BTreeSet<String> = agent_tags.iter().map(|tag| clean_tag(tag)).collect();
    let shares_a_tag = |doc: &&DocumentFacts| {
        wanted.is_empty() || doc.tags.iter().any(|tag| wanted.contains(&clean_tag(tag)))
    };
    let newest_first = |doc: &&DocumentFacts| (std::cmp::Reverse(doc.updated_at), doc.id);

    let mut chosen: Vec<&DocumentFacts> = documents.iter().filter(shares_a_tag).collect();
    chosen.sort_by_key(newest_first);
    let total: u64 = chosen.iter().map(|doc| doc.tokens).sum();
    if total > budget {
        chosen.sort_by_key(|doc| (std::cmp::Reverse(doc.relevance), newest_first(doc)));
        let mut left = budget;
        chosen.retain(|doc| {
            let fits = doc.tokens <= left;
            left -= if fits { doc.tokens } else { 0 };
            fits
        });
    }
    chosen.truncate(MAX_DOCUMENTS);
    chosen.sort_by_key(newest_first);
    chosen
}

#[cfg(test)]
mod tests {
    use super::{DocumentFacts, select, token_budget};
    use crate::id::DocumentId;
    use crate::time::Timestamp;
    use std::collections::BTreeSet;

    fn doc(id: u128, tags: &[&str], tokens: u64, relevance: u32) -> DocumentFacts {
        DocumentFacts {
            id: DocumentId::from_u128(id),
            tags: tags.iter().map(ToString::to_string).collect(),
            tokens,
            updated_at: Timestamp::from_millis(id as i64),
            relevance,
        }
    }

    fn ids(documents: &[DocumentFacts], tags: &[&str], budget: u64) -> Vec<u128> {
        let tags: BTreeSet<String> = tags.iter().map(ToString::to_string).collect();
        select(documents, &tags, budget).iter().map(|doc| doc.id.as_u128()).collect()
    }

    /// A13: by tag (trimmed, lower-cased), newest first; no tags, all.
    #[test]
    fn a13_documents_are_chosen_by_tag() {
        let docs =
            [doc(1, &["Menu "], 10, 0), doc(2, &["hr"], 10, 9), doc(3, &["menu", "wine"], 10, 0)];
        assert_eq!(ids(&docs, &[" MENU"], 1000), [3, 1]);
        assert_eq!(ids(&docs, &[], 1000), [3, 2, 1]);
        assert_eq!(ids(&docs, &["legal"], 1000), [0_u128; 0]);
    }

    /// A13: past the budget, the best matches that fit.
    #[test]
    fn a13_over_budget_the_best_matches_are_selected() {
        let docs =
            [doc(1, &[], 400, 5), doc(2, &[], 400, 1), doc(3, &[], 900, 9), doc(4, &[], 300, 0)];
        assert_eq!(ids(&docs, &[], 1000), [3]);
        assert_eq!(ids(&docs, &[], 1300), [3, 1]);
        assert_eq!(ids(&docs, &[], 2000), [4, 3, 2, 1]);
    }

    /// A13: at most twenty, the newest while they fit the budget.
    #[test]
    fn a13_at_most_twenty_documents() {
        let docs: Vec<DocumentFacts> =
            (1..=30).map(|id| doc(id, &[], 1, 100 - id as u32)).collect();
        let expected: Vec<u128> = (11..=30).rev().collect();
        assert_eq!(ids(&docs, &[], 1000), expected);
    }

    #[test]
    fn documents_take_a_fifth_of_the_context_within_bounds() {
        assert_eq!([1000, 10_000, 200_000].map(token_budget), [1000, 2000, 12_000]);
    }
}
