//! seccomp: which system calls the command may use.
//!
//! Two filters. The first knows the calls that ordinary programs need; everything else,
//! also what newer kernels add, is answered as "not implemented", so that programs fall back
//! to older calls. The second refuses known calls that reach beyond the sandbox.

use std::collections::BTreeMap;

use libc::{
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER,
    CLONE_NEWUTS,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use crate::sandbox::spec::Namespaces;

use calls::{ALLOWED_IPC, ATTRIBUTES, DENIED, allowed, mode_calls};

mod calls;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Filters the system calls of this process and its children.
pub(super) fn enforce(
    network: bool,
    namespaces: Namespaces,
    read_only_mounts: bool,
) -> Result<(), seccompiler::Error> {
    let ipc_calls = ALLOWED_IPC.iter().copied().filter(|_| namespaces.ipc);
    let known: Rules = allowed().chain(ipc_calls).map(|number| (number, Vec::new())).collect();
    let not_implemented = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    apply_filter(&compile(known, not_implemented, SeccompAction::Allow)?)?;
    let mut rules = denied(network, namespaces.processes)?;
    if !read_only_mounts {
        // Landlock does not protect attributes of files outside.
        rules.extend(ATTRIBUTES.iter().map(|number| (*number, Vec::new())));
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    apply_filter(&compile(rules, SeccompAction::Allow, refused)?)
}

fn compile(
    rules: Rules,
    otherwise: SeccompAction,
    on_match: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, on_match, arch)?.try_into()
}

/// Returns the calls that are refused, some depending on their arguments.
fn denied(network: bool, own_processes: bool) -> Result<Rules, BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let rule = |conditions: Vec<(u8, SeccompCmpOp, u64)>| {
        let conditions = conditions.into_iter().map(|(argument, operator, value)| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        });
        SeccompRule::new(conditions.collect::<Result<_, _>>()?)
    };
    let value = |constant: i32| u64::from(constant.cast_unsigned());
    let mut rules: Rules = DENIED.iter().map(|number| (*number, Vec::new())).collect();
    // Sockets on the file system reach services of the machine, so they are refused even if
    // the network is allowed.
    let families = [libc::AF_INET, libc::AF_INET6];
    let other_family = families.map(|family| (0, Ne, value(family))).to_vec();
    let sockets = if network { vec![rule(other_family)?] } else { Vec::new() };
    rules.insert(libc::SYS_socket, sockets);
    rules.insert(libc::SYS_socketpair, vec![rule(vec![(0, Ne, value(libc::AF_UNIX))])?]);
    let namespaces = [
        CLONE_NEWNS,
        CLONE_NEWCGROUP,
        CLONE_NEWUTS,
        CLONE_NEWIPC,
        CLONE_NEWUSER,
        CLONE_NEWPID,
        CLONE_NEWNET,
    ];
    let clone = namespaces.map(|flag| rule(vec![(0, MaskedEq(value(flag)), value(flag))]));
    rules.insert(libc::SYS_clone, clone.into_iter().collect::<Result<_, _>>()?);
    let terminal_input = [libc::TIOCSTI, libc::TIOCLINUX]
        .map(|request| rule(vec![(1, Eq, request & u64::from(u32::MAX))]));
    rules.insert(libc::SYS_ioctl, terminal_input.into_iter().collect::<Result<_, _>>()?);
    // A file that runs with the rights of its owner would outlive the sandbox.
    for (number, argument) in mode_calls() {
        let bits = [libc::S_ISUID, libc::S_ISGID].map(u64::from);
        let set = bits.map(|bit| rule(vec![(argument, MaskedEq(bit), bit)]));
        rules.insert(number, set.into_iter().collect::<Result<_, _>>()?);
    }
    if !own_processes {
        // Processes of the same user outside could be slowed down or limited.
        for (number, argument) in
            [(libc::SYS_setpriority, 1), (libc::SYS_ioprio_set, 1), (libc::SYS_prlimit64, 0)]
        {
            rules.insert(number, vec![rule(vec![(argument, Ne, 0)])?]);
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::calls::{DENIED, allowed};
    use super::{compile, denied};
    use seccompiler::SeccompAction;
    use std::collections::BTreeSet;

    #[test]
    fn m36_filters_compile_and_no_call_is_both_allowed_and_denied() {
        for (network, own_processes) in [(false, false), (true, false), (false, true)] {
            let rules = denied(network, own_processes).expect("rules");
            compile(rules, SeccompAction::Allow, SeccompAction::Errno(1)).expect("a filter");
        }
        let allowed: BTreeSet<i64> = allowed().collect();
        let both: Vec<_> = DENIED.iter().filter(|number| allowed.contains(number)).collect();
        assert_eq!(both, Vec::<&i64>::new());
    }
}
