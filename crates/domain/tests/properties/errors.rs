//! Failing tools: disabled at the last allowed failure, announced once, for good.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ostler_domain::money::caps::SpendingMode;
use ostler_domain::session::errors::{DegradedReason, ErrorPolicy, ErrorState, FailureEffect};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use proptest::prelude::*;
use proptest::sample::select;

use crate::check;

const TOOLS: [&str; 5] = ["get_order", "send_email", "web_fetch", "list_events", "refund_payment"];

/// The documented policy, or any other that lets a tool fail at least once.
fn error_policies() -> impl Strategy<Value = ErrorPolicy> {
    let any_policy = (1..6u32, 0..6usize).prop_map(|(failures_to_disable, disabled_to_degrade)| {
        ErrorPolicy { failures_to_disable, disabled_to_degrade }
    });
    let documented = ErrorPolicy { failures_to_disable: 3, disabled_to_degrade: 3 };
    prop_oneof![Just(documented), any_policy]
}

/// C08, C09, C11, A23: for any sequence of failures a tool is disabled exactly when it
/// has failed as often as the policy allows, from that failure on, and that is announced
/// once; storing the state in between changes nothing.
#[test]
fn c08_c09_a_tool_is_disabled_from_its_third_failure_on() {
    let failure = (select(TOOLS.to_vec()), any::<bool>());
    let failures = prop::collection::vec(failure, 0..40);
    check(400, &(error_policies(), failures), |(policy, failures)| {
        let mut errors = ErrorState::default();
        let mut times: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        let mut announced: BTreeMap<&str, u32> = BTreeMap::new();
        for (millis, (name, stored)) in (0..).zip(failures) {
            let tool = ToolName::from_static(name);
            let effect = errors.record_failure(&tool, policy, Timestamp::from_millis(millis));
            let times_of = times.entry(name).or_default();
            times_of.push(millis);
            let failures = times_of.len() as u32;
            let expected = match failures.cmp(&policy.failures_to_disable) {
                Ordering::Less => FailureEffect::Counted { failures },
                Ordering::Equal => FailureEffect::Disabled,
                Ordering::Greater => FailureEffect::AlreadyDisabled,
            };
            prop_assert_eq!(effect, expected);
            *announced.entry(name).or_default() += u32::from(effect == FailureEffect::Disabled);
            if stored {
                let text = serde_json::to_string(&errors)
                    .map_err(|error| TestCaseError::fail(error.to_string()))?;
                errors = serde_json::from_str(&text)
                    .map_err(|error| TestCaseError::fail(error.to_string()))?;
            }
        }
        let mut disabled_count = 0;
        for name in TOOLS {
            let times = times.get(name).cloned().unwrap_or_default();
            let counted = errors.failures().get(name).copied().unwrap_or_default();
            prop_assert_eq!(counted as usize, times.len());
            let since = errors.disabled().get(name).map(|disabled| disabled.since.as_millis());
            let last = policy.failures_to_disable as usize - 1;
            prop_assert_eq!(since, times.get(last).copied(), "{}", name);
            disabled_count += usize::from(since.is_some());
            let announced = announced.get(name).copied().unwrap_or_default();
            prop_assert_eq!(announced, u32::from(since.is_some()), "{}", name);
        }
        let degraded = errors.degraded(SpendingMode::Open, policy);
        let many = disabled_count >= policy.disabled_to_degrade;
        prop_assert_eq!(degraded, many.then_some(DegradedReason::ToolsDisabled));
        Ok(())
    });
}
