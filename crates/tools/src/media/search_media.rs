//! `search_media`

use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Query, Wanted, list};
use crate::records::{Entity, Media};
use crate::view::{Row, Table};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Beginnings of words of the title, description or tags; all if left out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Only this sort.
    #[serde(default)]
    sort: Option<Sort>,
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Image,
    Video,
    Audio,
    File,
}

impl Sort {
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

impl LocalTool for SearchMedia {
    const DESCRIPTION: &'static str = "Finds pictures and files that the organization has, by what \
        they show. Returns the ids by which they can be sent.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { query, sort, page } = arguments;
        let query = Query::new(query.as_deref());
        let pick = |row: &Row| {
            let media = Media::deserialize(&row.value).ok()?;
            let texts = [media.title.as_str(), media.description.as_str()].into_iter();
            let wanted = sort.is_none_or(|sort| sort == Sort::of(media.media_type.top_level()))
                && query.fits(texts.chain(media.tags.iter().map(String::as_str)));
            wanted.then(|| {
                json!({
                    "id": row.id, "blob_id": media.blob, "title": media.title,
                    "description": media.description, "media_type": media.media_type,
                    "tags": media.tags,
                })
            })
        };
        let table = Table::Records(Media::KIND.to_owned());
        Ok(list(&desk.view, &table, &page, pick).await?.told("media"))
    }
}
