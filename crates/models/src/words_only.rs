//! Models that take words only: in place of a picture they are told that there
//! was one.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{Content, Item};
use ostler_engine::model::{Chunk, Model, ModelError, Request};

/// A model that takes words only.
pub struct WordsOnly(Arc<dyn Model>);

impl WordsOnly {
    /// Keeps pictures from a model.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self(model)
    }
}

impl Model for WordsOnly {
    fn answer(&self, mut request: Request) -> BoxStream<'static, Result<Chunk, ModelError>> {
        if request.history.iter().any(has_picture) {
            request.history = Arc::new(request.history.iter().cloned().map(in_words).collect());
        }
        self.0.answer(request)
    }

    fn price(&self) -> ModelPrice {
        self.0.price()
    }
}

fn has_picture(item: &Item) -> bool {
    matches!(item, Item::User { content } if content.iter().any(Content::is_image))
}

fn in_words(mut item: Item) -> Item {
    if let Item::User { content } = &mut item {
        for piece in content {
            if let Content::Image(image) = piece {
                *piece = Content::text(format!(
                    "[a picture, {}, which you cannot see]",
                    image.media_type
                ));
            }
        }
    }
    item
}
