//! Images in messages: `data:` URLs. Their bytes say what they are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_domain::id::BlobId;
use ostler_domain::message::{Attachment, MediaType, MessagePart};
use ostler_harness::image_media_type;
use ostler_runtime::operations::new_blob_id;
use ostler_store::NewBlob;

use super::error::ChatError;

/// Largest image, in bytes, as in threads.
const MAX_IMAGE: usize = 5 << 20;
/// The most images of a request.
const MAX_IMAGES: usize = 10;

/// The images of a request.
#[derive(Default)]
pub(super) struct Images(pub(super) Vec<NewBlob>);

impl Images {
    /// Adds the image of a URL and returns the part of the message that shows it.
    pub(super) fn add(&mut self, url: &str, param: &str) -> Result<MessagePart, ChatError> {
        let refused = |why: String| ChatError::invalid(param, why);
        if self.0.len() >= MAX_IMAGES {
            return Err(refused(format!("a request has at most {MAX_IMAGES} images")));
        }
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        let Some((_, data)) = data else {
            let why = "send the image as a `data:` URL in base64; the server fetches no URLs";
            return Err(refused(why.to_owned()));
        };
        let bytes = STANDARD.decode(data.trim());
        let bytes = bytes.map_err(|_| refused("the image is not valid base64".to_owned()))?;
        if bytes.len() > MAX_IMAGE {
            return Err(refused(format!("an image has at most {MAX_IMAGE} bytes")));
        }
        let media_type: Option<MediaType> =
            image_media_type(&bytes).and_then(|name| name.to_owned().try_into().ok());
        let media_type = media_type
            .ok_or_else(|| refused("the image is no PNG, JPEG, GIF or WebP file".to_owned()))?;
        let (id, size): (BlobId, _) = (new_blob_id(), bytes.len() as u64);
        let part = Attachment { blob: id, media_type: media_type.clone(), name: None, size };
        self.0.push(NewBlob { id, media_type, name: None, bytes });
        Ok(MessagePart::Image(part))
    }
}
