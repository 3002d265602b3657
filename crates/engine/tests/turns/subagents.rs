//! Agents that work for another agent of the turn.

use ostler_domain::gate::{AskReason, Verdict};
use ostler_domain::tool::Trust;
use ostler_engine::driver::{Progress, commands};
use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, Usage};
use ostler_engine::turn::{End, Event, ITSELF, Known, Turn, parse_subagent_meta};

use crate::world::{
    FOR_SUBAGENTS, Said, Told, World, approve, calls, is_acceptable, story, turn, words,
};

/// M05, M08: a subagent sees its task alone, has no more tools than it was given
/// and none of what it says but its result is the parent's.
#[tokio::test]
async fn m05_a_subagent_is_apart() {
    let world = World::new([
        calls(&[("a", "subagent", r#"{"text": "find it"}"#)]),
        calls(&[("x", "note", "{}"), ("y", "look", r#"{"text": "there"}"#)]),
        words("found"),
        words("it is there"),
    ]);
    let mut turn = turn("where is it?");
    world.drive(&mut turn).await;
    let said = story(turn.said());
    assert_eq!((said.len(), said[2].as_str()), (3, "it is there"));
    let (text, meta) = parse_subagent_meta(said[1].strip_prefix("= ok ").unwrap());
    let meta = meta.unwrap();
    assert_eq!((text, meta.tool_calls, meta.duration_ms), ("found", 2, 0));
    let asked = world.model.asked();
    assert_eq!(&*asked[1].system, "You explore.");
    assert_eq!(asked[1].history.len(), 1);
    assert_eq!(*asked[1].offered, FOR_SUBAGENTS);
    assert!(is_acceptable(&asked[2].history, true));
    let denied = turn.account().decisions.iter().filter(|d| matches!(d.verdict, Verdict::Deny(_)));
    assert_eq!(denied.map(|d| d.tool.as_str()).collect::<Vec<_>>(), ["note"]);
}

/// Z02, M05: a forked agent knows what its caller knows, and no more is allowed to
/// it: each of its calls passes the same gate, and what a person must decide
/// waits for that.
#[tokio::test]
async fn z02_a_forked_turn_passes_the_same_gate() {
    let mut world = World::new([
        calls(&[("a", "look", r#"{"text": "here"}"#)]),
        calls(&[("b", "fork", r#"{"text": "go on"}"#)]),
        calls(&[("x", "note", "{}"), ("y", "pay", "{}")]),
        words("paid"),
        words("done"),
    ]);
    world.ask_for.insert(ostler_domain::tool::ToolName::from_static("pay"));
    let mut waiting = turn("where is it?");
    let Progress::Suspended(questions) = world.drive(&mut waiting).await else { panic!("it asks") };
    let (path, question) = &questions[0];
    assert_eq!((path[0].0.as_ref(), question.call.name.as_str()), ("b", "pay"));
    let denied = waiting.account().decisions.iter();
    let denied = denied.filter(|one| matches!(one.verdict, Verdict::Deny(_)));
    assert_eq!(denied.map(|one| one.tool.as_str()).collect::<Vec<_>>(), ["note"]);

    let mut turn = Turn::load(&waiting.store().unwrap()).unwrap();
    let (handle, mut commands) = commands();
    handle.decide(path.clone(), question.call.id.clone(), approve(question)).unwrap();
    let end = world.drive_with(&mut turn, &Known::new(), &mut commands).await;
    assert!(
        matches!(end, Progress::Ended(End::Answer { ref text, .. }) if text == "done"),
        "{end:?}"
    );

    let asked = world.model.asked();
    let (parent, forked) = (&asked[1], &asked[2]);
    assert_eq!(forked.system, parent.system);
    assert_eq!(forked.history[..parent.history.len()], parent.history[..]);
    assert_eq!(forked.history.last(), Some(&Item::user("You explore.\n\ngo on")));
    assert_eq!(*forked.offered, FOR_SUBAGENTS);
    assert!(asked.iter().all(|one| is_acceptable(&one.history, true)));
    let said = story(turn.said());
    assert_eq!(said.len(), 5, "nothing of what it said but its result is the caller's: {said:?}");
}

/// M09: its work is heard of, with where it belongs.
#[tokio::test]
async fn m09_a_subagent_is_heard_of() {
    let world = World::new([
        calls(&[("a", "subagent", r#"{"text": "find it"}"#)]),
        calls(&[("x", "look", "{}")]),
        words("found"),
        words("done"),
    ]);
    world.drive(&mut turn("hi")).await;
    let events = world.host.events.lock().unwrap();
    let inside: Vec<&Event> =
        events.iter().filter(|(path, _)| path.len() == 1).map(|(_, event)| event).collect();
    let started = Event::SubagentStarted { agent_type: "explore".into(), task: "find it".into() };
    let ended = Event::SubagentEnded { agent_type: "explore".into(), duration_ms: 0 };
    assert_eq!((inside.first(), inside.last()), (Some(&&started), Some(&&ended)));
    let looked = inside.iter().filter_map(|event| match event {
        Event::Decided(judgement) => Some(judgement.tool.as_str()),
        Event::CallEnded { tool, .. } => Some(tool.as_str()),
        _ => None,
    });
    assert_eq!(looked.collect::<Vec<_>>(), ["look", "look"], "it is decided, and it ends");
}

/// Z01: three levels deep, a question bubbles up; answered in another process,
/// the whole turn goes on.
#[tokio::test]
async fn z01_a_question_deep_down_bubbles_up() {
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
    let mut world = World::new(said);
    world.ask_for.insert(ostler_domain::tool::ToolName::from_static("pay"));
    let mut waiting = turn("hi");
    let Progress::Suspended(questions) = world.drive(&mut waiting).await else { panic!("it asks") };
    let (path, question) = &questions[0];
    assert_eq!(path.iter().map(|id| &*id.0).collect::<Vec<_>>(), ["a", "b", "c"]);
    let mut turn = Turn::load(&waiting.store().unwrap()).unwrap();
    let (handle, mut commands) = commands();
    handle.decide(path.clone(), question.call.id.clone(), approve(question)).unwrap();
    let end = world.drive_with(&mut turn, &Known::new(), &mut commands).await;
    assert!(
        matches!(end, Progress::Ended(End::Answer { ref text, .. }) if text == "first"),
        "{end:?}"
    );
    let stored = world.host.stored.lock().unwrap();
    assert_eq!(stored[0].1[0].key, "run/a/b/c/d");
}

/// Agents do not call agents for ever.
#[tokio::test]
async fn depth_has_a_limit() {
    let deeper =
        (0..50).map(|n| calls(&[("a", "subagent", &format!(r#"{{"text": "level {n}"}}"#))]));
    let world = World::new(deeper.take(6).chain([words("enough")]));
    let mut turn = turn("hi");
    let end = world.drive(&mut turn).await;
    assert!(matches!(end, Progress::Ended(End::Answer { .. })), "{end:?}");
    let asked = world.model.asked();
    let deepest = asked.iter().filter(|request| request.history.len() == 1).count();
    assert_eq!(deepest, 6, "the turn's own and five below it");
}

/// Z12: what subagents use is counted and attributed.
#[tokio::test]
async fn z12_spend_of_subagents_is_counted() {
    let world = World::new([
        calls(&[("a", "subagent", "{}")]),
        calls(&[("x", "pay", "{}")]),
        words("found"),
        words("done"),
    ]);
    let mut turn = turn("hi");
    world.drive(&mut turn).await;
    let account = turn.account();
    assert_eq!(account.usage.input, 40);
    assert_eq!((account.spent[ITSELF].usage.input, account.spent["explore"].usage.input), (20, 20));
    assert_eq!(account.spent["explore"].credits.get(), 2);
    let charged: u64 = account.charges().iter().map(|charge| charge.amount.get()).sum();
    let spent: u64 = account.spent.values().map(|spent| spent.credits.get()).sum();
    assert_eq!(charged, spent);
}

/// Z12: what a subagent has used when it is stopped is paid, and attributed to it.
#[tokio::test(start_paused = true)]
async fn z12_a_stopped_subagent_is_paid() {
    let half = vec![
        Ok(Chunk::Text("half".into())),
        Ok(Chunk::Usage(Usage { input: 70_000, output: 100, ..Usage::default() })),
    ];
    let first = calls(&[("a", "subagent", "{}")]);
    let world = World::of(Told::hanging([first, half]));
    let mut turn = turn("hi");
    let (handle, mut commands) = commands();
    let later = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        handle.abort();
    };
    let known = Known::new();
    let (end, ()) = tokio::join!(world.drive_with(&mut turn, &known, &mut commands), later);
    assert_eq!(end, Progress::Ended(End::Aborted));
    let spent = &turn.account().spent["explore"];
    assert_eq!((spent.usage.input, spent.usage.output), (70_000, 100));
    assert!(spent.credits.get() >= 21, "{spent:?}");
    let charged: u64 = turn.account().charges().iter().map(|charge| charge.amount.get()).sum();
    let spent: u64 = turn.account().spent.values().map(|spent| spent.credits.get()).sum();
    assert_eq!(charged, spent);
}

/// Z10: a subagent reads from outside, and from then on its parent asks before it
/// does anything destructive, whatever the autonomy says; the record says why.
#[tokio::test]
async fn z10_a_subagent_that_read_from_outside_taints_its_parent() {
    let after = |inside: Said| {
        let pay = calls(&[("p", "pay", "{}")]);
        World::new([calls(&[("a", "subagent", "{}")]), inside, words("found"), pay, words("paid")])
    };
    let world = after(calls(&[("x", "look", "{}")]));
    let mut clean = turn("hi");
    assert!(matches!(world.drive(&mut clean).await, Progress::Ended(End::Answer { .. })));
    assert_eq!(clean.trust(), Trust::Trusted);
    let world = after(calls(&[("x", "web", "{}")]));
    let mut tainted = turn("hi");
    let asked = world.drive(&mut tainted).await;
    let Progress::Suspended(questions) = asked else { panic!("{asked:?}") };
    assert_eq!((questions[0].0.len(), tainted.trust()), (0, Trust::Untrusted));
    let verdict = tainted.account().decisions.last().map(|decision| decision.verdict.clone());
    assert_eq!(verdict, Some(Verdict::Ask(AskReason::Untrusted)));
    assert!(world.host.stored.lock().unwrap().is_empty());
}

/// Z10: a subagent begins as trustworthy as its caller is at that moment.
#[tokio::test]
async fn z10_a_subagent_inherits_what_its_parent_has_read() {
    let new = ostler_engine::turn::NewTurn {
        approved: None,
        trust: Trust::Untrusted,
        ..crate::world::new_turn("from a web page")
    };
    let world = World::new([calls(&[("a", "subagent", "{}")]), calls(&[("x", "pay", "{}")])]);
    let asked = world.drive(&mut Turn::new(new)).await;
    assert!(matches!(asked, Progress::Suspended(_)), "{asked:?}");
}
