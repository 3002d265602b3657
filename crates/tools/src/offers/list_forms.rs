//! The `list_forms` tool.

use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::overlay::{Row, Table};
use crate::page::{PageRequest, list_page};
use crate::records::{Entity, Form};
use crate::store_tool::{CallContext, StoreTool, ToolError};
use crate::text_query::TextQuery;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Words, or beginnings of words, of the name or description; all forms if left
    /// out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

pub(crate) struct ListForms;

impl StoreTool for ListForms {
    const DESCRIPTION: &'static str = "Lists the organization's forms and their questions. Returns \
        the ids that get_form_responses needs.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let query = TextQuery::new(arguments.query.as_deref());
        let select = |row: &Row| {
            let form = Form::deserialize(&row.value).ok()?;
            let matches = query.matches([form.name.as_str(), form.description.as_str()]);
            matches.then(|| {
                json!({
                    "id": row.id, "name": form.name, "description": form.description,
                    "fields": form.fields,
                })
            })
        };
        let table = Table::Records(Form::KIND.to_owned());
        Ok(list_page(&context.overlay, &table, &arguments.page, select)
            .await?
            .into_outcome("forms"))
    }
}
