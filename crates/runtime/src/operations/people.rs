//! What the org's own people want in their chats is done as any operator's.

use ostler_domain::message::Part;

use super::{Actor, Office, OperationError, Operations};
use crate::inbound::receive::people::{Doing, NotDone, People, Wish};

impl Operations {
    fn of(&self, wish: &Wish) -> Office<'_> {
        let office = self.as_actor(Actor::Chat(wish.by.user), wish.org);
        office.once(wish.session, &wish.once)
    }
}

impl People for Operations {
    fn take_over<'a>(&'a self, wish: &'a Wish) -> Doing<'a> {
        Box::pin(async { done(self.of(wish).take_over(wish.session).await) })
    }

    fn human_message<'a>(&'a self, wish: &'a Wish, parts: Vec<Part>) -> Doing<'a> {
        Box::pin(async { done(self.of(wish).say(wish.session, parts).await) })
    }

    fn resume<'a>(&'a self, wish: &'a Wish) -> Doing<'a> {
        Box::pin(async { done(self.of(wish).resume(wish.session).await) })
    }

    fn dismiss<'a>(&'a self, wish: &'a Wish) -> Doing<'a> {
        Box::pin(async { done(self.of(wish).dismiss(wish.session).await) })
    }
}

fn done<T>(result: Result<T, OperationError>) -> Result<(), NotDone> {
    match result {
        Ok(_) => Ok(()),
        Err(OperationError::Store(error)) => Err(NotDone::Store(error)),
        Err(other) => Err(NotDone::Refused(other.to_string())),
    }
}
