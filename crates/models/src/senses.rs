//! What a model takes beside words. In place of the rest it is told that there
//! was something.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request};

/// What a model takes beside words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Senses {
    /// Pictures.
    pub sees: bool,
    /// Recordings, as WAV or MP3.
    pub hears: bool,
    /// Files that are PDFs.
    pub reads: bool,
}

impl Senses {
    /// Words only.
    pub const WORDS: Self = Self { sees: false, hears: false, reads: false };

    fn take(self, content: &Content) -> bool {
        match content {
            Content::Text { .. } => true,
            Content::Image(_) => self.sees,
            Content::Audio(sound) => self.hears && sound_format(&sound.media_type).is_some(),
            Content::File(file) => self.reads && file.media_type == PDF,
        }
    }
}

/// What stands for something whose bytes are not there any more.
pub(crate) const GONE: &str = "[something that is no longer available]";

/// The one kind of file that models read.
const PDF: &str = "application/pdf";

/// What providers call the format of a recording.
pub(crate) fn sound_format(media_type: &str) -> Option<&'static str> {
    match media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

/// A model, and what it takes.
pub struct Within {
    model: Arc<dyn Model>,
    senses: Senses,
}

impl Within {
    /// Keeps from a model what it does not take.
    pub fn new(model: Arc<dyn Model>, senses: Senses) -> Self {
        Self { model, senses }
    }
}

impl Model for Within {
    fn answer(&self, mut request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let senses = self.senses;
        let beyond = |item: &Item| matches!(item, Item::User { content } if !content.iter().all(|one| senses.take(one)));
        if request.history.iter().any(beyond) {
            let history = request.history.iter().cloned();
            request.history = Arc::new(history.map(|item| in_words(item, senses)).collect());
        }
        self.model.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

fn in_words(mut item: Item, senses: Senses) -> Item {
    if let Item::User { content } = &mut item {
        for piece in content.iter_mut().filter(|one| !senses.take(one)) {
            *piece = Content::text(piece.in_words());
        }
    }
    item
}
