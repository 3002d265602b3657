//! Blobs.

use ostler_domain::id::BlobId;
use ostler_domain::message::{MAX_BLOB_BYTES, MessagePart};
use ostler_store::{AcceptOutcome, NewBlob, Store, StoreError};

use crate::on_every_backend;
use crate::support::{message, next, with_org};

fn blob(media_type: &str, bytes: Vec<u8>) -> NewBlob {
    NewBlob {
        id: BlobId::from_u128(next()),
        media_type: media_type.parse().unwrap(),
        name: Some("menù \0'x'.png".into()),
        bytes,
    }
}

on_every_backend!(blobs_round_trip_up_to_the_size_limit);
async fn blobs_round_trip_up_to_the_size_limit(store: &Store) {
    let org = with_org(store, 1).await;
    let largest: Vec<u8> = (0..MAX_BLOB_BYTES).map(|n| n as u8).collect();
    for bytes in [vec![], vec![0, 255, 0], b"text'; --".to_vec(), largest.clone()] {
        let new = blob("image/png", bytes);
        let attachment = store.org(org).put_blob(new.clone()).await.unwrap();
        assert_eq!(attachment.size, new.bytes.len() as u64);
        assert!(matches!(MessagePart::from_attachment(attachment.clone()), MessagePart::Image(_)));
        assert_eq!(store.org(org).attachment(new.id).await.unwrap(), attachment);
        let read = store.org(org).blob(new.id).await.unwrap();
        assert_eq!((&read.attachment, read.bytes == new.bytes), (&attachment, true));
        let again = store.org(org).put_blob(blob_with_id(&new)).await;
        assert!(matches!(again, Err(StoreError::Conflict(_))));
    }
    let mut larger = largest;
    larger.push(0);
    let refused = store.org(org).put_blob(blob("image/png", larger)).await;
    assert!(
        matches!(refused, Err(StoreError::TooLarge { limit: MAX_BLOB_BYTES, .. })),
        "{refused:?}"
    );
}

fn blob_with_id(blob: &NewBlob) -> NewBlob {
    NewBlob { bytes: vec![1], ..blob.clone() }
}

on_every_backend!(
    /// A05: a blob of another org is not found, and cannot be deleted.
    a05_blobs_of_another_org_are_not_found
);
async fn a05_blobs_of_another_org_are_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = store.org(here).put_blob(blob("audio/ogg", vec![7])).await.unwrap().blob;
    let read = store.org(there).blob(id).await.map(|_| ());
    let head = store.org(there).attachment(id).await.map(|_| ());
    let deleted = store.org(there).delete_blob(id).await;
    for refused in [read, head, deleted] {
        assert!(matches!(refused, Err(StoreError::NotFound("blob"))), "{refused:?}");
    }
    assert_eq!(store.org(here).blob(id).await.unwrap().bytes, [7]);
    store.org(here).delete_blob(id).await.unwrap();
    let gone = store.org(here).blob(id).await;
    assert!(matches!(gone, Err(StoreError::NotFound("blob"))));
}

on_every_backend!(
    /// S04: files are stored with the message that brings them, or not at all.
    s04_files_are_stored_with_their_message_or_not_at_all
);
async fn s04_files_are_stored_with_their_message_or_not_at_all(store: &Store) {
    let org = with_org(store, 1).await;
    let file = || blob("image/png", vec![1, 2, 3]);
    let [first, again, refused] = [file(), file(), file()];
    let accept = async |provider_id: &str, file: &NewBlob, backlog| {
        let message = message(org, "rosa", provider_id);
        store.org(org).accept_with_files(message, vec![file.clone()], backlog).await
    };
    let stored = async |file: &NewBlob| store.org(org).attachment(file.id).await.is_ok();
    assert!(matches!(accept("1", &first, 10).await, Ok(AcceptOutcome::New(_))));
    assert!(matches!(accept("1", &again, 10).await, Ok(AcceptOutcome::Duplicate(_))));
    let full = accept("2", &refused, 1).await;
    assert!(matches!(full, Err(StoreError::BacklogFull { .. })), "{full:?}");
    let found = [stored(&first).await, stored(&again).await, stored(&refused).await];
    assert_eq!(found, [true, false, false]);
}

on_every_backend!(
    /// S04: the files of an org have a quota, whichever way they come in.
    s04_the_files_of_an_org_have_a_quota
);
async fn s04_the_files_of_an_org_have_a_quota(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let store = store.clone().with_storage_limit(5);
    let full = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::StorageFull { limit: 5 })), "{result:?}");
    };
    store.org(org).put_blob(blob("image/png", vec![0; 3])).await.unwrap();
    full(store.org(org).put_blob(blob("image/png", vec![0; 3])).await.map(drop));
    let files = vec![blob("image/png", vec![0; 2]), blob("image/png", vec![0])];
    full(store.org(org).accept_with_files(message(org, "rosa", "1"), files, 10).await.map(drop));
    let pending = store.org(org).accept_inbound(message(org, "rosa", "1"), 10).await.unwrap();
    assert!(matches!(pending, AcceptOutcome::New(_)), "the refused message left nothing");
    store.org(org).put_blob(blob("image/png", vec![0; 2])).await.unwrap();
    store.org(other).put_blob(blob("image/png", vec![0; 5])).await.unwrap();
}
