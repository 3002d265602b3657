//! Images of a thread: uploaded first, then named by a message.

use axum::Json;
use axum::extract::{Path, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::problem::ProblemCode;
use ostler_api::thread::UploadedImage;
use ostler_domain::id::BlobId;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_runtime::operations::ThreadAccess;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{OrgRequest, PathId};
use crate::body::{QueryParams, parse_id};
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(
            Operate,
            "/threads/{thread}/images",
            "uploadThreadImage",
            "Upload an image, for messages of the thread",
            upload,
        )
        .takes_content("image/*"),
        get(
            View,
            "/threads/{thread}/images/{image}",
            "getThreadImage",
            "Get an image of a message",
            read,
        )
        .returns_content("image/*"),
    ]
}

/// Largest image, in bytes.
const MAX_IMAGE: usize = 5 << 20;

/// Longest name of an image, in characters.
const MAX_NAME: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UploadQuery {
    /// The name of the file, which people and the model see.
    name: Option<String>,
}

/// Stores the image that is the body of the request.
pub(crate) async fn upload(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(query): QueryParams<UploadQuery>,
    upload: Request,
) -> Result<(StatusCode, Json<UploadedImage>)> {
    if query.name.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME) {
        let detail = format!("the name of an image has at most {MAX_NAME} characters");
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let (_, _, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    let body = request.server.bodies.read(upload.into_body(), MAX_IMAGE).await?;
    let image = live.harness.add_image(query.name.as_deref(), body.bytes.to_vec()).await?;
    let id = image.blob.ok_or_else(|| ApiError::not_found("image"))?;
    let uploaded = UploadedImage { id, media_type: image.media_type, size: image.size };
    Ok((StatusCode::CREATED, Json(uploaded)))
}

/// Returns an image. Browsers show it and run nothing in it.
pub(crate) async fn read(
    request: OrgRequest,
    Path((_, thread, image)): Path<(String, String, String)>,
) -> Result<Response> {
    let (owner, thread) = request.find_thread(ThreadAccess::Read, &thread).await?;
    let image: BlobId = parse_id(&image, "image")?;
    let store = request.server.deps.store.org(owner.org);
    let found = ostler_harness::read_image(store, thread.id, image).await?;
    let (media_type, bytes) = found.ok_or_else(|| ApiError::not_found("image"))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("inline")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
    ];
    Ok((headers, bytes).into_response())
}
