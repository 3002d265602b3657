//! Calls that wait for people.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AllowReason, AskReason, GateDecision};
use ostler_domain::scope::ToolScope;
use ostler_domain::tool::{ToolName, Trust};
use ostler_engine::driver::{TurnProgress, command_channel};
use ostler_engine::gate::fingerprint;
use ostler_engine::history::{CallId, ToolCall};
use ostler_engine::model::Chunk;
use ostler_engine::turn::{
    AgentPath, Answer, Decision, Input, InputRejected, KnownOutcomes, NewTurn, Question,
    QuestionKind, Turn, TurnEnd, TurnOutput,
};
use serde_json::json;

use crate::support::{TurnSetup, approve, calls, is_acceptable, new_turn, story, turn, words};

/// Suspends a turn, stores it, and resumes it elsewhere with a decision.
async fn resumed(
    setup: &TurnSetup,
    turn: &Turn,
    decision: impl FnOnce(&Question) -> Decision,
) -> (Turn, TurnProgress) {
    let mut turn = Turn::load(&turn.store().unwrap()).unwrap();
    let [(path, question)] = &turn.questions()[..] else { panic!("one question") };
    let (path, call, decision) = (path.clone(), question.call.id.clone(), decision(question));
    let (handle, mut commands) = command_channel();
    handle.decide(path, call, decision).unwrap();
    let progress = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    (turn, progress)
}

/// Z01: a suspended turn is a value; it resumes in another process, exactly once.
#[tokio::test]
async fn z01_a_suspended_turn_resumes_in_another_process_exactly_once() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", r#"{"text": "9"}"#)]), words("paid")]);
    let mut waiting = turn("hi");
    let TurnProgress::Suspended(questions) = setup.drive(&mut waiting).await else {
        panic!("it asks")
    };
    let QuestionKind::Approval { arguments, .. } = &questions[0].1.kind else { panic!("approval") };
    assert_eq!(*arguments, fingerprint("pay", &json!({"text": "9"})));
    assert!(setup.host.stored.lock().unwrap().is_empty());

    let (turn, end) = resumed(&setup, &waiting, approve).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    assert_eq!(story(turn.new_items())[1..], ["= ok run/a", "paid"]);
    assert_eq!(turn.account().decisions[1].verdict, GateDecision::Allow(AllowReason::Approved));
    assert_eq!(setup.host.stored.lock().unwrap().len(), 1);
    assert!(is_acceptable(turn.history(), true));
}

