//! Attempts to get out of the sandbox, as Perl programs. Each prints `ESCAPED` if it succeeds.

use std::fmt::Write as _;

/// An attempt to escape.
pub(crate) struct EscapeCase {
    pub(crate) name: String,
    pub(crate) script: String,
    /// Whether it must succeed without a sandbox, which shows that the attempt is sound.
    pub(crate) has_control: bool,
}

fn case(name: impl Into<String>, script: impl Into<String>) -> EscapeCase {
    EscapeCase { name: name.into(), script: script.into(), has_control: false }
}

fn controlled(name: impl Into<String>, script: impl Into<String>) -> EscapeCase {
    EscapeCase { has_control: true, ..case(name, script) }
}

/// What the attempts are directed at.
pub(crate) struct EscapeTarget {
    /// A directory outside, with a file `secret.txt`.
    pub(crate) outside: String,
    pub(crate) tcp_port: u16,
    pub(crate) udp_port: u16,
    /// A listening socket in `outside`'s parent.
    pub(crate) unix_socket: String,
    /// The name of a listening abstract socket.
    pub(crate) abstract_socket: String,
    /// A process of the same user outside.
    pub(crate) pid: u32,
}

/// Returns all attempts.
pub(crate) fn all(target: &EscapeTarget) -> Vec<EscapeCase> {
    let mut cases = file_cases(target);
    cases.extend(network_cases(target));
    cases.extend(process_cases(target));
    cases.extend(kernel_cases());
    cases.extend(device_cases());
    cases
}

/// Every way to a file outside, with everything that can be done to it.
fn file_cases(target: &EscapeTarget) -> Vec<EscapeCase> {
    let routes = [
        ("absolute", target.outside.clone()),
        ("relative", "../outside".to_owned()),
        ("link", "link".to_owned()),
        ("proc root", format!("/proc/self/root{}", target.outside)),
        ("proc cwd", "/proc/self/cwd/../outside".to_owned()),
    ];
    let operations = [
        ("read", "open(F, '<', \"$d/secret.txt\") and <F>"),
        ("list", "opendir(D, $d) and scalar(@{[readdir D]}) > 2"),
        ("overwrite", "open(F, '>', \"$d/secret.txt\") and print F 'x'"),
        ("append", "open(F, '>>', \"$d/secret.txt\") and print F 'x'"),
        ("truncate", "truncate(\"$d/secret.txt\", 3)"),
        ("create", "open(F, '>', \"$d/new.txt\")"),
        ("delete", "unlink(\"$d/secret.txt\")"),
        ("rename out", "(open(F, '>', \"mine$$\") && rename(\"mine$$\", \"$d/mine\"))"),
        ("rename in", "rename(\"$d/secret.txt\", \"stolen$$\")"),
        ("hard link in", "(link(\"$d/secret.txt\", \"hard$$\") && open(F, '<', \"hard$$\"))"),
        ("mkdir", "mkdir(\"$d/dir\")"),
        ("symlink out", "symlink('x', \"$d/sym\")"),
        ("chmod", "chmod(0600, \"$d/secret.txt\")"),
        ("utime", "utime(1, 1, \"$d/secret.txt\")"),
        ("fifo", "syscall(MKNODAT, -100, my $f = \"$d/fifo\", 0010666, 0) == 0"),
    ];
    let mut cases = Vec::new();
    for (route, directory) in &routes {
        for (operation, code) in &operations {
            let code = code.replace("MKNODAT", &libc_number("mknodat"));
            let script = format!("my $d = '{directory}'; esc() if ({code});");
            cases.push(EscapeCase {
                name: format!("{operation} by {route}"),
                script,
                // The others change what the next attempt needs.
                has_control: matches!(*operation, "read" | "list"),
            });
        }
    }
    cases
}

