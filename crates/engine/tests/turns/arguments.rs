//! Arguments as models write them: nothing panics, and accepted ones survive
//! storing and loading.

use ostler_engine::gate::fingerprint;
use ostler_engine::history::{CallId, ToolCall};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::tools;

/// Texts that look like JSON and often are not.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"text\"",
        ":",
        ",",
        "\"a\"",
        "1e999",
        "-0",
        "null",
        "true",
        "\\u0000",
        "\"\\ud800\"",
        " ",
        "{\"text\":\"x\"}",
    ]);
    prop_oneof![
        ".{0,200}",
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat()),
        (0..200_usize).prop_map(|deep| format!("{}{}", "{\"a\":".repeat(deep), "}".repeat(deep))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_are_accepted_or_rejected_without_a_panic(name in ".{0,80}", text in nearly_json()) {
        let call = ToolCall::new(CallId::new("a"), &name, &text);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        prop_assert!((1..=64).contains(&call.name.len()) && call.name.chars().all(plain));
        prop_assert!(call.arguments.is_object());
        if call.unreadable.is_none() && !text.trim().is_empty() {
            let read: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&read, &*call.arguments);
        }
        let stored = serde_json::to_string(&call).unwrap();
        let loaded: ToolCall = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(
            fingerprint("look", &call.arguments),
            fingerprint("look", &loaded.arguments)
        );
        let _ = tools().argument_problems("look", &call.arguments);
    }
}
