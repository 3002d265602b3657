//! Pictures and files of an org, and photographs from elsewhere.

mod search_media;
mod search_unsplash_images;
mod unsplash;

pub(crate) use search_media::SearchMedia;
pub(crate) use search_unsplash_images::SearchUnsplashImages;
pub use unsplash::{Unsplash, UnsplashError, UnsplashOptions, UnsplashSetup};