/// Attempts to use the network or sockets of the machine.
pub(crate) fn network_cases(target: &EscapeTarget) -> Vec<EscapeCase> {
    let EscapeTarget { tcp_port, udp_port, unix_socket, abstract_socket, .. } = target;
    let socket = "use Socket;";
    vec![
        controlled(
            "tcp connect",
            format!(
                "{socket} socket(S, PF_INET, SOCK_STREAM, 0) and connect(S, sockaddr_in({tcp_port}, INADDR_LOOPBACK)) and esc();"
            ),
        ),
        controlled(
            "tcp listen",
            format!(
                "{socket} socket(S, PF_INET, SOCK_STREAM, 0) and bind(S, sockaddr_in(0, INADDR_ANY)) and listen(S, 1) and esc();"
            ),
        ),
        controlled(
            "udp send",
            format!(
                "{socket} socket(S, PF_INET, SOCK_DGRAM, 0) and send(S, 'x', 0, sockaddr_in({udp_port}, INADDR_LOOPBACK)) and esc();"
            ),
        ),
        controlled(
            "udp bind",
            format!(
                "{socket} socket(S, PF_INET, SOCK_DGRAM, 0) and bind(S, sockaddr_in(0, INADDR_ANY)) and esc();"
            ),
        ),
        case("tcp6", format!("{socket} socket(S, PF_INET6, SOCK_STREAM, 0) and esc();")),
        case("udp6", format!("{socket} socket(S, PF_INET6, SOCK_DGRAM, 0) and esc();")),
        case("raw", format!("{socket} socket(S, PF_INET, SOCK_RAW, 1) and esc();")),
        case("ping socket", format!("{socket} socket(S, PF_INET, SOCK_DGRAM, 1) and esc();")),
        controlled(
            "unix socket",
            format!(
                "{socket} socket(S, PF_UNIX, SOCK_STREAM, 0) and connect(S, pack_sockaddr_un('{unix_socket}')) and esc();"
            ),
        ),
        controlled(
            "abstract socket",
            format!(
                "{socket} socket(S, PF_UNIX, SOCK_STREAM, 0) and connect(S, pack('Sa*', 1, \"\\0{abstract_socket}\")) and esc();"
            ),
        ),
        controlled(
            "abstract bind",
            format!(
                "{socket} socket(S, PF_UNIX, SOCK_STREAM, 0) and bind(S, pack('Sa*', 1, \"\\0ostler-escape-$$\")) and esc();"
            ),
        ),
        controlled("netlink", format!("{socket} socket(S, 16, SOCK_RAW, 0) and esc();")),
        case("packet", format!("{socket} socket(S, 17, SOCK_RAW, 0) and esc();")),
        case("vsock", format!("{socket} socket(S, 40, SOCK_STREAM, 0) and esc();")),
        case(
            "inet socketpair",
            format!("{socket} (socketpair(A, B, PF_INET, SOCK_STREAM, 0) or $! == 95) and esc();"),
        ),
        call("socket in the x32 interface", libc::SYS_socket | 0x4000_0000, "2, 1, 0"),
        call("io_uring", libc::SYS_io_uring_setup, "4, \"\\0\" x 120"),
    ]
}

fn process_cases(target: &EscapeTarget) -> Vec<EscapeCase> {
    let pid = target.pid;
    let mut cases: Vec<EscapeCase> = ["CONT", "USR1", "TERM", "STOP", "KILL"]
        .into_iter()
        .map(|signal| {
            case(format!("send SIG{signal}"), format!("kill('{signal}', {pid}) and esc();"))
        })
        .collect();
    cases.push(controlled("check a process", format!("kill(0, {pid}) and esc();")));
    cases.push(controlled("setpriority", format!("setpriority(0, {pid}, 19) and esc();")));
    for file in ["environ", "mem", "maps", "root/etc/passwd", "cwd", "fd", "auxv", "stack"] {
        let script = format!(
            "my $f = '/proc/{pid}/{file}'; (open(F, '<', $f) and <F>) and esc(); opendir(D, $f) and esc();"
        );
        cases.push(case(format!("/proc/PID/{file}"), script));
    }
    let remote = "pack('PQ', 'x' x 64, 64), 1, pack('QQ', 4096, 8), 1, 0";
    cases.extend([
        call("ptrace attach", libc::SYS_ptrace, format!("16, {pid}, 0, 0")),
        call("ptrace seize", libc::SYS_ptrace, format!("0x4206, {pid}, 0, 0")),
        call("ptrace traceme", libc::SYS_ptrace, "0, 0, 0, 0"),
        call("process_vm_readv", libc::SYS_process_vm_readv, format!("{pid}, {remote}")),
        call("process_vm_writev", libc::SYS_process_vm_writev, format!("{pid}, {remote}")),
        call("pidfd_getfd", libc::SYS_pidfd_getfd, "0, 0, 0"),
        call("kcmp", libc::SYS_kcmp, format!("{pid}, {pid}, 0, 0, 0")),
        call("process_madvise", libc::SYS_process_madvise, "0, 0, 0, 20, 0"),
    ]);
    cases
}

