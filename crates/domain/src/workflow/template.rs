//! Texts with holes: `{{input.order}}`, `{{steps.judge.result}}`, `{{item}}`.

use serde::{Deserialize, Serialize};

use super::{StepName, Task};

/// The most bytes of a text with holes.
pub const LONGEST: usize = 64 * 1024;

/// What fills a hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `input.NAME`: what the workflow was started with.
    Input {
        /// The name, and what is wanted inside it.
        path: Vec<String>,
    },
    /// `steps.STEP.result`: what a step came to.
    Result {
        /// The step.
        step: StepName,
        /// What is wanted inside the result.
        path: Vec<String>,
    },
    /// `item`: the part of the list that this is done for.
    Item {
        /// What is wanted inside it.
        path: Vec<String>,
    },
    /// `index`: which part of the list that is, from 0.
    Index,
    /// `last`: what the round before came to, or nothing.
    Last {
        /// What is wanted inside it.
        path: Vec<String>,
    },
}

/// What holes are filled with. It looks at results; it changes nothing.
pub trait Values {
    /// The text for a hole of what is done for a task; none if there is no such
    /// value.
    fn text(&self, of: &Reference, task: &Task) -> Option<String>;

    /// How many parts the list has that this text comes to, or why it is no list.
    fn count(&self, list: &Template, task: &Task) -> Result<usize, String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Words(String),
    Hole(Reference),
}

/// A text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

/// The text has a hole that nothing fills.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// A hole is not closed.
    #[error("`{{{{` without `}}}}` in `{0}`")]
    Open(String),
    /// A hole names nothing that there is.
    #[error("`{{{{{0}}}}}` names nothing; use input.NAME, steps.STEP.result, item, index or last")]
    Unknown(String),
    /// It is too long.
    #[error("a text of a workflow has at most {LONGEST} bytes")]
    TooLong,
}

impl TryFrom<String> for Template {
    type Error = BadTemplate;

    fn try_from(text: String) -> Result<Self, BadTemplate> {
        if text.len() > LONGEST {
            return Err(BadTemplate::TooLong);
        }
        let (mut pieces, mut rest) = (Vec::new(), text.as_str());
        while let Some((words, after)) = rest.split_once("{{") {
            if !words.is_empty() {
                pieces.push(Piece::Words(words.to_owned()));
            }
            let (hole, after) = after
                .split_once("}}")
                .ok_or_else(|| BadTemplate::Open(rest.chars().take(60).collect()))?;
            pieces.push(Piece::Hole(reference(hole.trim())?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Words(rest.to_owned()));
        }
        Ok(Self { text, pieces })
    }
}

fn reference(hole: &str) -> Result<Reference, BadTemplate> {
    let unknown = || BadTemplate::Unknown(hole.chars().take(60).collect());
    let mut parts = hole.split('.').map(str::to_owned);
    let first = parts.next().unwrap_or_default();
    let path: Vec<String> = parts.collect();
    if path.iter().any(String::is_empty) {
        return Err(unknown());
    }
    match (first.as_str(), path.as_slice()) {
        ("input", [_, ..]) => Ok(Reference::Input { path }),
        ("steps", [step, result, inside @ ..]) if result == "result" => {
            let step = step.parse().map_err(|_| unknown())?;
            Ok(Reference::Result { step, path: inside.to_vec() })
        }
        ("item", _) => Ok(Reference::Item { path }),
        ("index", []) => Ok(Reference::Index),
        ("last", _) => Ok(Reference::Last { path }),
        _ => Err(unknown()),
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text
    }
}

impl Template {
    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What its holes name.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(reference) => Some(reference),
            Piece::Words(_) => None,
        })
    }

    /// The one hole that it is, if it is nothing else.
    pub const fn only(&self) -> Option<&Reference> {
        match self.pieces.as_slice() {
            [Piece::Hole(reference)] => Some(reference),
            _ => None,
        }
    }

    /// The text with its holes filled; what there is no value for is empty.
    pub fn fill(&self, values: &impl Values, task: &Task) -> String {
        self.pieces.iter().fold(String::new(), |mut filled, piece| {
            match piece {
                Piece::Words(words) => filled.push_str(words),
                Piece::Hole(of) => filled.push_str(&values.text(of, task).unwrap_or_default()),
            }
            filled
        })
    }
}
