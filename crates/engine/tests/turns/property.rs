//! Random sequences of inputs: a turn ends once, runs nothing that was not allowed,
//! can be stored at any moment, and leaves a history that providers accept.

use std::collections::BTreeSet;

use ostler_domain::gate::GateDecision;
use ostler_domain::money::Credits;
use ostler_domain::tool::ToolName;
use ostler_engine::history::CallId;
use ostler_engine::model::{Chunk, ModelError, ModelErrorKind, Restart, StopReason, Usage};
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{SubagentTask, ToolReply, UserQuestion};
use ostler_engine::turn::{
    AgentPath, Answer, ApprovalMode, Decision, Input, KnownOutcomes, NewTurn, Turn, TurnAction,
    TurnEvent, TurnOutput,
};
use proptest::prelude::*;

use crate::support::{TurnSetup, approve, follow_up, is_acceptable, new_turn};

/// The next thing to happen. Numbers select among the work in progress.
#[derive(Debug, Clone)]
enum Incident {
    Chunk(usize, Piece),
    Reply(usize, u8),
    ToppedUp(usize, u64),
    Decision(usize, bool),
    Answer(usize),
    FollowUp,
    Steer,
    Nonsense(u8),
    Reload,
    Resume,
    Abort,
    TimedOut,
}

#[derive(Debug, Clone)]
enum Piece {
    Text,
    Call(u8, u8),
    Arguments(u8, &'static str),
    Usage(u64),
    Restart,
    Done(u8),
    Fails,
}

fn piece() -> impl Strategy<Value = Piece> {
    let json = prop::sample::select(vec!["{}", "{\"text\":\"a\"}", "{\"text\":1}", "{", "", "[]"]);
    prop_oneof![
        3 => Just(Piece::Text),
        4 => (0..3_u8, any::<u8>()).prop_map(|(index, tool)| Piece::Call(index, tool)),
        3 => (0..3_u8, json).prop_map(|(index, json)| Piece::Arguments(index, json)),
        1 => (0..100_000_u64).prop_map(Piece::Usage),
        1 => Just(Piece::Restart),
        6 => any::<u8>().prop_map(Piece::Done),
        1 => Just(Piece::Fails),
    ]
}

fn incident() -> impl Strategy<Value = Incident> {
    let any_at = any::<usize>;
    prop_oneof![
        12 => (any_at(), piece()).prop_map(|(at, piece)| Incident::Chunk(at, piece)),
        6 => (any_at(), any::<u8>()).prop_map(|(at, kind)| Incident::Reply(at, kind)),
        3 => (any_at(), 0..50_u64).prop_map(|(at, more)| Incident::ToppedUp(at, more)),
        3 => (any_at(), any::<bool>()).prop_map(|(at, yes)| Incident::Decision(at, yes)),
        2 => any_at().prop_map(Incident::Answer),
        1 => Just(Incident::FollowUp),
        1 => Just(Incident::Steer),
        2 => any::<u8>().prop_map(Incident::Nonsense),
        1 => Just(Incident::Reload),
        1 => Just(Incident::Resume),
    ]
}

const TOOLS: [&str; 10] =
    ["look", "note", "pay", "web", "broken", "ask_user", "subagent", "submit_plan", "nothing", ""];

/// A turn and its work in progress.
struct Play {
    setup: TurnSetup,
    turn: Turn,
    models: Vec<AgentPath>,
    tools: Vec<(AgentPath, CallId)>,
    top_ups: Vec<AgentPath>,
    ends: usize,
    allowed: BTreeSet<(AgentPath, CallId)>,
}

impl Play {
    fn new(supervised: bool, defer: bool, reserved: u64) -> Self {
        let mut setup = TurnSetup::new([]);
        if supervised {
            setup.ask_for.extend(["pay", "note"].map(ToolName::from_static));
        }
        let mut new = new_turn("hi");
        new.limits.max_steps = 12;
        new.limits.approval_mode = if defer { ApprovalMode::Defer } else { ApprovalMode::Suspend };
        new.budget.reserved = Credits::new(reserved);
        new.budget.top_up = Credits::new(20);
        let turn = Turn::new(NewTurn { ..new });
        let mut play = Self {
            setup,
            turn,
            models: Vec::new(),
            tools: Vec::new(),
            top_ups: Vec::new(),
            ends: 0,
            allowed: BTreeSet::new(),
        };
        play.resume();
        play
    }