fn kernel_cases() -> Vec<EscapeCase> {
    let mut cases = vec![
        call("mount tmpfs", libc::SYS_mount, "'none', '/tmp', 'tmpfs', 0, 0"),
        call("bind mount", libc::SYS_mount, "'/', '/tmp', 0, 4096, 0"),
        call("remount", libc::SYS_mount, "0, '/', 0, 4096 | 32, 0"),
        call("umount", libc::SYS_umount2, "'/proc', 2"),
        call("pivot_root", libc::SYS_pivot_root, "'.', '.'"),
        call("chroot", libc::SYS_chroot, "'.'"),
        call("fsopen", libc::SYS_fsopen, "'tmpfs', 0"),
        call("open_tree", libc::SYS_open_tree, "-100, '/', 1"),
        call("move_mount", libc::SYS_move_mount, "-1, '', -100, '/tmp', 4"),
        call("mount_setattr", libc::SYS_mount_setattr, "-100, '/', 0, \"\\0\" x 32, 32"),
        call("setns", libc::SYS_setns, "0, 0"),
        call("clone3", libc::SYS_clone3, "\"\\0\" x 88, 88"),
        call("bpf", libc::SYS_bpf, "0, \"\\0\" x 64, 64"),
        call("perf_event_open", libc::SYS_perf_event_open, "\"\\0\" x 112, 0, -1, -1, 0"),
        call("userfaultfd", libc::SYS_userfaultfd, "1"),
        call("keyctl", libc::SYS_keyctl, "0, -3, 0"),
        call("add_key", libc::SYS_add_key, "'user', 'x', 'y', 1, -3"),
        call("request_key", libc::SYS_request_key, "'user', 'x', 0, -3"),
        call("init_module", libc::SYS_init_module, "'x', 1, ''"),
        call("finit_module", libc::SYS_finit_module, "0, '', 0"),
        call("delete_module", libc::SYS_delete_module, "'nothing', 0"),
        call("kexec_load", libc::SYS_kexec_load, "0, 0, 0, 0"),
        // With a wrong number, so that it does nothing if it is allowed.
        call("reboot", libc::SYS_reboot, "1, 2, 3, 0"),
        call("swapon", libc::SYS_swapon, "'/nothing', 0"),
        call("acct", libc::SYS_acct, "'/nothing'"),
        call("quotactl", libc::SYS_quotactl, "0, '/nothing', 0, 0"),
        call("settimeofday", libc::SYS_settimeofday, "0, 0"),
        call("clock_settime", libc::SYS_clock_settime, "0, \"\\xff\" x 16"),
        call("sethostname", libc::SYS_sethostname, "'x', 1"),
        call("syslog", libc::SYS_syslog, "3, \"\\0\" x 100, 100"),
        call("personality", libc::SYS_personality, "0x0040000"),
        call("open_by_handle_at", libc::SYS_open_by_handle_at, "-100, \"\\0\" x 16, 0"),
        call(
            "name_to_handle_at",
            libc::SYS_name_to_handle_at,
            "-100, '/', \"\\0\" x 16, \"\\0\" x 8, 0",
        ),
        call("fanotify_init", libc::SYS_fanotify_init, "0, 0"),
        call("character device", libc::SYS_mknodat, "-100, 'chr', 0020666, 0x101"),
        call("block device", libc::SYS_mknodat, "-100, 'blk', 0060666, 0xfe00"),
        call("socket file", libc::SYS_mknodat, "-100, 'sock', 0140666, 0"),
        case("setuid", "$< = $> = 0; esc() if $< == 0 or $> == 0;"),
        case("setgid", "$( = $) = 0; esc() if $( =~ /^0/ or $) =~ /^0/;"),
        call("setgroups", libc::SYS_setgroups, "1, pack('L', 0)"),
        call(
            "capset",
            libc::SYS_capset,
            "pack('LL', 0x20080522, 0), pack('L6', 0xffffffff, 0xffffffff, 0, 0xffffffff, 0xffffffff, 0)",
        ),
        call("more open files", libc::SYS_prlimit64, "0, 7, pack('QQ', 1 << 20, 1 << 20), 0"),
        call("terminal input", libc::SYS_ioctl, "0, 0x5412, 'x'"),
        call("memfd_secret", libc::SYS_memfd_secret, "0"),
    ];
    let namespaces = [
        ("user", 0x1000_0000_u64),
        ("network", 0x4000_0000),
        ("process", 0x2000_0000),
        ("mount", 0x0002_0000),
        ("ipc", 0x0800_0000),
        ("host name", 0x0400_0000),
    ];
    for (name, flag) in namespaces {
        cases.push(call(format!("unshare {name}"), libc::SYS_unshare, flag.to_string()));
        let clone = format!("{flag} | 17, 0, 0, 0, 0");
        let mut cloned = call(format!("clone {name}"), libc::SYS_clone, clone);
        // A child that was started nevertheless must not go on.
        let _ = write!(cloned.script, " exit if $r == 0;");
        cases.push(cloned);
    }
    cases
}

