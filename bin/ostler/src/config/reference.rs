//! The reference of the configuration, written from the documentation of [`Config`]: the page
//! `docs/CONFIGURATION.md`, and the `ostler.toml` of a new installation.

use serde_json::Value;
use toml::Table;

use super::Config;
use super::keys::{KEYS, Key, OTHER_VARIABLES, VariableForm};

/// The width of comments in `ostler.toml`.
const COMMENT_WIDTH: usize = 78;

/// The beginning of `ostler.toml`.
const FILE_INTRODUCTION: &str = "The configuration of this installation. A key that is commented \
    out has its default. Each key can also be set by an environment variable, which wins over \
    this file. `ostler config` shows what applies.";

/// The documentation of a key.
struct KeyDoc {
    name: String,
    description: String,
    example: Value,
    required: bool,
}

/// The documentation of all keys.
struct Reference(Value);

impl Reference {
    fn new() -> Self {
        Self(schemars::schema_for!(Config).to_value())
    }

    fn top(&self, key: &Key) -> KeyDoc {
        key_doc(&self.0, key.name)
    }

    /// Returns the keys of the tables under a key; empty if it holds no tables.
    fn nested(&self, key: &Key) -> Vec<KeyDoc> {
        let property = &self.0["properties"][key.name];
        let item = [&property["items"], &property["additionalProperties"]];
        let name = item.iter().find_map(|item| item["$ref"].as_str()?.rsplit('/').next());
        let Some(table) = name.map(|name| &self.0["$defs"][name]) else { return Vec::new() };
        let properties = table["properties"].as_object();
        let names = properties.into_iter().flat_map(|all| all.keys());
        let mut docs: Vec<KeyDoc> = names.map(|name| key_doc(table, name)).collect();
        let required = table["required"].as_array().cloned().unwrap_or_default();
        // The required ones come first, in the order of their declaration.
        docs.sort_by_key(|doc| {
            required.iter().position(|name| *name == doc.name).unwrap_or(usize::MAX)
        });
        docs
    }
}

