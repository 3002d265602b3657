//! `ostler knowledge add`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use ostler_api::knowledge::{AddedDocument, NewDocument};
use ostler_domain::knowledge::DocumentError;
use serde_json::json;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::pdf;
use crate::screen::thousands;
/// The most bytes read of a text file; a valid document is shorter.
const READ_LIMIT: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(crate) struct KnowledgeAddArgs {
    /// File: text in UTF-8, or a PDF that contains text
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Title [default: the first heading, or the name of the file]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Tags, separated by commas; an agent with tags reads only documents that have
    /// one of them
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    tags: Vec<String>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &KnowledgeAddArgs) -> anyhow::Result<()> {
    let text = read_text(&args.file).await?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let stem = args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let title = args.title.clone().or_else(|| heading.map(|line| line.trim().to_owned()));
    let title = title.or(stem).unwrap_or_else(|| "untitled".into());
    let org = open_org(&args.target).await?;
    let size = text.len() as u64;
    let document = NewDocument { title: title.clone(), body: text, tags: args.tags.clone() };
    let AddedDocument { id } = org.post(&["knowledge"], &document).await?;
    if args.target.output.json {
        return crate::commands::print_json(&json!({"id": id, "title": title}));
    }
    anstream::println!("{id}  {title}  {} bytes", thousands(size));
    Ok(())
}

/// Reads the text of a text file or a PDF.
async fn read_text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let mut start = Vec::new();
    let opened = File::open(file).with_context(|| format!("cannot read {name}"))?;
    opened
        .take(READ_LIMIT)
        .read_to_end(&mut start)
        .with_context(|| format!("cannot read {name}"))?;
    if pdf::is_pdf(&start) {
        return pdf::extract_text(file).await;
    }
    if start.len() as u64 == READ_LIMIT {
        bail!("{name} is too long: {}", DocumentError::LongBody);
    }
    String::from_utf8(start).ok().with_context(|| {
        format!("{name} is neither text in UTF-8 nor a PDF; convert it to one of them")
    })
}
