//! `ostler schema`: the JSON Schema of world files and of permissions files, and the OpenAPI
//! document of the HTTP API, and the schema of the events.

use clap::Args;
use ostler_world::permissions::permissions_schema;
use ostler_world::schema;

use crate::event_reference::{EventReference, render_page};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler schema > ostler.schema.json
  ostler schema --permissions > permissions.schema.json
  ostler schema --api > openapi.json
  ostler schema --events > events.schema.json

Editors with TOML support find it by the first line of a file:
  #:schema ./ostler.schema.json")]
pub(crate) struct SchemaArgs {
    /// Print the schema of permissions files instead
    #[arg(long)]
    permissions: bool,

    /// Print the OpenAPI document of the HTTP API instead
    #[arg(long, conflicts_with = "permissions")]
    api: bool,

    /// Print the schema of the events of streams and webhooks instead
    #[arg(long, conflicts_with_all = ["permissions", "api"])]
    events: bool,

    /// Print the events as a page for people
    #[arg(long, requires = "events")]
    page: bool,
}

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    if args.api {
        // Its examples have times as the API has them.
        anstream::println!("{}", serde_json::to_string_pretty(ostler_server::document())?);
        return Ok(());
    }
    if args.events {
        let reference = EventReference::new();
        if args.page {
            anstream::print!("{}", render_page(&reference));
            return Ok(());
        }
        return super::print_json(&reference.schema());
    }
    super::print_json(if args.permissions { permissions_schema() } else { schema::schema() })
}
