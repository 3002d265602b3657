//! The `search_knowledge` tool.

use std::collections::BTreeSet;

use ostler_engine::outcome::ToolOutcome;
use ostler_store::{DocumentHit, StoreError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::store_tool::{CallContext, StoreTool, ToolError, json_outcome};

const MAX_HITS: u32 = 10;
const DEFAULT_HITS: u32 = 5;
/// The most bytes of full texts in an answer; further documents are excerpts.
const MAX_FULL_TEXT_BYTES: usize = 16 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The question, in words that the documents would use.
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

impl StoreTool for SearchKnowledge {
    const DESCRIPTION: &'static str = "Searches the organization's own documents (opening hours, \
        policies, menus, how-tos) by words and returns the best matches, short ones in full. Use \
        it before you say that you do not know.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { question, tags, limit } = arguments;
        let limit = limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
        let hits = context.org().search_documents(&question, &tags, limit).await?;
        let (mut documents, mut room) = (Vec::new(), MAX_FULL_TEXT_BYTES);
        for hit in hits {
            documents.push(document_json(&context, hit, &mut room).await?);
        }
        Ok(json_outcome(&json!({ "documents": documents })))
    }
}

/// Returns the full text of a document as long as there is room, else an excerpt.
async fn document_json(
    context: &CallContext<'_>,
    hit: DocumentHit,
    room: &mut usize,
) -> Result<Value, ToolError> {
    let DocumentHit { id, title, excerpt, .. } = hit;
    let stored = match context.org().document(id).await {
        Ok(stored) => Some(stored),
        // Deleted after the search.
        Err(StoreError::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let body = stored.as_ref().map(|stored| stored.document.body());
    Ok(match body.filter(|body| body.len() <= *room) {
        Some(body) => {
            *room -= body.len();
            json!({ "id": id, "title": title, "text": body })
        }
        None => json!({ "id": id, "title": title, "excerpt": excerpt }),
    })
}
