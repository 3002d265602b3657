//! World files on disk.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use ostler_world::file::{ParsedFiles, Problem, Problems};
use ostler_world::rules::Violation;

/// Reads world files: each path is a file, or a folder with files that end in `.toml`.
/// The configuration of an installation is no world file.
pub(crate) fn read_files(paths: &[impl AsRef<Path>]) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        if path.is_dir() {
            let inside = toml_files(path)?;
            if inside.is_empty() {
                bail!("no world files in {}; they end in .toml", path.display());
            }
            files.extend(inside);
        } else {
            files.push(path.to_owned());
        }
    }
    files.iter().map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> anyhow::Result<(String, String)> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {name}; examples/harbour.toml is an example"))?;
    Ok((name, text))
}

/// Returns the world files of a folder.
pub(crate) fn toml_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let context = || format!("cannot read the folder {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let is_toml = path.extension().is_some_and(|end| end == "toml");
        let is_config = path.file_name().is_some_and(|name| name == "ostler.toml");
        if is_toml && !is_config && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns violated rules as an error that points at their places in the files.
pub(crate) fn report(parsed: &ParsedFiles, violations: &[Violation]) -> anyhow::Error {
    let (mut problems, mut elsewhere) = (Vec::new(), Vec::new());
    for violation in violations {
        match parsed.locate(violation) {
            Some(problem) => problems.push(problem),
            None if violation.path.is_empty() => elsewhere.push(violation.message.clone()),
            None => {
                let Violation { address, path, message } = violation;
                elsewhere.push(format!("{address}: {path}: {message}"));
            }
        }
    }
    if problems.is_empty() {
        return anyhow::anyhow!(elsewhere.join("\n"));
    }
    in_file_order(problems)
}

/// Returns problems as one error, in the order of their places.
pub(crate) fn in_file_order(mut problems: Vec<Problem>) -> anyhow::Error {
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    anyhow::Error::new(Problems(problems))
}
