//! A run as it is stored before anything happens outside: whoever takes it up
//! again goes on from here and asks no model twice.

use ostler_domain::id::{AgentId, CallId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_engine::history;
use ostler_engine::turn::{Path, Turn};
use serde::{Deserialize, Serialize};

use super::step_07b_credits::Purse;
use super::step_08_turn::Finished;
use crate::org_view::AgentView;
use crate::talk::session::Session;
use crate::talk::snapshot::Snapshot;

/// A run that is under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Saved {
    /// The session, as the turn began with it.
    pub(super) session: Box<Session>,
    /// The turns of the run that are over.
    pub(super) before: Vec<Finished>,
    /// Small turns beside those.
    #[serde(default)]
    pub(super) beside: Vec<Finished>,
    /// The session before this one, as the run leaves it.
    #[serde(default)]
    pub(super) old: Option<Box<Session>>,
    /// The turn that is not.
    pub(super) open: Open,
    /// The turn itself.
    pub(super) turn: Turn,
}

/// What belongs to a turn beside itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Open {
    /// The agent.
    pub(super) agent: AgentId,
    /// Its harness.
    pub(super) harness: Snapshot,
    /// Who pays.
    pub(super) payer: OrgId,
    /// What is held for it.
    pub(super) reservation: ReservationId,
    /// How much that was.
    pub(super) held: Credits,
    /// Its calls outside, and under which id each was written down.
    pub(super) calls: Vec<Outside>,
}

impl Open {
    /// A turn that begins.
    pub(super) fn new(agent: &AgentView, harness: Snapshot, purse: &Purse) -> Self {
        Self {
            agent: agent.agent.id,
            harness,
            payer: purse.payer,
            reservation: purse.reservation,
            held: purse.held,
            calls: Vec::new(),
        }
    }
}

/// A call outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outside {
    /// The agent of the turn that made it.
    pub(super) path: Path,
    /// What the model called it.
    pub(super) call: history::CallId,
    /// What it was written down as.
    pub(super) id: CallId,
}

/// A run under way, borrowed to be stored.
#[derive(Serialize)]
pub(super) struct Saving<'a> {
    pub(super) session: &'a Session,
    #[serde(flatten)]
    pub(super) so_far: SoFar<'a>,
    pub(super) open: &'a Open,
    pub(super) turn: &'a Turn,
}

/// What a run has come to before a turn of it begins.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct SoFar<'a> {
    pub(super) before: &'a [Finished],
    pub(super) beside: &'a [Finished],
    pub(super) old: Option<&'a Session>,
}
