//! Editing a resource as TOML in the person's editor.

use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use ostler_world::Address;
use ostler_world::file::{Problems, parse};
use serde_json::Value;

/// Opens a resource as TOML in the editor and returns the fields that it has then.
pub(super) fn edit(address: &Address, text: &str) -> anyhow::Result<Value> {
    edit_text(text, "toml", |name, edited| fields(address, name, edited))
}

/// Opens a text in `$VISUAL` or `$EDITOR` and parses what it is then. A mistake is shown
/// with its place, and the text is kept in its file.
pub(crate) fn edit_text<T>(
    text: &str,
    ending: &str,
    parse: impl Fn(&str, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok());
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let file = std::env::temp_dir().join(format!("ostler-{}.{ending}", std::process::id()));
    let name = file.display().to_string();
    std::fs::write(&file, text).with_context(|| format!("cannot write {name}"))?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&file).status();
    let status = status.with_context(|| {
        format!("cannot start the editor `{editor}`; name another one in EDITOR")
    })?;
    ensure!(status.success(), "the editor `{editor}` failed; nothing was changed");
    let edited = std::fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
    match parse(&name, &edited) {
        Ok(value) => {
            // The change does not depend on it any more.
            let _ = std::fs::remove_file(&file);
            Ok(value)
        }
        Err(error) => bail!("{error:#}\n\nyour text is kept in {name}; nothing was changed"),
    }
}

/// Parses the fields of one resource.
fn fields(address: &Address, name: &str, text: &str) -> anyhow::Result<Value> {
    let table = address.kind.table();
    let header = match address.kind {
        ostler_world::Kind::Platform => format!("[{table}]"),
        _ => format!("[[{table}]]"),
    };
    let org = match address.kind {
        ostler_world::Kind::Platform | ostler_world::Kind::Org => String::new(),
        _ => format!("org = \"{}\"\n", address.org),
    };
    let nested = text.lines().map(|line| match line.strip_prefix('[') {
        Some(inner) => format!("[{table}.{inner}\n"),
        None => format!("{line}\n"),
    });
    let whole = format!("{header}\n{org}{}", nested.collect::<String>());
    let added = 1 + org.lines().count();
    let parsed = parse([(name, whole.as_str())]).map_err(|Problems(mut problems)| {
        for problem in &mut problems {
            problem.line = problem.line.saturating_sub(added).max(1);
        }
        Problems(problems)
    })?;
    let mut resources = parsed.resources.into_iter();
    let (found, resource) = resources.next().context("the file is empty")?;
    ensure!(found == *address, "a resource keeps its name; `{found}` would be another one");
    Ok(resource.value().clone())
}