    fn resume(&mut self) {
        let mut out = TurnOutput::default();
        (self.models, self.tools, self.top_ups) = Default::default();
        self.turn.resume(&KnownOutcomes::new(), &self.setup.rules(), &mut out);
        self.take(out);
    }

    fn step(&mut self, path: &[CallId], input: Input) -> bool {
        let stops = matches!(input, Input::Abort | Input::TimedOut | Input::Steer(_));
        let before = self.turn.clone();
        let mut out = TurnOutput::default();
        let taken = self.turn.step(path, input, &self.setup.rules(), &mut out).is_ok();
        if taken && stops {
            (self.models, self.tools, self.top_ups) = Default::default();
        }
        if !taken {
            assert_eq!(before, self.turn, "what was not expected changed something");
            assert!(out.actions.is_empty() && out.events.is_empty());
        }
        self.take(out);
        taken
    }

    fn take(&mut self, out: TurnOutput) {
        for (path, event) in out.events {
            match event {
                TurnEvent::Ended(_) => {
                    assert!(path.is_empty());
                    self.ends += 1;
                }
                TurnEvent::Decided(judgement)
                    if matches!(judgement.verdict, GateDecision::Allow(_)) =>
                {
                    self.allowed.insert((path, judgement.call));
                }
                _ => {}
            }
        }
        for (path, action) in out.actions {
            match action {
                TurnAction::CallModel { request, .. } => {
                    assert!(is_acceptable(&request.history, true), "{:?}", request.history);
                    assert!(request.max_tokens > 0);
                    self.models.push(path);
                }
                TurnAction::Run { call, .. } => {
                    let id = call.call().id.clone();
                    assert!(self.allowed.contains(&(path.clone(), id.clone())), "not allowed");
                    self.tools.push((path, id));
                }
                TurnAction::TopUp(more) => {
                    assert!(!more.is_zero());
                    self.top_ups.push(path);
                }
            }
        }
    }

    fn chunk(&mut self, at: usize, piece: &Piece) {
        if self.models.is_empty() {
            return;
        }
        let at = at % self.models.len();
        let path = self.models[at].clone();
        let input = match piece {
            Piece::Text => Input::Chunk(Chunk::Text("words ".into())),
            Piece::Call(index, tool) => Input::Chunk(Chunk::Call {
                index: u32::from(*index),
                id: if *tool % 3 == 0 { String::new() } else { format!("c{}", tool % 5) },
                name: TOOLS[usize::from(*tool) % TOOLS.len()].into(),
            }),
            Piece::Arguments(index, json) => Input::Chunk(Chunk::Arguments {
                index: u32::from(*index),
                json: (*json).to_owned(),
            }),
            Piece::Usage(tokens) => Input::Chunk(Chunk::Usage(Usage {
                input: *tokens,
                output: *tokens,
                cached: 0,
                written: 0,
            })),
            Piece::Restart => Input::Chunk(Chunk::Restart(Restart {
                failed: "a".into(),
                model: "b".into(),
                why: "cut".into(),
            })),
            Piece::Done(stop) => Input::Chunk(Chunk::Done(match stop % 3 {
                0 => StopReason::End,
                1 => StopReason::ToolCalls,
                _ => StopReason::MaxTokens,
            })),
            Piece::Fails => Input::ModelFailed(ModelError {
                model: "m".into(),
                kind: ModelErrorKind::Network,
                message: "gone".into(),
                retry_after: None,
            }),
        };
        if matches!(piece, Piece::Done(_) | Piece::Fails) {
            self.models.swap_remove(at);
        }
        self.step(&path, input);
    }

    fn reply(&mut self, at: usize, kind: u8) {
        if self.tools.is_empty() {
            return;
        }
        let (path, call) = self.tools.swap_remove(at % self.tools.len());
        let reply = match kind % 5 {
            0 => ToolReply::Done(ToolOutcome::failed("broken")),
            1 => ToolReply::Ask(UserQuestion::Question {
                question: "which?".into(),
                options: vec![],
            }),
            2 => ToolReply::Delegate(SubagentTask {
                agent_type: "explore".into(),
                model: (kind > 250).then(|| "missing".into()),
                system: "You explore.".into(),
                task: "go".into(),
                forked: kind.is_multiple_of(2),
                tools: ["look", "pay", "subagent"].map(ToolName::from_static).into(),
                own_tools: Vec::new(),
                max_steps: None,
                max_credits: kind.is_multiple_of(3).then(|| Credits::new(2)),
            }),
            _ => ToolReply::Done(ToolOutcome::ok("done").untrusted()),
        };
        assert!(self.step(&path, Input::Reply(call, reply)), "a reply that was waited for");
    }

