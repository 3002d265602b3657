//! What an outside crate can name.

use ostler_harness::{
    AvailableModel, Harness, HarnessConfig, HarnessEvent, HarnessMessage, HarnessMessageContent,
    HarnessMode, HarnessOMConfig, HarnessRequestContext, HarnessSession, HarnessStateSchema,
    HarnessSubagent, HarnessThread, HeartbeatHandler, ModelAuthChecker, ModelAuthStatus,
    ModelUseCountProvider, NoState, PermissionPolicy, PermissionRules, Subscription, TaskItem,
    TokenUsage, ToolCategory, ask_user_tool, parse_subagent_meta, submit_plan_tool,
    task_check_tool, task_write_tool,
};

fn named<T: ?Sized>() -> &'static str {
    std::any::type_name::<T>()
}

fn state_name<S: HarnessStateSchema>() -> &'static str {
    named::<S>()
}

/// M52: the object, the four tools, the parser and the types can be named from outside.
/// `HarnessEventListener` is a `Subscription`.
#[test]
fn m52_everything_can_be_named() {
    let types = [
        named::<Harness>(),
        named::<AvailableModel>(),
        named::<HarnessConfig>(),
        named::<HarnessEvent>(),
        named::<Subscription>(),
        named::<HarnessMessage>(),
        named::<HarnessMessageContent>(),
        named::<HarnessMode>(),
        named::<HarnessOMConfig>(),
        named::<HarnessRequestContext>(),
        named::<HarnessSession>(),
        named::<HarnessSubagent>(),
        named::<HarnessThread>(),
        named::<HeartbeatHandler>(),
        named::<dyn ModelAuthChecker>(),
        named::<ModelAuthStatus>(),
        named::<dyn ModelUseCountProvider>(),
        named::<PermissionPolicy>(),
        named::<PermissionRules>(),
        named::<TaskItem>(),
        named::<ToolCategory>(),
        named::<TokenUsage>(),
    ];
    assert_eq!(types.iter().collect::<std::collections::BTreeSet<_>>().len(), types.len());
    assert!(state_name::<NoState>().ends_with("NoState"));
    let tools = [ask_user_tool(), submit_plan_tool(), task_write_tool(), task_check_tool()];
    let names = tools.map(|tool| tool.definition().spec.name.to_string());
    assert_eq!(names, ["ask_user", "submit_plan", "task_write", "task_check"]);
    assert_eq!(parse_subagent_meta("plain").0, "plain");
}
