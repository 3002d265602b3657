//! A run as it is stored before a tool has an effect outside. The next attempt continues here
//! and calls no model twice.

use ostler_domain::id::{AgentId, CallId, OrgId, ReservationId};
use ostler_domain::money::Credits;
use ostler_engine::history;
use ostler_engine::turn::{AgentPath, KnownOutcomes, Turn};
use serde::{Deserialize, Serialize};

use super::refusals::ColleagueRefusal;
use super::steps::turn::FinishedTurn;
use crate::assembly::credits::TurnFunds;
use crate::org_view::AgentView;
use crate::records::session::Session;
use crate::records::snapshot::Snapshot;

/// A run in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TurnCheckpoint {
    /// The session, as the open turn began with it.
    pub(crate) session: Box<Session>,
    pub(crate) finished_turns: Vec<FinishedTurn>,
    #[serde(default)]
    pub(crate) side_turns: Vec<FinishedTurn>,
    /// The session before this one, as the run leaves it.
    #[serde(default)]
    pub(crate) previous_session: Option<Box<Session>>,
    pub(crate) open_turn: OpenTurn,
    pub(crate) turn: Turn,
}

/// A checkpoint of an earlier attempt, with the outcomes that were stored since.
pub(crate) struct RecoveredRun {
    pub(crate) checkpoint: TurnCheckpoint,
    pub(crate) known_outcomes: KnownOutcomes,
}

/// What belongs to a turn besides the engine's own state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenTurn {
    pub(crate) agent: AgentId,
    pub(crate) harness: Snapshot,
    pub(crate) payer: OrgId,
    pub(crate) reservation: ReservationId,
    /// The credits reserved.
    pub(crate) held: Credits,
    pub(crate) calls: Vec<ExternalCall>,
    /// What was refused to consulted colleagues.
    #[serde(default)]
    pub(crate) colleague_refusals: Vec<ColleagueRefusal>,
}

impl OpenTurn {
    pub(crate) fn new(agent: &AgentView, harness: Snapshot, funds: &TurnFunds) -> Self {
        Self {
            agent: agent.agent.id,
            harness,
            payer: funds.payer,
            reservation: funds.reservation,
            held: funds.held,
            calls: Vec::new(),
            colleague_refusals: Vec::new(),
        }
    }
}

/// A tool call with an effect outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExternalCall {
    /// The agent of the turn that made it.
    pub(crate) path: AgentPath,
    /// The model's id of the call.
    pub(crate) call: history::CallId,
    /// The store's id of the call.
    pub(crate) id: CallId,
}

/// A [`TurnCheckpoint`], borrowed to be stored.
#[derive(Serialize)]
pub(crate) struct TurnCheckpointRef<'a> {
    pub(crate) session: &'a Session,
    #[serde(flatten)]
    pub(crate) progress: RunProgress<'a>,
    pub(crate) open_turn: &'a OpenTurn,
    pub(crate) turn: &'a Turn,
}

/// What a run has done before a turn begins.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct RunProgress<'a> {
    pub(crate) finished_turns: &'a [FinishedTurn],
    pub(crate) side_turns: &'a [FinishedTurn],
    pub(crate) previous_session: Option<&'a Session>,
}
