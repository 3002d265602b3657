//! Pictures and files of an org.

use std::collections::BTreeSet;

use ostler_domain::id::BlobId;
use ostler_domain::message::MediaType;
use serde::{Deserialize, Serialize};

use super::Entity;

/// A picture or file of the org, to be shown or sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaItem {
    pub title: String,
    #[serde(default)]
    pub description: String,
    pub media_type: MediaType,
    #[serde(default)]
    pub tags: BTreeSet<String>,
    pub blob: BlobId,
}

impl Entity for MediaItem {
    const KIND: &'static str = "media";
}
