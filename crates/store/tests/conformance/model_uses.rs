//! How often models were asked.

use ostler_store::Store;

use crate::on_every_backend;

on_every_backend!(m41_uses_of_models_add_up);
/// M41: the counts of several processes add up.
async fn m41_uses_of_models_add_up(store: &Store) {
    assert!(store.model_uses().await.unwrap().is_empty());
    store.add_model_uses([("a/b".to_owned(), 2), ("c/d".to_owned(), 1)].into()).await.unwrap();
    store.add_model_uses([("a/b".to_owned(), 40)].into()).await.unwrap();
    store.add_model_uses([].into()).await.unwrap();
    let found = store.model_uses().await.unwrap();
    let counts: Vec<_> = found.iter().map(|(name, one)| (name.as_str(), one.uses)).collect();
    assert_eq!(counts, [("a/b", 42), ("c/d", 1)]);
    assert!(found["a/b"].last_used_at >= found["c/d"].last_used_at);
}
