//! Pictures and files of an org.

mod search_media;

pub(crate) use search_media::SearchMedia;
