//! The `Media` group: tools for pictures and files of an org, and photos of Unsplash.

mod search_media;
mod search_unsplash_images;
mod unsplash;

pub(crate) use search_media::SearchMedia;
pub(crate) use search_unsplash_images::SearchUnsplashImages;
pub use unsplash::{Unsplash, UnsplashError, UnsplashOptions, UnsplashSetupError};
