//! `ostler knowledge`: what an org's agents may read.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use ostler_domain::knowledge::DocumentError;
use serde_json::json;

use super::{open, say};
use crate::cli::operate::{In, Knowledge, KnowledgeAdd};
use crate::commands::session::view::clock;
use crate::pdf;
use crate::screen::{Cell, HEADER, print_rows, thousands};

/// How many are listed.
const LISTED: u32 = 200;
/// The most bytes that are read of a file to see what it is; a document of text
/// has fewer.
const MOST_BYTES: u64 = 1 << 20;

pub(crate) async fn run(command: &Knowledge) -> anyhow::Result<()> {
    match command {
        Knowledge::Add(add) => self::add(add).await,
        Knowledge::Ls(place) => ls(place).await,
        Knowledge::Rm(rm) => {
            let (desk, org) = open(&rm.place).await?;
            desk.office(&org).remove_document(rm.document).await?;
            let done = json!({"document": rm.document, "done": "removed"});
            say(&rm.place.output, &done, &format!("{} is removed", rm.document))
        }
    }
}

async fn add(command: &KnowledgeAdd) -> anyhow::Result<()> {
    let text = text_of(&command.file).await?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let stem = command.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let title = command.title.clone().or_else(|| heading.map(|line| line.trim().to_owned()));
    let title = title.or(stem).unwrap_or_else(|| "untitled".into());
    let (desk, org) = open(&command.place).await?;
    let tags: Vec<&str> = command.tags.iter().map(String::as_str).collect();
    let id = desk.office(&org).add_document(&title, &text, &tags).await?;
    if command.place.output.json {
        return crate::commands::print_json(&json!({"document": id, "title": title}));
    }
    anstream::println!("{id}  {title}  {} bytes", thousands(text.len() as u64));
    Ok(())
}

/// The words of a file.
async fn text_of(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let mut start = Vec::new();
    let opened = File::open(file).with_context(|| format!("cannot read {name}"))?;
    opened
        .take(MOST_BYTES)
        .read_to_end(&mut start)
        .with_context(|| format!("cannot read {name}"))?;
    if pdf::is_pdf(&start) {
        return pdf::text(file).await;
    }
    if start.len() as u64 == MOST_BYTES {
        bail!("{name} is too long: {}", DocumentError::LongBody);
    }
    String::from_utf8(start).ok().with_context(|| {
        format!("{name} is neither text in UTF-8 nor a PDF; save it as one of them")
    })
}

async fn ls(place: &In) -> anyhow::Result<()> {
    let (desk, org) = open(place).await?;
    let documents = desk.office(&org).documents(&Default::default(), None, LISTED).await?;
    if place.output.json {
        let all: Vec<_> = documents
            .iter()
            .map(|one| {
                json!({"document": one.id, "title": one.title, "tags": one.tags,
                    "bytes": one.size, "updated_at": one.updated_at})
            })
            .collect();
        return crate::commands::print_json(&all);
    }
    let header = ["document", "title", "tags", "bytes", "changed"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(documents.iter().map(|one| {
        let tags: Vec<&str> = one.tags.iter().map(String::as_str).collect();
        [
            one.id.to_string().into(),
            one.title.as_str().into(),
            tags.join(", ").into(),
            thousands(one.size).into(),
            clock(one.updated_at).into(),
        ]
    }));
    print_rows(&rows);
    Ok(())
}
