//! Modalities: what a model accepts besides text. Everything else is described to
//! it in words.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request};

/// What a model accepts besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modalities {
    pub images: bool,
    /// WAV and MP3 recordings.
    pub audio: bool,
    /// PDF files.
    pub documents: bool,
}

impl Modalities {
    /// Text and nothing else.
    pub const TEXT_ONLY: Self = Self { images: false, audio: false, documents: false };

    fn accepts(self, content: &Content) -> bool {
        match content {
            Content::Text { .. } => true,
            Content::Image(_) => self.images,
            Content::Audio(media) => self.audio && audio_format(&media.media_type).is_some(),
            Content::File(media) => self.documents && media.media_type == PDF,
        }
    }
}

/// Replaces an attachment whose bytes are no longer available.
pub(crate) const UNAVAILABLE: &str = "[something that is no longer available]";

/// The one file type that models read.
const PDF: &str = "application/pdf";

/// Returns the providers' name for an audio format.
pub(crate) fn audio_format(media_type: &str) -> Option<&'static str> {
    match media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

/// A model that is given only what it accepts.
pub struct ModalityFilter {
    model: Arc<dyn Model>,
    modalities: Modalities,
}

impl ModalityFilter {
    /// Wraps a model.
    pub fn new(model: Arc<dyn Model>, modalities: Modalities) -> Self {
        Self { model, modalities }
    }
}

impl Model for ModalityFilter {
    fn answer(&self, mut request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        let modalities = self.modalities;
        let unsupported = |item: &Item| matches!(item, Item::User { content } if !content.iter().all(|content| modalities.accepts(content)));
        if request.history.iter().any(unsupported) {
            let history = request.history.iter().cloned();
            request.history =
                Arc::new(history.map(|item| describe_unsupported(item, modalities)).collect());
        }
        self.model.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.model.price()
    }
}

fn describe_unsupported(mut item: Item, modalities: Modalities) -> Item {
    if let Item::User { content } = &mut item {
        for part in content.iter_mut().filter(|part| !modalities.accepts(part)) {
            *part = Content::text(part.describe());
        }
    }
    item
}