/// Z10: an approval is for one call. What was read from outside before it stays untrusted, so
/// the next destructive call waits for a person again.
#[tokio::test]
async fn z10_an_approval_does_not_make_what_was_read_trusted() {
    let setup = TurnSetup::new([
        calls(&[("a", "web", "{}")]),
        calls(&[("b", "pay", r#"{"text": "1"}"#)]),
        calls(&[("c", "pay", r#"{"text": "2"}"#)]),
    ]);
    let mut waiting = turn("hi");
    let asked = setup.drive(&mut waiting).await;
    assert!(matches!(asked, TurnProgress::Suspended(_)), "{asked:?}");
    let (turn, again) = resumed(&setup, &waiting, approve).await;
    let TurnProgress::Suspended(questions) = again else { panic!("{again:?}") };
    assert_eq!(questions[0].1.call.id, CallId::new("c"));
    let QuestionKind::Approval { why, .. } = &questions[0].1.kind else { panic!("approval") };
    assert_eq!((why, turn.trust()), (&AskReason::Untrusted, Trust::Untrusted));
    assert_eq!(setup.host.stored.lock().unwrap().len(), 1, "one payment was made");
}

/// A decision that arrives while the turn is being suspended is not lost: it is
/// returned for the next resume.
#[tokio::test]
async fn an_unread_decision_is_returned() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", "{}")]), words("paid")]);
    let mut waiting = turn("hi");
    let (handle, mut commands) = command_channel();
    let progress = setup.drive_with(&mut waiting, &KnownOutcomes::new(), &mut commands).await;
    let TurnProgress::Suspended(questions) = progress else { panic!("{progress:?}") };
    let (path, question) = &questions[0];
    let call = question.call.id.clone();
    handle.decide(path.clone(), call.clone(), approve(question)).unwrap();
    let left = commands.into_unread();
    assert_eq!(left.decisions, [(path.clone(), call.clone(), approve(question))]);
    let late = handle.decide(path.clone(), call, approve(question));
    assert!(late.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_decision_counts_once() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", "{}")]), words("paid")]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let mut out = TurnOutput::default();
    let yes = approve(&turn.questions()[0].1);
    let decide = |call: &str| Input::Decision(CallId::new(call), yes.clone());
    let first = turn.step(&[], decide("a"), &setup.rules(), &mut out);
    assert_eq!((first, out.actions.len()), (Ok(()), 1));
    for call in ["a", "b"] {
        let again = turn.step(&[], decide(call), &setup.rules(), &mut out);
        assert_eq!((again, out.actions.len()), (Err(InputRejected::NotExpected), 1));
    }
}

/// D06: the model is told the reason of a rejection, and nothing runs.
#[tokio::test]
async fn d06_the_model_is_told_the_reason_of_a_rejection() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", "{}")]), words("I see")]);
    let mut waiting = turn("hi");
    setup.drive(&mut waiting).await;
    let reason = "too much".to_owned();
    let (turn, _) = resumed(&setup, &waiting, |_| Decision::Reject { reason }).await;
    assert_eq!(story(turn.new_items())[1], "= rejected A person rejected this call: too much");
    assert!(setup.host.stored.lock().unwrap().is_empty());
}

/// The changed arguments are what runs and what the history shows.
#[tokio::test]
async fn an_approval_may_change_the_arguments() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", r#"{"text": "99"}"#)]), words("paid")]);
    let mut waiting = turn("hi");
    setup.drive(&mut waiting).await;
    let edit = |question: &Question, arguments| match approve(question) {
        Decision::Approve { seen, .. } => Decision::Approve { seen, arguments: Some(arguments) },
        other => other,
    };
    let (turn, _) =
        resumed(&setup, &waiting, |question| edit(question, json!({"text": "9"}))).await;
    assert_eq!(story(turn.new_items())[0], r#"pay{"text":"9"}"#);
    assert_eq!(setup.host.stored.lock().unwrap()[0].1[0].call.arguments, json!({"text": "9"}));
    let (path, question) = &waiting.questions()[0];
    let bad = Input::Decision(question.call.id.clone(), edit(question, json!({"text": 9})));
    let refused = waiting.step(path, bad, &setup.rules(), &mut TurnOutput::default());
    assert!(matches!(refused, Err(InputRejected::InvalidArguments { .. })), "{refused:?}");
    assert_eq!(waiting.questions().len(), 1, "it can be decided still");
}

/// D06: an approval of other arguments is rejected.
#[tokio::test]
async fn d06_an_approval_is_bound_to_what_the_person_saw() {
    let setup = TurnSetup::supervised([calls(&[("a", "pay", r#"{"text": "99"}"#)])]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let seen = fingerprint("pay", &json!({"text": "9"}));
    let late = Input::Decision(CallId::new("a"), Decision::Approve { seen, arguments: None });
    let mut out = TurnOutput::default();
    let refused = turn.step(&[], late, &setup.rules(), &mut out);
    assert_eq!((refused, out.actions.len()), (Err(InputRejected::ArgumentsChanged), 0));
}

/// D09: an approval does not override the current rules.
#[tokio::test]
async fn d09_an_approved_call_runs_under_the_current_rules() {
    let mut setup = TurnSetup::supervised([calls(&[("a", "pay", "{}")]), words("sorry")]);
    let mut waiting = turn("hi");
    setup.drive(&mut waiting).await;
    setup.autonomy = ostler_domain::agent::autonomy::AutonomyLevel::DraftOnly;
    let (turn, _) = resumed(&setup, &waiting, approve).await;
    assert!(story(turn.new_items())[1].starts_with("= denied"), "{:?}", story(turn.new_items()));
    assert!(setup.host.stored.lock().unwrap().is_empty());
}

/// D02: a tool on the approval list needs approval at every autonomy level.
#[tokio::test]
async fn d02_a_listed_tool_needs_approval_at_every_autonomy_level() {
    let mut setup = TurnSetup::new([calls(&[("a", "look", "{}")])]);
    setup.ask_for.insert(ToolName::from_static("look"));
    let TurnProgress::Suspended(questions) = setup.drive(&mut turn("hi")).await else {
        panic!("asks")
    };
    let QuestionKind::Approval { why, .. } = &questions[0].1.kind else { panic!("approval") };
    assert_eq!(*why, AskReason::ApprovalList);
}

/// M33, M34: the answers to questions and plans become the outcomes of the calls.
#[tokio::test]
async fn m33_answers_become_the_outcomes_of_the_calls() {
    let both = [("a", "ask_user", r#"{"text": "which?"}"#), ("b", "submit_plan", "{}")];
    let setup = TurnSetup::supervised([calls(&both), words("good")]);
    let mut turn = turn("hi");
    let TurnProgress::Suspended(questions) = setup.drive(&mut turn).await else {
        panic!("it asks")
    };
    assert_eq!(questions.len(), 2);
    let mut turn = Turn::load(&turn.store().unwrap()).unwrap();
    let (handle, mut commands) = command_channel();
    let feedback = Some("smaller".to_owned());
    let plan = Answer::Plan { approved: false, feedback };
    handle.answer(AgentPath::new(), CallId::new("b"), plan).unwrap();
    let text = "the red one".to_owned();
    handle.answer(AgentPath::new(), CallId::new("a"), Answer::Text { text }).unwrap();
    let end = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    let expected = ["= ok the red one", "= ok The plan was not approved: smaller", "good"];
    assert_eq!(story(turn.new_items())[2..], expected);
}

#[tokio::test]
async fn other_calls_run_while_one_waits() {
    let mut setup =
        TurnSetup::new([calls(&[("a", "pay", "{}"), ("b", "note", "{}")]), words("ok")]);
    setup.ask_for.insert(ToolName::from_static("pay"));
    let mut turn = turn("hi");
    assert!(matches!(setup.drive(&mut turn).await, TurnProgress::Suspended(_)));
    assert_eq!(turn.account().effects.len(), 1);
    assert_ne!(fingerprint("a", &json!({})), ArgumentsHash([0; 32]));
}

/// A call that hands the conversation over ends the turn with the text beside it;
/// the model is not asked again.
#[tokio::test]
async fn a_call_that_ends_the_turn_ends_it() {
    let mut said = calls(&[("a", "look", "{}"), ("b", "leave", "{}")]);
    said.insert(0, Ok(Chunk::Text("One moment.".into())));
    let setup = TurnSetup::new([said, words("never said")]);
    let mut turn = turn("hi");
    let end = setup.drive(&mut turn).await;
    let TurnProgress::Ended(TurnEnd::Answer { text, .. }) = end else { panic!("it ends: {end:?}") };
    assert_eq!(text, "One moment.");
    assert_eq!(setup.model.asked().len(), 1);
    assert!(is_acceptable(turn.history(), true));
}

/// D06: a call that was approved earlier runs first, once, and under the current
/// rules.
#[tokio::test]
async fn d06_a_turn_can_begin_with_an_approved_call() {
    let call = ToolCall::new(CallId::new("apr"), "pay", r#"{"text": "9"}"#);
    let begin = || Turn::new(NewTurn { approved: Some(call.clone()), ..new_turn("hi") });
    let setup = TurnSetup::supervised([words("It is paid.")]);
    let mut turn = begin();
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    assert_eq!(story(turn.new_items()), [r#"pay{"text":"9"}"#, "= ok run/apr", "It is paid."]);
    assert_eq!(turn.account().decisions[0].verdict, GateDecision::Allow(AllowReason::Approved));
    assert_eq!(setup.host.stored.lock().unwrap().len(), 1);

    let mut setup = TurnSetup::supervised([words("It is not possible.")]);
    setup.scope = ToolScope::unrestricted([]);
    let mut turn = begin();
    setup.drive(&mut turn).await;
    assert!(
        story(turn.new_items())[1].starts_with("= unknown_tool"),
        "{:?}",
        story(turn.new_items())
    );
    assert!(setup.host.stored.lock().unwrap().is_empty());
}
