//! The `search_media` tool.

use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::overlay::{Row, Table};
use crate::page::{PageRequest, list_page};
use crate::records::{Entity, MediaItem};
use crate::store_tool::{CallContext, StoreTool, ToolError};
use crate::text_query::TextQuery;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Words, or beginnings of words, of the title, description or tags; all if left
    /// out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Only media of this sort.
    #[serde(default)]
    sort: Option<MediaSort>,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MediaSort {
    Image,
    Video,
    Audio,
    File,
}

impl MediaSort {
    fn of(top_level: &str) -> Self {
        match top_level {
            "image" => Self::Image,
            "video" => Self::Video,
            "audio" => Self::Audio,
            _ => Self::File,
        }
    }
}

pub(crate) struct SearchMedia;

impl StoreTool for SearchMedia {
    const DESCRIPTION: &'static str = "Finds pictures and files of the organization by what they \
        show. Returns the ids that are needed to send them.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { query, sort, page } = arguments;
        let query = TextQuery::new(query.as_deref());
        let select = |row: &Row| {
            let media = MediaItem::deserialize(&row.value).ok()?;
            let texts = [media.title.as_str(), media.description.as_str()].into_iter();
            let matches = sort
                .is_none_or(|sort| sort == MediaSort::of(media.media_type.top_level()))
                && query.matches(texts.chain(media.tags.iter().map(String::as_str)));
            matches.then(|| {
                json!({
                    "id": row.id, "blob_id": media.blob, "title": media.title,
                    "description": media.description, "media_type": media.media_type,
                    "tags": media.tags,
                })
            })
        };
        let table = Table::Records(MediaItem::KIND.to_owned());
        Ok(list_page(&context.overlay, &table, &page, select).await?.into_outcome("media"))
    }
}
