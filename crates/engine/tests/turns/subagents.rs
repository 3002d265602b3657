//! Subagents inside a turn.

use ostler_domain::gate::{AskReason, DenyReason, GateDecision};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetExceeded, BudgetLimit};
use ostler_domain::tool::Trust;
use ostler_engine::driver::{TurnProgress, command_channel};
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Usage};
use ostler_engine::turn::{
    KnownOutcomes, ROOT_AGENT, Turn, TurnEnd, TurnEvent, parse_subagent_meta,
};

use crate::support::{
    AnswerChunks, FOR_SUBAGENTS, FakeModel, TurnSetup, approve, calls, is_acceptable, story, turn,
    words,
};

/// M05, M08: a subagent sees only its task, has only the tools it was given, and
/// only its result reaches the parent.
#[tokio::test]
async fn m05_a_subagent_sees_only_its_task_and_its_tools() {
    let setup = TurnSetup::new([
        calls(&[("a", "subagent", r#"{"text": "find it"}"#)]),
        calls(&[("x", "note", "{}"), ("y", "look", r#"{"text": "there"}"#)]),
        words("found"),
        words("it is there"),
    ]);
    let mut turn = turn("where is it?");
    setup.drive(&mut turn).await;
    let said = story(turn.new_items());
    assert_eq!((said.len(), said[2].as_str()), (3, "it is there"));
    let (text, meta) = parse_subagent_meta(said[1].strip_prefix("= ok ").unwrap());
    let meta = meta.unwrap();
    assert_eq!((text, meta.tool_calls, meta.duration_ms), ("found", 2, 0));
    let asked = setup.model.asked();
    assert_eq!(&*asked[1].system, "You explore.");
    assert_eq!(asked[1].history.len(), 1);
    assert_eq!(*asked[1].offered, FOR_SUBAGENTS);
    assert!(is_acceptable(&asked[2].history, true));
    let denied =
        turn.account().decisions.iter().filter(|d| matches!(d.verdict, GateDecision::Deny(_)));
    assert_eq!(denied.map(|d| d.tool.as_str()).collect::<Vec<_>>(), ["note"]);
}

/// M05, Z02: a subagent of a subagent has no tool that its caller lacks, also if it is to be
/// given one.
#[tokio::test]
async fn m05_a_subagent_is_given_no_tool_that_its_caller_lacks() {
    let setup = TurnSetup::new([
        calls(&[("a", "subagent", r#"{"text": "find it"}"#)]),
        calls(&[("b", "assistant", r#"{"text": "note it"}"#)]),
        calls(&[("c", "note", r#"{"text": "here"}"#)]),
        words("not noted"),
        words("found"),
        words("done"),
    ]);
    let mut nested = turn("where is it?");
    setup.drive(&mut nested).await;
    assert_eq!(*setup.model.asked()[2].offered, FOR_SUBAGENTS);
    let last = nested.account().decisions.last().expect("the call of `note`");
    assert_eq!(last.tool, "note");
    assert!(matches!(last.verdict, GateDecision::Deny(_)), "{last:?}");
    assert!(nested.account().effects.is_empty());

    // The same subagent of an agent that has the tool may use it.
    let setup = TurnSetup::new([
        calls(&[("b", "assistant", r#"{"text": "note it"}"#)]),
        calls(&[("c", "note", r#"{"text": "here"}"#)]),
        words("noted"),
        words("done"),
    ]);
    let mut direct = turn("note it");
    setup.drive(&mut direct).await;
    assert_eq!(direct.account().effects.len(), 1);
}

/// Z02, M05: a forked subagent knows what its caller knows but is allowed no more:
/// its calls pass the same gate and wait for the same approvals.
#[tokio::test]
async fn z02_a_forked_turn_passes_the_same_gate() {
    let mut setup = TurnSetup::new([
        calls(&[("a", "look", r#"{"text": "here"}"#)]),
        calls(&[("b", "fork", r#"{"text": "go on"}"#)]),
        calls(&[("x", "note", "{}"), ("y", "pay", "{}")]),
        words("paid"),
        words("done"),
    ]);
    setup.ask_for.insert(ostler_domain::tool::ToolName::from_static("pay"));
    let mut waiting = turn("where is it?");
    let TurnProgress::Suspended(questions) = setup.drive(&mut waiting).await else {
        panic!("it asks")
    };
    let (path, question) = &questions[0];
    assert_eq!((path[0].0.as_ref(), question.call.name.as_str()), ("b", "pay"));
    let denied = waiting.account().decisions.iter();
    let denied = denied.filter(|one| matches!(one.verdict, GateDecision::Deny(_)));
    assert_eq!(denied.map(|one| one.tool.as_str()).collect::<Vec<_>>(), ["note"]);

    let mut turn = Turn::load(&waiting.store().unwrap()).unwrap();
    let (handle, mut commands) = command_channel();
    handle.decide(path.clone(), question.call.id.clone(), approve(question)).unwrap();
    let end = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert!(
        matches!(end, TurnProgress::Ended(TurnEnd::Answer { ref text, .. }) if text == "done"),
        "{end:?}"
    );

    let asked = setup.model.asked();
    let (parent, forked) = (&asked[1], &asked[2]);
    assert_eq!(forked.system, parent.system);
    assert_eq!(forked.history[..parent.history.len()], parent.history[..]);
    assert_eq!(forked.history.last(), Some(&Item::user("You explore.\n\ngo on")));
    assert_eq!(*forked.offered, FOR_SUBAGENTS);
    assert!(asked.iter().all(|one| is_acceptable(&one.history, true)));
    let said = story(turn.new_items());
    assert_eq!(said.len(), 5, "nothing of what it said but its result is the caller's: {said:?}");
}

/// M09: events of a subagent carry the path to it.
#[tokio::test]
async fn m09_subagent_events_carry_the_path_to_the_subagent() {
    let setup = TurnSetup::new([
        calls(&[("a", "subagent", r#"{"text": "find it"}"#)]),
        calls(&[("x", "look", "{}")]),
        words("found"),
        words("done"),
    ]);
    setup.drive(&mut turn("hi")).await;
    let events = setup.host.events.lock().unwrap();
    let inside: Vec<&TurnEvent> =
        events.iter().filter(|(path, _)| path.len() == 1).map(|(_, event)| event).collect();
    let started =
        TurnEvent::SubagentStarted { agent_type: "explore".into(), task: "find it".into() };
    assert_eq!(inside.first(), Some(&&started));
    let Some(TurnEvent::SubagentEnded { agent_type, duration_ms: 0, messages }) = inside.last()
    else {
        panic!("{inside:?}");
    };
    assert_eq!(agent_type, "explore");
    assert_eq!(messages.first(), Some(&Item::user("find it")));
    assert_eq!(messages.last(), Some(&Item::assistant("found")));
    assert_eq!(messages.len(), 4, "its task, its call, the result and its answer");
    let looked = inside.iter().filter_map(|event| match event {
        TurnEvent::Decided(judgement) => Some(judgement.tool.as_str()),
        TurnEvent::CallEnded { tool, .. } => Some(tool.as_str()),
        _ => None,
    });
    assert_eq!(looked.collect::<Vec<_>>(), ["look", "look"], "it is decided, and it ends");
}

/// Z01: a question three levels deep is reported; answered in another process, the
/// whole turn continues.
#[tokio::test]
async fn z01_a_nested_question_is_reported_and_answered_in_another_process() {
    let deeper = |id| calls(&[(id, "subagent", r#"{"text": "go on"}"#)]);
    let said = [
        deeper("a"),
        deeper("b"),
        deeper("c"),
        calls(&[("d", "pay", "{}")]),
        words("paid"),
        words("third"),
        words("second"),
        words("first"),
    ];
    let mut setup = TurnSetup::new(said);
    setup.ask_for.insert(ostler_domain::tool::ToolName::from_static("pay"));
    let mut waiting = turn("hi");
    let TurnProgress::Suspended(questions) = setup.drive(&mut waiting).await else {
        panic!("it asks")
    };
    let (path, question) = &questions[0];
    assert_eq!(path.iter().map(|id| &*id.0).collect::<Vec<_>>(), ["a", "b", "c"]);
    let mut turn = Turn::load(&waiting.store().unwrap()).unwrap();
    let (handle, mut commands) = command_channel();
    handle.decide(path.clone(), question.call.id.clone(), approve(question)).unwrap();
    let end = setup.drive_with(&mut turn, &KnownOutcomes::new(), &mut commands).await;
    assert!(
        matches!(end, TurnProgress::Ended(TurnEnd::Answer { ref text, .. }) if text == "first"),
        "{end:?}"
    );
    let stored = setup.host.stored.lock().unwrap();
    assert_eq!(stored[0].1[0].idempotency_key, "run/a/b/c/d");
}

#[tokio::test]
async fn subagents_are_denied_beyond_the_maximum_depth() {
    let deeper =
        (0..50).map(|n| calls(&[("a", "subagent", &format!(r#"{{"text": "level {n}"}}"#))]));
    let setup = TurnSetup::new(deeper.take(6).chain([words("enough")]));
    let mut turn = turn("hi");
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    let asked = setup.model.asked();
    let deepest = asked.iter().filter(|request| request.history.len() == 1).count();
    assert_eq!(deepest, 6, "the turn's own and five below it");
}

/// Z12: the usage of subagents is counted and attributed.
#[tokio::test]
async fn z12_subagent_usage_is_counted_by_kind() {
    let setup = TurnSetup::new([
        calls(&[("a", "subagent", "{}")]),
        calls(&[("x", "pay", "{}")]),
        words("found"),
        words("done"),
    ]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let account = turn.account();
    assert_eq!(account.usage.input, 40);
    assert_eq!(
        (
            account.usage_by_agent[ROOT_AGENT].usage.input,
            account.usage_by_agent["explore"].usage.input
        ),
        (20, 20)
    );
    assert_eq!(account.usage_by_agent["explore"].credits.get(), 2);
    let charged: u64 = account.charges().iter().map(|charge| charge.amount.get()).sum();
    let spent: u64 = account.usage_by_agent.values().map(|spent| spent.credits.get()).sum();
    assert_eq!(charged, spent);
}

/// M48, Z12: a subagent spends no more than its limit; what its own subagents spend counts.
/// Its caller goes on, also after the turn was stored.
#[tokio::test]
async fn m48_z12_a_subagent_and_those_below_it_stay_within_its_limit_of_credits() {
    // The limit is 4: a credit for the models, 2 for the first payment, and not enough for
    // another one.
    let setup = TurnSetup::new([
        calls(&[("a", "assistant", "{}")]),
        calls(&[("b", "subagent", "{}")]),
        calls(&[("x", "pay", r#"{"text": "1"}"#)]),
        calls(&[("y", "pay", r#"{"text": "2"}"#)]),
        words("paid once"),
        words("done"),
        calls(&[("z", "pay", r#"{"text": "3"}"#)]),
        words("the caller has no such limit"),
    ]);
    let mut first = turn("hi");
    setup.drive(&mut first).await;
    let decided: Vec<_> =
        first.account().decisions.iter().filter(|one| one.tool == "pay").collect();
    assert_eq!(decided.len(), 3);
    let refused = BudgetExceeded {
        wanted: Credits::new(2),
        remaining: Credits::new(1),
        limit: BudgetLimit::Subagent,
    };
    assert_eq!(decided[1].verdict, GateDecision::Deny(DenyReason::OverBudget(refused)));
    assert!(!matches!(decided[2].verdict, GateDecision::Deny(_)), "{:?}", decided[2]);
    // The limit holds in a turn that was stored before the second payment.
    let (stored, _) = setup.host.stored.lock().unwrap()[0].clone();
    let again = TurnSetup::new([calls(&[("y", "pay", r#"{"text": "2"}"#)]), words("paid once")]);
    let mut loaded = Turn::load(&stored).unwrap();
    again.drive(&mut loaded).await;
    let verdicts = loaded.account().decisions.iter().map(|one| &one.verdict);
    assert!(verdicts.clone().any(|one| *one == decided[1].verdict), "{verdicts:?}");
}

/// M48: a subagent whose model has cost more than its limit gives no further answer.
#[tokio::test]
async fn m48_a_subagent_that_has_spent_its_limit_is_stopped() {
    let mut dear = calls(&[("x", "look", "{}")]);
    dear[2] = Ok(Chunk::Usage(Usage { input: 70_000, output: 100, ..Usage::default() }));
    let setup = TurnSetup::new([calls(&[("a", "assistant", "{}")]), dear, words("done")]);
    let mut turn = turn("hi");
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    let said = story(turn.new_items());
    let outcome = "= insufficient_credits This agent did not finish: it has spent";
    assert!(said[1].starts_with(outcome), "{said:?}");
    assert_eq!(setup.model.asked().len(), 3);
    // No answer of it may cost more than its limit: 15 dollars for a million tokens.
    assert!(setup.model.asked()[1].max_tokens <= 4 * 10_000 / 15);
}

/// Z12: what a stopped subagent has used is charged and attributed to it.
#[tokio::test(start_paused = true)]
async fn z12_a_stopped_subagent_is_charged() {
    let half = vec![
        Ok(Chunk::Text("half".into())),
        Ok(Chunk::Usage(Usage { input: 70_000, output: 100, ..Usage::default() })),
    ];
    let first = calls(&[("a", "subagent", "{}")]);
    let setup = TurnSetup::of(FakeModel::hanging([first, half]));
    let mut turn = turn("hi");
    let (handle, mut commands) = command_channel();
    let later = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        handle.abort();
    };
    let known = KnownOutcomes::new();
    let (end, ()) = tokio::join!(setup.drive_with(&mut turn, &known, &mut commands), later);
    assert_eq!(end, TurnProgress::Ended(TurnEnd::Aborted));
    let spent = &turn.account().usage_by_agent["explore"];
    assert_eq!((spent.usage.input, spent.usage.output), (70_000, 100));
    assert!(spent.credits.get() >= 21, "{spent:?}");
    let charged: u64 = turn.account().charges().iter().map(|charge| charge.amount.get()).sum();
    let spent: u64 = turn.account().usage_by_agent.values().map(|spent| spent.credits.get()).sum();
    assert_eq!(charged, spent);
}

/// Z10: after a subagent has read from outside, its parent needs approval for
/// destructive tools at every autonomy level, and the record says why.
#[tokio::test]
async fn z10_a_subagent_that_read_from_outside_taints_its_parent() {
    let after = |inside: AnswerChunks| {
        let pay = calls(&[("p", "pay", "{}")]);
        TurnSetup::new([
            calls(&[("a", "subagent", "{}")]),
            inside,
            words("found"),
            pay,
            words("paid"),
        ])
    };
    let setup = after(calls(&[("x", "look", "{}")]));
    let mut clean = turn("hi");
    assert!(matches!(setup.drive(&mut clean).await, TurnProgress::Ended(TurnEnd::Answer { .. })));
    assert_eq!(clean.trust(), Trust::Trusted);
    let setup = after(calls(&[("x", "web", "{}")]));
    let mut tainted = turn("hi");
    let asked = setup.drive(&mut tainted).await;
    let TurnProgress::Suspended(questions) = asked else { panic!("{asked:?}") };
    assert_eq!((questions[0].0.len(), tainted.trust()), (0, Trust::Untrusted));
    let verdict = tainted.account().decisions.last().map(|decision| decision.verdict.clone());
    assert_eq!(verdict, Some(GateDecision::Ask(AskReason::Untrusted)));
    assert!(setup.host.stored.lock().unwrap().is_empty());
}

/// Z10: a subagent starts with the trust of its caller.
#[tokio::test]
async fn z10_a_subagent_inherits_what_its_parent_has_read() {
    let new = ostler_engine::turn::NewTurn {
        approved: None,
        trust: Trust::Untrusted,
        ..crate::support::new_turn("from a web page")
    };
    let setup = TurnSetup::new([calls(&[("a", "subagent", "{}")]), calls(&[("x", "pay", "{}")])]);
    let asked = setup.drive(&mut Turn::new(new)).await;
    assert!(matches!(asked, TurnProgress::Suspended(_)), "{asked:?}");
}
