//! `search_knowledge`

use std::collections::BTreeSet;

use ostler_engine::outcome::Outcome;
use ostler_store::{DocumentHit, StoreError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::local::{Desk, LocalTool, Problem, answer};

/// The most documents of an answer, and how many there are usually.
const MAX_HITS: u32 = 10;
const USUAL_HITS: u32 = 5;
/// The most bytes of whole documents in an answer; the rest are excerpts.
const MAX_WHOLE: usize = 16 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What you want to know, in words that the documents would use.
    #[schemars(length(min = 1, max = 500))]
    question: String,
    /// Only documents with one of these tags.
    #[serde(default)]
    #[schemars(length(max = 10), inner(length(max = 64)))]
    tags: BTreeSet<String>,
    /// How many documents at most; 5 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10))]
    limit: Option<u32>,
}

pub(crate) struct SearchKnowledge;

impl LocalTool for SearchKnowledge {
    const DESCRIPTION: &'static str = "Searches the organization's own documents (opening hours, \
        policies, menus, how-tos) by words and returns the best, whole where they are short. Use \
        it before you say that you do not know.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { question, tags, limit } = arguments;
        let most = limit.unwrap_or(USUAL_HITS).clamp(1, MAX_HITS);
        let hits = desk.org().search_documents(&question, &tags, most).await?;
        let (mut shown, mut room) = (Vec::new(), MAX_WHOLE);
        for hit in hits {
            shown.push(document(&desk, hit, &mut room).await?);
        }
        Ok(answer(&json!({ "documents": shown })))
    }
}

/// A document: all of it as long as there is room, else what fits the question.
async fn document(desk: &Desk<'_>, hit: DocumentHit, room: &mut usize) -> Result<Value, Problem> {
    let DocumentHit { id, title, excerpt, .. } = hit;
    let stored = match desk.org().document(id).await {
        Ok(stored) => Some(stored),
        // It was deleted since it was found.
        Err(StoreError::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let whole = stored.as_ref().map(|stored| stored.document.body());
    Ok(match whole.filter(|body| body.len() <= *room) {
        Some(body) => {
            *room -= body.len();
            json!({ "id": id, "title": title, "text": body })
        }
        None => json!({ "id": id, "title": title, "excerpt": excerpt }),
    })
}
