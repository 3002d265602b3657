//! Agents that work for another agent of the turn.

use ostler_domain::gate::Verdict;
use ostler_engine::driver::{Progress, commands};
use ostler_engine::turn::{End, Event, ITSELF, Known, Turn, parse_subagent_meta};

use crate::world::{World, approve, calls, is_acceptable, story, turn, words};

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
    assert_eq!(*asked[1].offered, ["look", "pay", "subagent"]);
    assert!(is_acceptable(&asked[2].history, true));
    let denied = turn.account().decisions.iter().filter(|d| matches!(d.verdict, Verdict::Deny(_)));
    assert_eq!(denied.map(|d| d.tool.as_str()).collect::<Vec<_>>(), ["note"]);
}

/// M09: its work is heard of, with where it belongs.
#[tokio::test]
async fn m09_a_subagent_is_heard_of() {
    let world = World::new([
        calls(&[("a", "subagent", r#"{"text": "find it"}"#)]),
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

/// Z10: what a subagent brings home is as trustworthy as what it has read.
#[tokio::test]
async fn z10_a_subagent_that_read_from_outside_taints_its_parent() {
    use ostler_domain::tool::Trust;
    let world = World::new([calls(&[("a", "subagent", "{}")]), words("found"), words("done")]);
    let mut clean = turn("hi");
    world.drive(&mut clean).await;
    assert_eq!(clean.trust(), Trust::Trusted);
    let new = ostler_engine::turn::NewTurn {
        approved: None,
        trust: Trust::Untrusted,
        ..crate::world::new_turn("from a web page")
    };
    let world = World::new([calls(&[("a", "subagent", "{}")]), calls(&[("x", "pay", "{}")])]);
    let asked = world.drive(&mut Turn::new(new)).await;
    assert!(matches!(asked, Progress::Suspended(_)), "{asked:?}");
}