fn key_doc(table: &Value, name: &str) -> KeyDoc {
    let property = &table["properties"][name];
    let description = property["description"].as_str().unwrap_or_default().replace('\n', " ");
    let required =
        table["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let example = property["examples"][0].clone();
    KeyDoc { name: name.to_owned(), description, example, required }
}

/// Returns `ostler.toml` with these values. Every key is documented, and those that have their
/// default are commented out.
pub(crate) fn render_file(config: &Config) -> anyhow::Result<String> {
    let reference = Reference::new();
    let values = Table::try_from(config)?;
    let mut text = String::new();
    push_comment(&mut text, FILE_INTRODUCTION);
    let (plain, tables): (Vec<&Key>, Vec<&Key>) =
        KEYS.iter().partition(|key| reference.nested(key).is_empty());
    for key in plain {
        let doc = reference.top(key);
        text.push('\n');
        push_comment(&mut text, &format!("{} Variable: {}.", doc.description, key.variable));
        match values.get(key.name) {
            Some(value) => text.push_str(&format!("{} = {value}\n", key.name)),
            None => text.push_str(&format!("# {} = {}\n", key.name, doc.example)),
        }
    }
    for key in tables {
        text.push('\n');
        push_comment(&mut text, &reference.top(key).description);
        match values.get(key.name) {
            Some(value) => {
                let only: Table = [(key.name.to_owned(), value.clone())].into_iter().collect();
                text.push_str(&toml::to_string(&only)?);
            }
            None => {
                for line in example_table(&reference, key).lines() {
                    text.push_str(&format!("# {line}\n"));
                }
            }
        }
    }
    Ok(text)
}

/// Returns an example of the tables under a key.
fn example_table(reference: &Reference, key: &Key) -> String {
    let head = match key.name {
        "price" => "[price.\"shop/llama3\"]".to_owned(),
        "mode" => "[mode.plan]".to_owned(),
        "rate_limit" => "[rate_limit.key]".to_owned(),
        name => format!("[[{name}]]"),
    };
    let lines = reference.nested(key).into_iter();
    let lines = lines.map(|doc| format!("{} = {}", doc.name, doc.example));
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Appends a text as comment lines.
fn push_comment(text: &mut String, comment: &str) {
    let mut line = String::from("#");
    for word in comment.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COMMENT_WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// The beginning of the page.
const INTRODUCTION: &str = include_str!("introduction.md");

/// Returns the page `docs/CONFIGURATION.md`.
pub(crate) fn render_page() -> String {
    let reference = Reference::new();
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## Keys\n");
    for key in &KEYS {
        let doc = reference.top(key);
        let default =
            key.default.map_or_else(|| "not set".to_owned(), |default| format!("`{default}`"));
        page.push_str(&format!(
            "\n### `{}`\n\nVariable `{}`{}, default: {default}.\n\n{}\n",
            key.name,
            key.variable,
            form_note(key.form),
            doc.description
        ));
        let nested = reference.nested(key);
        if !nested.is_empty() {
            page.push_str("\n| key | needed | meaning |\n|---|---|---|\n");
        }
        for doc in &nested {
            let needed = if doc.required { "yes" } else { "no" };
            page.push_str(&format!("| `{}` | {needed} | {} |\n", doc.name, doc.description));
        }
        let example = match nested.is_empty() {
            true => format!("{} = {}", key.name, doc.example),
            false => example_table(&reference, key),
        };
        page.push_str(&format!("\n```toml\n{example}\n```\n"));
    }
    page.push_str("\n## Other variables\n\n| variable | meaning |\n|---|---|\n");
    for (name, description) in OTHER_VARIABLES {
        page.push_str(&format!("| `{name}` | {description} |\n"));
    }
    page
}

const fn form_note(form: VariableForm) -> &'static str {
    match form {
        VariableForm::Text => "",
        VariableForm::List => " (separated by commas)",
        VariableForm::Toml => " (the value as in the file)",
    }
}

#[cfg(test)]
mod tests {
    use super::{render_file, render_page};
    use crate::config::keys::KEYS;
    use crate::config::{Config, Layers, PriceConfig, ProviderConfig, ProviderKind};

    #[test]
    fn o01_the_reference_is_current() {
        let page = include_str!("../../../../docs/CONFIGURATION.md");
        let hint = "run `ostler config --reference > docs/CONFIGURATION.md`";
        assert!(page == render_page(), "docs/CONFIGURATION.md is out of date; {hint}");
    }

    #[test]
    fn o01_a_new_file_documents_every_key_and_sets_only_what_is_given() {
        let config = Config { listen: Some("127.0.0.1:8080".into()), ..Config::default() };
        let text = render_file(&config).expect("it is written");
        for key in &KEYS {
            assert!(
                text.contains(&format!("{} = ", key.name))
                    || text.contains(&format!("[{}", key.name)),
                "{}",
                key.name
            );
        }
        let set = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let lines: Vec<&str> = text.lines().filter(set).collect();
        assert_eq!(lines, ["listen = \"127.0.0.1:8080\""]);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // Without the comment signs every example is valid.
        let uncommented: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# ").or(Some(line)))
            .filter(|line| line.contains(" = ") || line.starts_with('['))
            .filter(|line| !line.starts_with("listen = \"127.0.0.1:7470\""))
            .collect();
        let all = uncommented.join("\n");
        let loaded = Layers { file: Some(("f", &all)), variables: &|_| None, flags: &[] }.load();
        assert!(loaded.is_ok(), "{loaded:?}\n{all}");
    }

    #[test]
    fn a_written_file_is_read_back() {
        let config = Config {
            database: "postgres://ostler:x@db/ostler".into(),
            fallback_models: vec!["a/b".into(), "c/d".into()],
            local_network: true,
            provider: vec![ProviderConfig {
                name: "shop".into(),
                kind: ProviderKind::Anthropic,
                base_url: "http://localhost:1/v1".into(),
                key: Some("env:SHOP".parse().expect("a reference")),
                models: vec!["m".into()],
                text_only: Vec::new(),
            }],
            price: [(
                "shop/m".to_owned(),
                PriceConfig { input: 0.5, output: 2.0, cached_input: None, cache_write: None },
            )]
            .into(),
            ..Config::default()
        };
        let text = render_file(&config).expect("it is written");
        let read = Layers { file: Some(("f", &text)), variables: &|_| None, flags: &[] }.load();
        assert_eq!(read.expect("it is read").config, config);
    }
}
