//! `ostler schema`: the JSON Schema of world files.

use clap::Args;
use ostler_world::schema;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler schema > ostler.schema.json

Editors with TOML support find it by the first line of a file:
  #:schema ./ostler.schema.json")]
pub(crate) struct SchemaArgs {}

pub(crate) fn run(_: &SchemaArgs) -> anyhow::Result<()> {
    super::print_json(schema::schema())
}
