//! The examples of the guide and of `examples/scripts` work.

use crate::transcript::run_conversation;

const GUIDE: &str = include_str!("../../../../docs/SCRIPTED_MODEL.md");
const SUPPORT: &str = include_str!("../../../../examples/scripts/support.yaml");
const FAULTS: &str = include_str!("../../../../examples/scripts/faults.yaml");

/// Returns the code blocks of a kind, in order, each with the text after it.
fn blocks<'t>(text: &'t str, kind: &str) -> Vec<(&'t str, &'t str)> {
    let mut found = Vec::new();
    let mut rest = text;
    let begin = format!("\n```{kind}\n");
    while let Some(at) = rest.find(&begin) {
        let block = &rest[at + begin.len()..];
        let end = block.find("\n```").expect("the end of a block");
        rest = &block[end + 4..];
        found.push((&block[..end + 1], rest));
    }
    found
}

#[tokio::test]
async fn every_example_of_the_guide_works() {
    let examples = blocks(GUIDE, "yaml");
    assert_eq!(examples.len(), blocks(GUIDE, "text").len());
    for (script, after) in examples {
        let conversation = blocks(after, "text")[0].0;
        run_conversation(script, conversation).await;
    }
}

#[tokio::test]
async fn the_support_agent_finds_an_order_and_asks_for_a_refund() {
    run_conversation(
        SUPPORT,
        "\
> Good evening
< Welcome to Bella Pizza! What can I do for you?
> Where is order 42?
calls get_order {\"order\":\"42\"}
ok: it is in the oven
< About order 42: it is in the oven
> Refund me for order 42!
< Let me see.
calls get_order {\"order\":\"42\"}
ok: {\"orders\":[{\"number\":\"42\",\"total\":{\"amount\":\"24.00\",\"currency\":\"EUR\"}}]}
calls refund_payment {\"amount\":\"24.00\",\"order\":\"42\",\"reason\":\"Refund me for order 42!\"}
pending_approval: A person has to approve this first.
< A colleague is looking at your refund; I will tell you what they say.
> hello
< Hello again!
> Refund me for order 43
< Let me see.
calls get_order {\"order\":\"43\"}
ok: {\"orders\":[{\"number\":\"43\",\"total\":{\"amount\":\"12.00\",\"currency\":\"EUR\"}}]}
calls refund_payment {\"amount\":\"12.00\",\"order\":\"43\",\"reason\":\"Refund me for order 43\"}
denied: Not this one.
< I cannot do that here: Not this one.
> Thank you
< I am sorry, I did not understand that.
",
    )
    .await;
}

#[tokio::test]
async fn faults_occur_once_and_then_the_answer_follows() {
    run_conversation(
        FAULTS,
        "\
> busy
fails 429
> busy
< All is well.
> broken
fails 500
> broken
fails 500
> cut
fails cut
> cut
< All is well.
> overloaded
fails 529
> garbage
fails malformed
> garbage
< All is well.
> odd
< Every byte of this è comes alone, and nobody says when it is over.
",
    )
    .await;
}
