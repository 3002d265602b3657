//! `list_forms`

use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Query, Wanted, list};
use crate::records::{Entity, Form};
use crate::view::{Row, Table};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Beginnings of words of the name or description; all forms if left out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

pub(crate) struct ListForms;

impl LocalTool for ListForms {
    const DESCRIPTION: &'static str = "Lists the organization's forms and their questions. Returns \
        the ids that get_form_responses needs.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let query = Query::new(arguments.query.as_deref());
        let pick = |row: &Row| {
            let form = Form::deserialize(&row.value).ok()?;
            let wanted = query.fits([form.name.as_str(), form.description.as_str()]);
            wanted.then(|| {
                json!({
                    "id": row.id, "name": form.name, "description": form.description,
                    "fields": form.fields,
                })
            })
        };
        let table = Table::Records(Form::KIND.to_owned());
        Ok(list(&desk.view, &table, &arguments.page, pick).await?.told("forms"))
    }
}
