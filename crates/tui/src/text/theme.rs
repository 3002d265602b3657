//! Tones, and the colours that a theme gives them. Only the 16 colours of the terminal are
//! used, so that people's own palettes hold.

use std::str::FromStr;

/// What a span means. Themes decide what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Dim,
    Strong,
    Emphasis,
    StrongEmphasis,
    Struck,
    Heading,
    Code,
    Link,
    Accent,
    Good,
    Warning,
    Bad,
    Added,
    Removed,
    AddedWord,
    RemovedWord,
    /// The entry of a list that is chosen.
    Selected,
    /// What must not be overlooked.
    Danger,
}

/// Colours for a background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    #[default]
    Dark,
    Light,
    /// Bold, underline and inverse only.
    NoColour,
}

impl FromStr for Theme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dark" => Ok(Self::Dark),
            "light" => Ok(Self::Light),
            "none" => Ok(Self::NoColour),
            _ => Err("themes are dark, light and none".to_owned()),
        }
    }
}

impl Theme {
    /// Returns the theme for the value of `COLORFGBG`, which some terminals set.
    pub fn of_background(colorfgbg: &str) -> Self {
        match colorfgbg.rsplit(';').next().and_then(|colour| colour.parse::<u8>().ok()) {
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Dark,
        }
    }

    /// Returns the parameters of the escape sequence that begins a tone.
    pub(crate) const fn parameters(self, tone: Tone) -> &'static str {
        match self {
            Self::NoColour => match tone {
                Tone::Strong | Tone::Heading | Tone::Accent | Tone::Added => "1",
                Tone::AddedWord | Tone::RemovedWord => "1;4",
                Tone::Emphasis => "3",
                Tone::StrongEmphasis => "1;3",
                Tone::Struck => "9",
                Tone::Link => "4",
                Tone::Dim => "2",
                Tone::Selected | Tone::Danger => "7",
                _ => "",
            },
            Self::Dark | Self::Light => match tone {
                Tone::Plain => "",
                Tone::Dim => match self {
                    Self::Light => "90",
                    _ => "2",
                },
                Tone::Strong => "1",
                Tone::Emphasis => "3",
                Tone::StrongEmphasis => "1;3",
                Tone::Struck => "9",
                Tone::Heading => "1;4",
                Tone::Code => match self {
                    Self::Light => "34",
                    _ => "36",
                },
                Tone::Link => match self {
                    Self::Light => "4;34",
                    _ => "4;94",
                },
                Tone::Accent => match self {
                    Self::Light => "35",
                    _ => "95",
                },
                Tone::Good | Tone::Added => "32",
                Tone::Warning => match self {
                    Self::Light => "1;33",
                    _ => "33",
                },
                Tone::Bad | Tone::Removed => "31",
                Tone::AddedWord => "1;4;32",
                Tone::RemovedWord => "1;4;31",
                Tone::Selected => "7",
                Tone::Danger => "1;97;41",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Theme;

    #[test]
    fn m43_the_background_is_found_out() {
        let check = |value, expected| assert_eq!(Theme::of_background(value), expected, "{value}");
        check("15;0", Theme::Dark);
        check("0;15", Theme::Light);
        check("0;default;15", Theme::Light);
        check("0;7", Theme::Light);
        check("", Theme::Dark);
    }
}
