//! Stores how often this process asked each model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ostler_models::catalogue::Catalogue;
use ostler_store::Store;
use tokio::sync::{Mutex, watch};

/// How often the counts are stored.
const INTERVAL: Duration = Duration::from_secs(20);

/// Adds the uses of the models of a catalogue to those in the store. Clones share what was
/// stored already.
#[derive(Clone)]
pub(crate) struct ModelUseRecorder {
    store: Store,
    catalogue: Arc<Catalogue>,
    stored: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl ModelUseRecorder {
    pub(crate) fn new(store: &Store, catalogue: &Arc<Catalogue>) -> Self {
        let stored = Arc::new(Mutex::new(catalogue.usage()));
        Self { store: store.clone(), catalogue: catalogue.clone(), stored }
    }

    /// Stores the counts from time to time until it is stopped.
    pub(crate) async fn run(&self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => self.record().await,
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Stores the uses since the last time. What cannot be stored is tried again the next time;
    /// nothing depends on the counts.
    pub(crate) async fn record(&self) {
        let mut stored = self.stored.lock().await;
        let counted = self.catalogue.usage();
        let new: BTreeMap<String, u64> = counted
            .iter()
            .map(|(name, uses)| (name.clone(), uses - stored.get(name).unwrap_or(&0)))
            .filter(|(_, uses)| *uses > 0)
            .collect();
        if new.is_empty() || self.store.add_model_uses(new).await.is_ok() {
            *stored = counted;
        }
    }
}
