//! `ostler schema`: the JSON Schema of world files and of permissions files, and the OpenAPI
//! document of the HTTP API.

use clap::Args;
use ostler_world::permissions::permissions_schema;
use ostler_world::schema;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler schema > ostler.schema.json
  ostler schema --permissions > permissions.schema.json
  ostler schema --api > openapi.json

Editors with TOML support find it by the first line of a file:
  #:schema ./ostler.schema.json")]
pub(crate) struct SchemaArgs {
    /// Print the schema of permissions files instead
    #[arg(long)]
    permissions: bool,

    /// Print the OpenAPI document of the HTTP API instead
    #[arg(long, conflicts_with = "permissions")]
    api: bool,
}

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    if args.api {
        return super::print_json(ostler_server::document());
    }
    super::print_json(if args.permissions { permissions_schema() } else { schema::schema() })
}
