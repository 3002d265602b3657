//! `ostler data import`.

use std::fs::File;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use ostler_api::data::{DataRow, ImportReport, ImportRequest, RefusedRow};
use ostler_domain::business_data::DataKind;
use ostler_tools::import::{FileFormat, ImportOptions, ParsedFile, ParsedRow};

use super::media_files::MediaFiles;
use super::report;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::thousands;

/// The most bytes of a file.
const MAX_BYTES: u64 = 64 << 20;
/// How many rows an import has at least for its progress to be shown.
const LONG_FILE: usize = 2000;

#[derive(Debug, Args)]
pub(crate) struct DataImportArgs {
    /// File to import: .csv, .json, .jsonl or .vcf
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Kind: contacts, products, events, forms, orders or media
    #[arg(long, value_name = "KIND")]
    kind: DataKind,
    /// Only say what would happen to each row
    #[arg(long)]
    dry_run: bool,
    /// Column that identifies a row when it is imported again [default: key, or
    /// email or phone for contacts, sku for products, number for orders]
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// Import the other rows if some are refused
    #[arg(long)]
    skip_refused: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &DataImportArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let name = args.file.display();
    let text = read_file(&args.file)?;
    let options = ImportOptions {
        kind: args.kind,
        key_field: args.key.clone(),
        time_zone: org.org.time_zone.clone(),
    };
    let format = file_format(&args.file, &text);
    let parsed = ostler_tools::import::read(&text, format, &options)
        .with_context(|| format!("{name} cannot be imported"))?;
    let progress = Progress::new(parsed.rows.len());
    progress.show("checked; comparing them with what is stored");
    let (rows, refused, unused) = convert(parsed, &args.file);
    let source = args.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let request = ImportRequest {
        source: source.unwrap_or_default(),
        key_field: args.key.clone(),
        rows,
        refused,
        dry_run: args.dry_run,
        skip_refused: args.skip_refused,
    };
    let import: ImportReport = org.post(&["data", args.kind.name(), "import"], &request).await?;
    let report = report::Report { import: &import, unused: &unused };
    if args.target.output.json {
        report.print_json()?;
    } else {
        report.print(args.dry_run);
    }
    if !import.applied && !args.dry_run {
        bail!(
            "nothing was imported, because {} refused; correct the file, or add --skip-refused to \
             import the others",
            count_text(import.refused)
        );
    }
    Ok(())
}

fn count_text(rows: usize) -> String {
    if rows == 1 { "1 row is".into() } else { format!("{} rows are", thousands(rows as u64)) }
}

pub(crate) fn read_file(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{name} has more than {} MiB; divide it into several files", MAX_BYTES >> 20);
    }
    String::from_utf8(bytes)
        .map_err(|_| anyhow::anyhow!("{name} is not text in UTF-8; save it as CSV UTF-8"))
}

/// Returns the format of a file by its name or else by its beginning.
pub(crate) fn file_format(path: &Path, text: &str) -> FileFormat {
    let extension = path.extension().map(|name| name.to_string_lossy().to_lowercase());
    let start = text.trim_start_matches(['\u{feff}', ' ', '\r', '\n', '\t']);
    match extension.as_deref() {
        Some("csv" | "tsv") => FileFormat::Csv,
        Some("json" | "jsonl" | "ndjson") => FileFormat::Json,
        Some("vcf" | "vcard") => FileFormat::VCard,
        _ if start.starts_with(['[', '{']) => FileFormat::Json,
        _ if start.starts_with("BEGIN:VCARD") => FileFormat::VCard,
        _ => FileFormat::Csv,
    }
}

/// Reads the files of media items, and returns the rows, the refused ones and the columns
/// that mean nothing.
pub(crate) fn convert(
    parsed: ParsedFile,
    path: &Path,
) -> (Vec<DataRow>, Vec<RefusedRow>, Vec<String>) {
    let refused = parsed.refused.into_iter();
    let mut refused: Vec<RefusedRow> = refused
        .map(|row| RefusedRow { row: row.number, column: row.column, reason: row.reason })
        .collect();
    let files = MediaFiles::beside(path);
    let mut rows = Vec::with_capacity(parsed.rows.len());
    for ParsedRow { number, key, mut fields, file } in parsed.rows {
        let file = match file.map(|file| files.read(&file, &mut fields)).transpose() {
            Ok(file) => file,
            Err(reason) => {
                refused.push(RefusedRow { row: number, column: "file".to_owned(), reason });
                continue;
            }
        };
        rows.push(DataRow { row: number, key, fields, file });
    }
    (rows, refused, parsed.unused_columns.into_iter().collect())
}

/// Says on a terminal what a long import is doing.
struct Progress(usize);

impl Progress {
    const fn new(rows: usize) -> Self {
        Self(rows)
    }

    fn show(&self, what: &str) {
        if self.0 >= LONG_FILE && std::io::stderr().is_terminal() {
            anstream::eprintln!("{} rows {what}", thousands(self.0 as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_tools::import::FileFormat::{self, Csv, Json, VCard};

    use super::file_format;

    #[test]
    fn the_format_follows_from_the_name_or_the_beginning() {
        let table: [(&str, &str, FileFormat); 6] = [
            ("a.CSV", "[", Csv),
            ("a.jsonl", "", Json),
            ("a.vcf", "", VCard),
            ("a.txt", "\u{feff} [{}]", Json),
            ("a", "BEGIN:VCARD\n", VCard),
            ("a", "sku,name\n", Csv),
        ];
        for (name, text, expected) in table {
            assert_eq!(file_format(Path::new(name), text), expected, "{name} {text}");
        }
    }
}
