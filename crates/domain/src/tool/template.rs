//! Texts with placeholders for the arguments of a call, such as `/orders/{order}`, and for the
//! proven contact of the conversation, such as `{contact.email}`.

/// The placeholders for the proven contact of the conversation. No argument has such a name,
/// so a model cannot set them.
pub const CONTACT_PLACEHOLDERS: [&str; 4] =
    ["contact.id", "contact.name", "contact.email", "contact.phone"];

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentTemplate(Vec<TemplatePart>);

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart {
    Text(String),
    /// The name of an argument, or one of [`CONTACT_PLACEHOLDERS`].
    Argument(String),
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTemplate {
    #[error("a brace is not closed, or closed without being opened")]
    UnbalancedBrace,
    #[error(
        "`{{{0}}}` is not a placeholder; write the name of an argument between braces, with \
         letters, digits, `_` or `-`"
    )]
    Name(String),
}

impl ArgumentTemplate {
    /// Parses a text.
    pub fn parse(text: &str) -> Result<Self, InvalidTemplate> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            if before.contains('}') {
                return Err(InvalidTemplate::UnbalancedBrace);
            }
            let (name, after) = after.split_once('}').ok_or(InvalidTemplate::UnbalancedBrace)?;
            let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            let plain = !name.is_empty() && name.chars().all(allowed);
            if !plain && !CONTACT_PLACEHOLDERS.contains(&name) {
                return Err(InvalidTemplate::Name(name.to_owned()));
            }
            if !before.is_empty() {
                parts.push(TemplatePart::Text(before.to_owned()));
            }
            parts.push(TemplatePart::Argument(name.to_owned()));
            rest = after;
        }
        if rest.contains('}') {
            return Err(InvalidTemplate::UnbalancedBrace);
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Returns the names of the arguments that it uses.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Argument(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// Returns the argument if the template is one placeholder and nothing else.
    pub fn single_argument(&self) -> Option<&str> {
        match self.0.as_slice() {
            [TemplatePart::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// Returns the text with each placeholder replaced by `value` of its argument, or `None`
    /// if an argument has no value.
    pub fn render(&self, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                TemplatePart::Text(literal) => text.push_str(literal),
                TemplatePart::Argument(name) => text.push_str(&value(name)?),
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::ArgumentTemplate;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn placeholders_are_names_between_braces() {
        let names = |text: &str| -> Vec<String> {
            ArgumentTemplate::parse(text).unwrap().arguments().map(str::to_owned).collect()
        };
        assert_eq!(names("/orders/{order}/items/{item-id}"), ["order", "item-id"]);
        assert!(names("/orders").is_empty());
        assert_eq!(names("/of/{contact.id}"), ["contact.id"]);
        for text in ["{", "}", "{a", "a}", "{}", "{a b}", "{{a}}", "{a}}", "{contact.x}", "{a.b}"] {
            assert!(ArgumentTemplate::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_text_without_a_value_is_not_rendered() {
        let value = |name: &str| (name == "a").then(|| "1".to_owned());
        let render = |text: &str| ArgumentTemplate::parse(text).unwrap().render(value);
        assert_eq!(render("x{a}y{a}").as_deref(), Some("x1y1"));
        assert_eq!(render("x{b}"), None);
    }

    proptest! {
        /// A template with each placeholder replaced by itself is the text.
        #[test]
        fn parsing_loses_nothing(text in any::<String>()) {
            if let Ok(template) = ArgumentTemplate::parse(&text) {
                let again = template.render(|name| Some(format!("{{{name}}}")));
                prop_assert_eq!(again, Some(text));
            }
        }
    }
}