fn device_cases() -> Vec<EscapeCase> {
    let files = [
        "/dev/mem",
        "/dev/kmsg",
        "/dev/vda",
        "/dev/sda",
        "/dev/tty",
        "/dev/tty1",
        "/dev/ptmx",
        "/dev/fuse",
        "/dev/kvm",
        "/dev/net/tun",
        "/dev/loop-control",
        "/proc/kcore",
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/drop_caches",
        "/sys/kernel/uevent_helper",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/memory/cgroup.procs",
        "/etc/passwd",
        "/etc/shadow",
        "/etc/ld.so.preload",
        "/etc/cron.d/escape",
        "/root/.ssh/authorized_keys",
        "/usr/bin/escape",
        "/var/tmp/escape",
        "/dev/shm/../escape",
        "/run/escape",
        "/boot/escape",
    ];
    let mut cases: Vec<EscapeCase> = files
        .into_iter()
        .map(|file| case(format!("write {file}"), format!("open(F, '>>', '{file}') and esc();")))
        .collect();
    for file in [
        "/etc/shadow",
        "/etc/ssh/ssh_host_ed25519_key",
        "/root/.bashrc",
        "/var/log/dpkg.log",
        "/proc/kcore",
    ] {
        cases.push(case(
            format!("read {file}"),
            format!("(open(F, '<', '{file}') and <F>) and esc();"),
        ));
    }
    let lists = ["/root", "/home", "/var", "/run", "/sys", "/var/lib"];
    for directory in lists {
        let script =
            format!("opendir(D, '{directory}') and scalar(@{{[readdir D]}}) > 2 and esc();");
        cases.push(case(format!("list {directory}"), script));
    }
    for program in ["su -c 'id -u' root", "mount", "passwd -S root", "newgrp root -c id"] {
        let script =
            format!("my $o = `{program} </dev/null 2>&1`; esc() if $o =~ /^0$|root [LNP]P? /m;");
        cases.push(case(format!("setuid program {program}"), script));
    }
    for (name, mode) in [("user", "04755"), ("group", "02755")] {
        let script = format!("open(F, '>', \"id$$\") and chmod({mode}, \"id$$\") and esc();");
        cases.push(controlled(format!("set {name} id"), script));
    }
    cases.push(case(
        "oom score",
        "open(F, '>', '/proc/self/oom_score_adj') and print F '-1000' and close(F) and esc();",
    ));
    cases
}

/// An attempt to use a system call. It is refused if the answer is "not permitted", "access
/// denied" or "not implemented"; any other error means that the kernel looked at it.
fn call(name: impl Into<String>, number: i64, arguments: impl AsRef<str>) -> EscapeCase {
    let arguments = arguments.as_ref();
    let script = format!(
        "my @a = ({arguments}); my $r = syscall({number}, @a); my $e = $! + 0; \
         esc() if $r != -1 or !($e == 1 or $e == 13 or $e == 38);"
    );
    case(name, script)
}

fn libc_number(name: &str) -> String {
    match name {
        "mknodat" => libc::SYS_mknodat.to_string(),
        _ => unreachable!("{name}"),
    }
}
