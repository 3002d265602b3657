//! The work lists of people, in the store.

use std::sync::Arc;

use ostler_bus::{BoxFuture, Envelope};
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::id::EnvelopeId;
use ostler_store::{HeldKind, HeldMessage};

use super::{Stored, length, unreadable};
use crate::queue::error::Result;
use crate::queue::page::Page;
use crate::queue::worklist::WorkList;

const KIND: HeldKind = HeldKind::WorkList;

impl WorkList for Stored {
    fn add<'a>(
        &'a self,
        person: &'a AgentName,
        message: Arc<Envelope>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let data = serde_json::to_string(&*message).map_err(unreadable)?;
            self.there().hold_message(KIND, person, message.message.id, data).await?;
            Ok(())
        })
    }

    fn take<'a>(
        &'a self,
        person: &'a AgentName,
        message: EnvelopeId,
    ) -> BoxFuture<'a, Result<Option<Arc<Envelope>>>> {
        Box::pin(async move {
            let taken = self.there().take_held_message(KIND, person, message).await?;
            taken.as_ref().map(read).transpose()
        })
    }

    fn list<'a>(
        &'a self,
        person: &'a AgentName,
        page: Page<EnvelopeId>,
    ) -> BoxFuture<'a, Result<Vec<Arc<Envelope>>>> {
        Box::pin(async move {
            let (after, most) = (page.after, length(&page));
            let found = self.there().held_messages(KIND, person, after, most).await?;
            found.iter().map(read).collect()
        })
    }
}

fn read(held: &HeldMessage) -> Result<Arc<Envelope>> {
    serde_json::from_str(&held.data).map_err(unreadable)
}
