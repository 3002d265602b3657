//! SOUL.md: the fields of a soul as front matter between `+++`, and Markdown.

use std::path::Path;

use anyhow::{Context as _, bail};
use ostler_domain::soul::Soul;

use crate::commands::resource::{EditedFile, edit_text};

/// Separates the front matter.
const FENCE: &str = "+++";

/// Returns a soul as SOUL.md. Empty fields are left out.
pub(super) fn write(soul: &Soul) -> anyhow::Result<String> {
    let mut fields = toml::Table::try_from(soul)?;
    fields.remove("soul_markdown");
    fields.retain(|_, value| match value {
        toml::Value::String(text) => !text.is_empty(),
        toml::Value::Array(items) => !items.is_empty(),
        _ => true,
    });
    let markdown = soul.soul_markdown.trim_end();
    let body = if markdown.is_empty() { String::new() } else { format!("\n{markdown}\n") };
    Ok(format!("{FENCE}\n{}{FENCE}\n{body}", toml::to_string(&fields)?))
}

/// Reads a SOUL.md.
pub(super) fn read(path: &Path) -> anyhow::Result<Soul> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    parse(&name, &text)
}

/// Opens a soul in the editor and returns what it is then, with the file.
pub(super) fn edit(soul: &Soul) -> anyhow::Result<(Soul, EditedFile)> {
    edit_text(&write(soul)?, "SOUL.md", parse)
}

/// Parses a SOUL.md. A file without front matter is all Markdown.
fn parse(name: &str, text: &str) -> anyhow::Result<Soul> {
    let Some(rest) = text.strip_prefix(FENCE) else {
        return Ok(Soul { soul_markdown: text.trim().to_owned(), ..Soul::default() });
    };
    let Some((front, body)) = rest.split_once(&format!("\n{FENCE}")) else {
        bail!("{name}: the front matter has no end; close it with a line `{FENCE}`");
    };
    let mut fields: toml::Table =
        toml::from_str(front).with_context(|| format!("{name}: the front matter is not valid"))?;
    let known = toml::Table::try_from(Soul::default())?;
    if let Some(unknown) = fields.keys().find(|key| !known.contains_key(*key)) {
        let known = known.keys().map(String::as_str);
        bail!("{name}: {}", ostler_world::unknown_name("field", unknown, known));
    }
    fields.insert("soul_markdown".to_owned(), body.trim().into());
    toml::Value::Table(fields)
        .try_into()
        .with_context(|| format!("{name}: the front matter is not valid"))
}

#[cfg(test)]
mod tests {
    use super::{parse, write};
    use ostler_domain::soul::Soul;

    /// O10: a soul survives being written as SOUL.md and read again.
    #[test]
    fn o10_a_soul_survives_as_a_document() {
        let soul = Soul {
            personality: "Warm and \"quick\".".into(),
            never_do: vec!["Promise a time".into(), "Guess".into()],
            soul_markdown: "# Ida\n\nLikes bells.".into(),
            ..Soul::default()
        };
        assert_eq!(parse("SOUL.md", &write(&soul).unwrap()).unwrap(), soul);
        let plain = parse("SOUL.md", "Just words.\n").unwrap();
        assert_eq!(plain.soul_markdown, "Just words.");
        let empty = Soul::default();
        assert_eq!(parse("SOUL.md", &write(&empty).unwrap()).unwrap(), empty);
    }

    #[test]
    fn o10_a_mistake_in_the_front_matter_is_named() {
        let table = [
            ("+++\npersonality = 1\n+++\n", "the front matter is not valid"),
            ("+++\npersonalty = \"x\"\n+++\n", "did you mean `personality`?"),
            ("+++\npersonality = \"x\"\n", "close it with a line `+++`"),
        ];
        for (text, expected) in table {
            let said = format!("{:#}", parse("SOUL.md", text).unwrap_err());
            assert!(said.contains(expected), "{said}");
        }
    }
}
