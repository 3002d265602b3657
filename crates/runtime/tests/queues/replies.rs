//! Replies of agents.

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_runtime::agents::{AgentError, AgentReply, EchoAgent, agent_fn};
use serde_json::json;

use crate::kit::{Backend, on_every_bus, wait_for_dead_letters};
use crate::support::{Probe, ask, fails, name, number, said, say, spec, strict};
use crate::trace;

on_every_bus!(x07_x29_x61_a_reply_carries_code_parent_and_sender);
/// X07, X29, X61: a reply goes to `reply_to`, with the request's code, the
/// request as its parent and the agent as its sender; the echo agent returns
/// the message.
async fn x07_x29_x61_a_reply_carries_code_parent_and_sender(backend: &Backend) {
    let runtime = backend.runtime().await;
    let inbox = Probe::silent();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    runtime.start(spec("echo"), EchoAgent).await.unwrap();
    let mut request = say(42);
    request.context.reply_to = Some("agent.inbox".parse().unwrap());
    request.context.original_goal = Some("answer".into());
    request.context.from_agent = Some(name("inbox"));
    runtime.send(&name("echo"), request.clone()).await.unwrap();
    let reply = &inbox.wait_for(1).await[0];
    assert_eq!(reply.message.payload, request.message.payload);
    assert_eq!(reply.reference, request.reference);
    assert_eq!(reply.context.parent_message, Some(request.message.id));
    assert_eq!(reply.context.from_agent, Some(name("echo")));
    assert_eq!(reply.context.original_goal, request.context.original_goal);
    assert_eq!(reply.context.reply_to, None);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x08_x09_a_reply_without_reply_to_is_dropped);
/// X08, X09: it is logged; an agent without a reply sends nothing.
async fn x08_x09_a_reply_without_reply_to_is_dropped(backend: &Backend) {
    trace::keep();
    let runtime = backend.runtime().await;
    let talks = Probe::answering(|_| said(1));
    let silent = Probe::silent();
    let inbox = Probe::silent();
    runtime.start(spec("talks"), talks.clone()).await.unwrap();
    runtime.start(spec("silent"), silent.clone()).await.unwrap();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    let (unasked, mut asked) = (say(1), say(2));
    let id = unasked.message.id.to_string();
    runtime.send(&name("talks"), unasked).await.unwrap();
    asked.context.reply_to = Some("agent.inbox".parse().unwrap());
    runtime.send(&name("silent"), asked).await.unwrap();
    silent.wait_for(1).await;
    talks.wait_for(1).await;
    runtime.stop(&name("talks")).await.unwrap();
    runtime.stop(&name("silent")).await.unwrap();
    assert_eq!(trace::lines(&["WARN", &id, "dropped"]).len(), 1);
    // Earlier messages would arrive before this one.
    runtime.send(&name("inbox"), say(3)).await.unwrap();
    inbox.wait_for(1).await;
    runtime.shutdown().await.unwrap();
    assert_eq!(inbox.numbers(), [3]);
    assert_eq!(wait_for_dead_letters(runtime.bus(), 0).await, []);
}

on_every_bus!(x10_x51_a_failed_message_becomes_a_dead_letter_and_the_next_is_handled);
/// X10, X51: every kind of failure, including panics and timeouts, makes a dead
/// letter with its class, and the consumer continues.
async fn x10_x51_a_failed_message_becomes_a_dead_letter_and_the_next_is_handled(backend: &Backend) {
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
    let dead_letters = wait_for_dead_letters(runtime.bus(), 9).await;
    let classes: Vec<_> = dead_letters.iter().map(|dead_letter| dead_letter.cause.class).collect();
    let mut expected = FailureClass::ALL.to_vec();
    expected.push(FailureClass::Application);
    assert_eq!(classes, expected);
    assert!(dead_letters.iter().all(|dead_letter| dead_letter.cause.attempts == 1));
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x51_an_agent_that_exceeds_its_timeout_fails);
/// X51: a timeout has its own failure class.
async fn x51_an_agent_that_exceeds_its_timeout_fails(backend: &Backend) {
    let runtime = backend.runtime().await;
    let mut slow = strict("slow");
    slow.timeout = std::time::Duration::from_millis(20);
    runtime.start(slow, Probe::silent().gated()).await.unwrap();
    runtime.send(&name("slow"), say(1)).await.unwrap();
    assert_eq!(wait_for_dead_letters(runtime.bus(), 1).await[0].cause.class, FailureClass::Timeout);
    runtime.shutdown().await.unwrap();
}

on_every_bus!(x12_an_agent_cannot_send_in_anothers_name);
/// X12: the harness overwrites the sender.
async fn x12_an_agent_cannot_send_in_anothers_name(backend: &Backend) {
    let runtime = backend.runtime().await;
    let inbox = Probe::silent();
    runtime.start(spec("inbox"), inbox.clone()).await.unwrap();
    let liar = agent_fn(|context, _| async move {
        let mut forged = say(1);
        forged.context.from_agent = Some(name("boss"));
        context.send(&name("inbox"), forged).await?;
        Ok::<_, AgentError>(Some(AgentReply::new("said", json!({ "from_agent": "boss" }))))
    });
    runtime.start(spec("liar"), liar).await.unwrap();
    let reply = ask(&runtime, "liar", 1).await;
    assert_eq!(reply.context.from_agent, Some(name("liar")));
    let sent = &inbox.wait_for(1).await[0];
    assert_eq!(sent.context.from_agent, Some(name("liar")));
    assert!(sent.context.parent_message.is_some_and(|id| id != EnvelopeId::from_u128(0)));
    runtime.shutdown().await.unwrap();
}
