//! Requests from team chats, carried out like any other operation.

use ostler_domain::message::MessagePart;

use super::{Actor, OperationError, Operations, OrgOperations};
use crate::conversation::receive::team_chats::{
    TeamRequest, TeamRequestError, TeamRequestFuture, TeamRequestHandler, TeamRequestResult,
};

impl Operations {
    fn for_request(&self, request: &TeamRequest) -> OrgOperations<'_> {
        let operations = self.as_actor(Actor::Chat(request.by.user), request.org);
        operations.idempotent(request.session, &request.idempotency_key)
    }
}

impl TeamRequestHandler for Operations {
    fn take_over<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a> {
        Box::pin(async {
            let takeover = self.for_request(request).take_over(request.session).await;
            let in_flight = takeover.as_ref().map_or(0, |takeover| takeover.in_flight.len());
            request_result(takeover).map(|_| TeamRequestResult { in_flight })
        })
    }

    fn human_message<'a>(
        &'a self,
        request: &'a TeamRequest,
        parts: Vec<MessagePart>,
    ) -> TeamRequestFuture<'a> {
        Box::pin(async {
            request_result(self.for_request(request).say(request.session, parts).await)
        })
    }

    fn resume<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a> {
        Box::pin(async { request_result(self.for_request(request).resume(request.session).await) })
    }

    fn dismiss<'a>(&'a self, request: &'a TeamRequest) -> TeamRequestFuture<'a> {
        Box::pin(async { request_result(self.for_request(request).dismiss(request.session).await) })
    }
}

fn request_result<T>(
    result: Result<T, OperationError>,
) -> Result<TeamRequestResult, TeamRequestError> {
    match result {
        Ok(_) => Ok(TeamRequestResult::default()),
        Err(OperationError::Store(error)) => Err(TeamRequestError::Store(error)),
        Err(other) => Err(TeamRequestError::Refused(other.to_string())),
    }
}
