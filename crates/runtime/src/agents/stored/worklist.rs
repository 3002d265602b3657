//! Work lists in the store.

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;
use ostler_store::{HeldMessage, HeldMessageKind};

use super::{StoredRecords, invalid_json, page_limit};
use crate::agents::error::Result;
use crate::agents::page::Page;
use crate::agents::worklist::WorkList;

const KIND: HeldMessageKind = HeldMessageKind::WorkList;

impl WorkList for StoredRecords {
    fn add<'a>(
        &'a self,
        person: &'a AgentName,
        message: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let data = serde_json::to_string(&*message).map_err(invalid_json)?;
            self.org_store().hold_message(KIND, person, message.message.id, data).await?;
            Ok(())
        })
    }

    fn take<'a>(
        &'a self,
        person: &'a AgentName,
        message: EnvelopeId,
    ) -> BoxFuture<'a, Result<Option<Arc<Envelope>>>> {
        Box::pin(async move {
            let taken = self.org_store().take_held_message(KIND, person, message).await?;
            taken.as_ref().map(decode).transpose()
        })
    }

    fn list<'a>(
        &'a self,
        person: &'a AgentName,
        page: Page<EnvelopeId>,
    ) -> BoxFuture<'a, Result<Vec<Arc<Envelope>>>> {
        Box::pin(async move {
            let (after, limit) = (page.after, page_limit(&page));
            let found = self.org_store().held_messages(KIND, person, after, limit).await?;
            found.iter().map(decode).collect()
        })
    }
}

fn decode(held: &HeldMessage) -> Result<Arc<Envelope>> {
    serde_json::from_str(&held.data).map_err(invalid_json)
}