    fn play(&mut self, incident: &Incident) {
        match incident {
            Incident::Chunk(at, piece) => self.chunk(*at, piece),
            Incident::Reply(at, kind) => self.reply(*at, *kind),
            Incident::ToppedUp(at, more) if !self.top_ups.is_empty() => {
                let path = self.top_ups.swap_remove(at % self.top_ups.len());
                self.step(&path, Input::ToppedUp(Credits::new(*more)));
            }
            Incident::Decision(at, yes) => {
                let questions = self.turn.questions();
                if let Some((path, question)) = questions.get(at % questions.len().max(1)) {
                    let decision = if *yes {
                        approve(question)
                    } else {
                        Decision::Reject { reason: "no".into() }
                    };
                    self.step(path, Input::Decision(question.call.id.clone(), decision));
                }
            }
            Incident::Answer(at) => {
                let questions = self.turn.questions();
                if let Some((path, question)) = questions.get(at % questions.len().max(1)) {
                    let answer = Answer::Text { text: "yes".into() };
                    self.step(path, Input::Answer(question.call.id.clone(), answer));
                }
            }
            Incident::FollowUp => {
                self.step(&[], Input::FollowUp(follow_up("and?")));
            }
            Incident::Steer => {
                self.step(&[], Input::Steer(follow_up("no, this")));
            }
            Incident::Nonsense(kind) => self.unexpected_input(*kind),
            Incident::Reload => {
                let stored = self.turn.store().unwrap();
                assert_eq!(Turn::load(&stored).unwrap(), self.turn);
            }
            Incident::Resume => self.resume(),
            Incident::Abort => {
                self.step(&[], Input::Abort);
            }
            Incident::TimedOut => {
                self.step(&[], Input::TimedOut);
            }
            Incident::ToppedUp(..) => {}
        }
    }

    /// Applies an input that nothing waits for.
    fn unexpected_input(&mut self, kind: u8) {
        let nobody = CallId::new("nobody");
        let (path, input) = match kind % 4 {
            0 => (vec![nobody], Input::Chunk(Chunk::Text("x".into()))),
            1 => (vec![], Input::Reply(nobody, ToolReply::Done(ToolOutcome::ok("x")))),
            2 => (vec![], Input::Decision(nobody, Decision::Reject { reason: "no".into() })),
            _ => (vec![], Input::Answer(nobody, Answer::Text { text: "x".into() })),
        };
        assert!(!self.step(&path, input));
    }

    /// Checks the invariants.
    fn check(&self) {
        let over = self.turn.end().is_some();
        assert_eq!(self.ends, usize::from(over), "it ends once");
        assert!(is_acceptable(self.turn.history(), over), "{:?}", self.turn.history());
        let stored = self.turn.store().unwrap();
        assert_eq!(Turn::load(&stored).unwrap(), self.turn, "stored and loaded");
        let idle = self.models.is_empty() && self.tools.is_empty() && self.top_ups.is_empty();
        if !over {
            assert_eq!(idle, self.turn.waits_for_people(), "it is forgotten");
            assert!(!(idle && self.turn.questions().is_empty()), "it waits for nobody");
        }
        assert!(self.turn.account().steps <= 12);
    }
}

/// The number of cases; a longer run sets the variable.
fn cases() -> u32 {
    std::env::var("OSTLER_TURN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Z02: no tool runs that the gate did not allow, and all other invariants hold.
    #[test]
    fn z02_random_inputs_never_break_the_invariants_of_a_turn(
        supervised in any::<bool>(),
        defer in any::<bool>(),
        reserved in 0..30_u64,
        all in prop::collection::vec(incident(), 1..80),
        last in prop::sample::select(vec![Incident::Abort, Incident::TimedOut]),
    ) {
        let mut play = Play::new(supervised, defer, reserved);
        play.check();
        for incident in &all {
            play.play(incident);
            play.check();
        }
        // An abort ends the turn from every state.
        play.play(&last);
        play.check();
        prop_assert!(play.turn.end().is_some());
        // Nothing changes it afterwards.
        play.play(&Incident::FollowUp);
        play.play(&Incident::Steer);
        play.play(&Incident::Resume);
        play.check();
        prop_assert!(play.models.is_empty() && play.tools.is_empty());
    }
}
