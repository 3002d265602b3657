//! The event streams of the orgs. A stream that breaks off is continued after the last event
//! that came; what it says is only that something is to be read again.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ostler_api::event::{AgentDelta, DELTA_EVENT, EventData, OPEN_EVENT};
use ostler_domain::id::SessionId;
use ostler_tui::inbox::protocol::ConnectionState;
use serde::Deserialize;
use tokio::sync::{Notify, mpsc};

use crate::api_client::{OrgApi, ServerEvent};

/// The wait before the second attempt, which doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// What the stream of an org says.
#[derive(Debug)]
pub(super) enum StreamSignal {
    State(usize, ConnectionState),
    /// Something happened in the org at a place; in this session if it is known.
    Changed(usize, Option<SessionId>),
    /// An agent is writing.
    Writing(AgentDelta),
}

/// Follows the events of an org, the one at a place, until nobody listens any more.
pub(super) async fn follow(
    place: usize,
    org: OrgApi,
    signals: mpsc::Sender<StreamSignal>,
    retry: Arc<Notify>,
) {
    let (mut last, mut wait) = (None, FIRST_WAIT);
    loop {
        let why = match read(place, &org, &mut last, &signals, &mut wait).await {
            // A server ends each stream after an hour, and when it stops.
            Ok(()) => "the server ended the connection".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        let state = ConnectionState::Lost { why, retry_at: now() + wait.as_millis() as u64 };
        if signals.send(StreamSignal::State(place, state)).await.is_err() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = retry.notified() => {}
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

async fn read(
    place: usize,
    org: &OrgApi,
    last: &mut Option<String>,
    signals: &mpsc::Sender<StreamSignal>,
    wait: &mut Duration,
) -> anyhow::Result<()> {
    let query = [("org", org.org.slug.as_str()), ("deltas", "true")];
    let mut stream = org.api.follow(&["events"], &query, last.as_deref()).await?;
    while let Some(ServerEvent { id, name, data }) = stream.next().await? {
        if id.is_some() {
            *last = id;
        }
        if name == OPEN_EVENT {
            *wait = FIRST_WAIT;
            let state = StreamSignal::State(place, ConnectionState::Live);
            if signals.send(state).await.is_err() {
                return Ok(());
            }
        }
        let signal = match name.as_str() {
            DELTA_EVENT => serde_json::from_str(&data).ok().map(StreamSignal::Writing),
            // Also after the first event: what happened before it is known from nowhere else.
            _ => Some(StreamSignal::Changed(place, session_of(&data))),
        };
        if let Some(signal) = signal
            && signals.send(signal).await.is_err()
        {
            return Ok(());
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct SessionField {
    session: SessionId,
}

fn session_of(data: &str) -> Option<SessionId> {
    let event: EventData = serde_json::from_str(data).ok()?;
    serde_json::from_value(event.data).ok().map(|SessionField { session }| session)
}

/// Returns the state of all streams together: the worst of them.
pub(super) fn worst(states: &[ConnectionState]) -> ConnectionState {
    let is_lost = |state: &&ConnectionState| matches!(state, ConnectionState::Lost { .. });
    let lost = states.iter().find(is_lost);
    let waiting = states.iter().find(|state| **state == ConnectionState::Connecting);
    lost.or(waiting).cloned().unwrap_or(ConnectionState::Live)
}

/// Returns the time in milliseconds since 1970.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use ostler_tui::inbox::protocol::ConnectionState::{self, Connecting, Live};

    use super::worst;

    #[test]
    fn one_lost_stream_is_shown() {
        let lost = || ConnectionState::Lost { why: "gone".to_owned(), retry_at: 1 };
        let check = |states: &[ConnectionState], expected| assert_eq!(worst(states), expected);
        check(&[Live, Live], Live);
        check(&[Live, Connecting], Connecting);
        check(&[Connecting, lost(), Live], lost());
    }
}
