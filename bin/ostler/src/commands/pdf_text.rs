//! `ostler pdf-text`: prints the text of a PDF. `pdf::extract_text` runs it as a child.

use std::path::PathBuf;

use clap::Args;

use crate::pdf;

#[derive(Debug, Args)]
pub(crate) struct PdfTextArgs {
    /// PDF file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &PdfTextArgs) -> anyhow::Result<std::process::ExitCode> {
    pdf::print_text(&args.file)
}
