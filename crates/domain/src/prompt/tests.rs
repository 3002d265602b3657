use super::{PromptDocument, PromptFacts, fill, system_prompt};
use crate::agent::subtype::Subtype;
use crate::agent::{Agent, Brand};
use crate::org::Org;
use crate::org::layer::BusinessPosition;
use crate::soul::Soul;
use crate::testing;
use crate::tool::ToolName;

struct Scene {
    agent: Agent,
    org: Org,
    parent: Org,
    position: BusinessPosition,
    soul: Soul,
}

fn scene(org: Org, subtype: &str) -> Scene {
    let mut agent = testing::agent("gia", Subtype::from(subtype));
    agent.blocked_topics = vec!["medical advice".into()];
    agent.brand = Some(Brand {
        name: "Bella".into(),
        voice: "familiar".into(),
        about: "Pizza since 1984.".into(),
    });
    Scene {
        position: BusinessPosition::of(&org, &agent.subtype),
        agent,
        org,
        parent: testing::agency(),
        soul: Soul {
            personality: "Warm and quick.".into(),
            traits: vec!["patient".into(), "cheerful".into()],
            communication_style: "Short sentences.".into(),
            core_values: vec!["honesty".into()],
            never_do: vec!["promise a refund".into()],
            always_do: vec!["greet by name".into()],
            escalation_triggers: vec!["lawyer".into()],
            soul_markdown: "You love pizza.".into(),
        },
    }
}

impl Scene {
    fn facts(&self) -> PromptFacts<'_> {
        PromptFacts {
            agent: &self.agent,
            position: &self.position,
            org: &self.org,
            parent: Some(&self.parent),
            colleagues: &["Luca", "Enzo"],
            soul: &self.soul,
            documents: &[PromptDocument { title: "Menu", text: "Margherita 10.00" }],
            team: None,
            instructions: &[],
            waiting: &[],
            notices: &[],
            unavailable: &[],
            resolution: None,
            previous_summary: None,
            can_escalate: true,
            testing: false,
        }
    }
}

/// A15, A27, C01: soul, brand, guardrails, documents and colleagues, in order.
#[test]
fn a15_a27_c01_the_prompt_has_its_sections() {
    insta::assert_snapshot!(system_prompt(&scene(testing::client(), "customer_service").facts()), @r#"
    You are Gia, customer_service of Bella Pizza.
    Active colleagues: Luca, Enzo

    ## Your position in the organization hierarchy

    **Business layer:** Layer 4 of 4 (End-Customer)
    **Role:** You handle customer conversations for "Bella Pizza".
    **You can:** Answer questions, search products, create bookings.
    **You cannot:** Change organization settings, see analytics, manage the team, or propose soul changes.
    **Escalation:** Use escalate_to_parent to send complex issues to the PM.

    ## Your soul

    **Personality:** Warm and quick.
    **Traits:** patient, cheerful
    **Style:** Short sentences.
    **Values:** honesty
    You love pizza.

    ## Guardrails

    **Never:**
    - promise a refund
    **Always:**
    - greet by name
    **Hand over to a human instead of discussing:**
    - medical advice
    **Hand over to a human when somebody mentions:**
    - lawyer
    **Autonomy:** supervised. A person approves each tool call; say that you are checking.

    ## Your brand

    **Bella:** familiar
    Pizza since 1984.

    ## Knowledge

    ### Menu

    Margherita 10.00
    "#);
}

/// A27: the plan is shown at layers 1-3 and not at 4, in every org.
#[test]
fn a27_the_plan_is_not_shown_at_layer_4() {
    let table = [
        (testing::platform(), "system", true),
        (testing::agency(), "pm", true),
        (testing::client(), "pm", true),
        (testing::client(), "customer_service", false),
        (testing::agency(), "customer_service", false),
    ];
    for (org, subtype, shown) in table {
        let prompt = system_prompt(&scene(org, subtype).facts());
        assert_eq!(prompt.contains("Plan: "), shown, "{prompt}");
    }
}

/// L03, L48: a layer-4 prompt has nothing of the parent, its tier or credits.
#[test]
fn l48_a_layer_4_prompt_has_nothing_of_the_parent() {
    let prompt =
        system_prompt(&scene(testing::client(), "customer_service").facts()).to_lowercase();
    for word in ["harbour", "tier", "credit", "plan", "agency"] {
        assert!(!prompt.contains(word), "{word} in {prompt}");
    }
}

/// C11: the prompt of a degraded session lists the unavailable tools.
#[test]
fn c11_unavailable_tools_are_listed() {
    let scene = scene(testing::client(), "customer_service");
    let unavailable = ["web_fetch", "list_events"].map(ToolName::from_static);
    let prompt = system_prompt(&PromptFacts { unavailable: &unavailable, ..scene.facts() });
    assert!(prompt.contains("do not work at the moment: web_fetch, list_events."), "{prompt}");
    assert!(!system_prompt(&scene.facts()).contains("Degraded"));
}

/// L27, L30: instructions are in the next prompt of the agent.
#[test]
fn l27_l30_instructions_are_in_the_prompt() {
    let scene = scene(testing::client(), "customer_service");
    let prompt =
        system_prompt(&PromptFacts { instructions: &["Offer the new menu."], ..scene.facts() });
    assert!(prompt.contains("## Your instructions\n\n- Offer the new menu."), "{prompt}");
    assert!(!system_prompt(&scene.facts()).contains("instructions"));
}

/// L35: the testing note appears in testing mode only.
#[test]
fn l35_testing_mode_is_noted() {
    let scene = scene(testing::client(), "customer_service");
    assert!(!system_prompt(&scene.facts()).contains("TESTING MODE"));
    let prompt = system_prompt(&PromptFacts { testing: true, ..scene.facts() });
    assert!(prompt.contains("TESTING MODE"), "{prompt}");
}

/// F04, G46: the prompt has the last session's summary and a human's resolution.
#[test]
fn f04_g46_summary_and_resolution_are_in_the_prompt() {
    let scene = scene(testing::client(), "customer_service");
    let facts = PromptFacts {
        previous_summary: Some("Rosa asked about gluten."),
        resolution: Some("Opal refunded 10.00."),
        ..scene.facts()
    };
    let prompt = system_prompt(&facts);
    assert!(prompt.contains("## The last conversation\n\nRosa asked about gluten."));
    assert!(prompt.contains("## What a colleague resolved\n\nOpal refunded 10.00."));
}

/// A name that looks like a placeholder is not replaced.
#[test]
fn texts_are_filled_in_one_pass() {
    let filled = fill("{a} and {b} {c} {", &[("a", "{b}"), ("b", "B")]);
    assert_eq!(filled, "{b} and B {c} {");
}
