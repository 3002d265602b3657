//! What an agent says, and to whom it goes.

use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::id::EnvelopeId;
use ostler_runtime::queue::{AgentError, Echo, Reply, agent_fn};
use serde_json::json;

use crate::kit::{Backend, dead, on_every_bus};
use crate::trace;
use crate::world::{Probe, ask, fails, name, number, said, say, spec, strict};

on_every_bus!(x07_x29_x61_a_reply_says_whose_it_is);
/// X07, X29, X61: to `reply_to`, with the request's code, the request as its
/// parent and the agent as its sender; echo says what it was told.
async fn x07_x29_x61_a_reply_says_whose_it_is(backend: &Backend) {
    let runtime = backend.runtime().await;
    let inbox = Probe::quiet();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    runtime.start(spec("echo"), Echo).await.unwrap();
    let mut request = say(42);
    request.context.reply_to = Some("agent.inbox".parse().unwrap());
    request.context.original_goal = Some("answer".into());
    request.context.from_agent = Some(name("inbox"));
    runtime.send(&name("echo"), request.clone()).await.unwrap();
    let reply = &inbox.until(1).await[0];
    assert_eq!(reply.message.payload, request.message.payload);
    assert_eq!(reply.reference, request.reference);
    assert_eq!(reply.context.parent_message, Some(request.message.id));
    assert_eq!(reply.context.from_agent, Some(name("echo")));
    assert_eq!(reply.context.original_goal, request.context.original_goal);
    assert_eq!(reply.context.reply_to, None);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x08_x09_nobody_gets_what_nobody_asked_for);
/// X08, X09: a reply that nobody wants is logged and dropped; no reply is
/// nothing.
async fn x08_x09_nobody_gets_what_nobody_asked_for(backend: &Backend) {
    trace::keep();
    let runtime = backend.runtime().await;
    let talks = Probe::answering(|_| said(1));
    let silent = Probe::quiet();
    let inbox = Probe::quiet();
    runtime.start(spec("talks"), talks.clone()).await.unwrap();
    runtime.start(spec("silent"), silent.clone()).await.unwrap();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    let (unasked, mut asked) = (say(1), say(2));
    let id = unasked.message.id.to_string();
    runtime.send(&name("talks"), unasked).await.unwrap();
    asked.context.reply_to = Some("agent.inbox".parse().unwrap());
    runtime.send(&name("silent"), asked).await.unwrap();
    silent.until(1).await;
    talks.until(1).await;
    runtime.stop(&name("talks")).await.unwrap();
    runtime.stop(&name("silent")).await.unwrap();
    assert_eq!(trace::lines(&["WARN", &id, "dropped"]).len(), 1);
    // What was published before would come before this.
    runtime.send(&name("inbox"), say(3)).await.unwrap();
    inbox.until(1).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(inbox.numbers(), [3]);
    assert_eq!(dead(runtime.bus(), 0).await, []);
}

on_every_bus!(x10_x51_a_failure_is_a_dead_letter_and_the_next_is_handled);
/// X10, X51: whatever kind of failure, panic and time-out included, the message
/// is a dead letter with its class, and the consumer goes on.
async fn x10_x51_a_failure_is_a_dead_letter_and_the_next_is_handled(backend: &Backend) {
    let runtime = backend.runtime().await;
    let agent = Probe::answering(|envelope| match number(envelope) {
        8 => panic!("as the test wants it"),
        9 => said(9),
        class => fails(FailureClass::ALL[class as usize]),
    });
    runtime.start(strict("fails"), agent).await.unwrap();
    for number in 0..9 {
        runtime.send(&name("fails"), say(number)).await.unwrap();
    }
    assert_eq!(ask(&runtime, "fails", 9).await.message.payload["n"], 9);
    let letters = dead(runtime.bus(), 9).await;
    let classes: Vec<_> = letters.iter().map(|letter| letter.death.class).collect();
    let mut expected = FailureClass::ALL.to_vec();
    expected.push(FailureClass::Application);
    assert_eq!(classes, expected);
    assert!(letters.iter().all(|letter| letter.death.attempts == 1));
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x51_an_agent_that_takes_too_long_fails);
/// X51: no answer in time is a failure of its own class.
async fn x51_an_agent_that_takes_too_long_fails(backend: &Backend) {
    let runtime = backend.runtime().await;
    let mut slow = strict("slow");
    slow.patience = std::time::Duration::from_millis(20);
    runtime.start(slow, Probe::quiet().gated()).await.unwrap();
    runtime.send(&name("slow"), say(1)).await.unwrap();
    assert_eq!(dead(runtime.bus(), 1).await[0].death.class, FailureClass::Timeout);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x12_nobody_speaks_in_anothers_name);
/// X12: what an agent sends carries its own name, whatever it wrote there.
async fn x12_nobody_speaks_in_anothers_name(backend: &Backend) {
    let runtime = backend.runtime().await;
    let inbox = Probe::quiet();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    let liar = agent_fn(|context, _| async move {
        let mut forged = say(1);
        forged.context.from_agent = Some(name("boss"));
        context.send(&name("inbox"), forged).await?;
        Ok::<_, AgentError>(Some(Reply::new("said", json!({ "from_agent": "boss" }))))
    });
    runtime.start(spec("liar"), liar).await.unwrap();
    let reply = ask(&runtime, "liar", 1).await;
    assert_eq!(reply.context.from_agent, Some(name("liar")));
    let sent = &inbox.until(1).await[0];
    assert_eq!(sent.context.from_agent, Some(name("liar")));
    assert!(sent.context.parent_message.is_some_and(|id| id != EnvelopeId::from_u128(0)));
    runtime.shutdown().await.unwrap();
}
