//! Lists of system calls.

/// Calls that ordinary programs need.
#[rustfmt::skip]
const ALLOWED_EVERYWHERE: &[i64] = &[
    libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_lseek,
    libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_brk, libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_ioctl, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_readv, libc::SYS_writev, libc::SYS_preadv, libc::SYS_pwritev,
    libc::SYS_preadv2, libc::SYS_pwritev2, libc::SYS_sched_yield, libc::SYS_mremap,
    libc::SYS_msync, libc::SYS_mincore, libc::SYS_madvise, libc::SYS_dup, libc::SYS_dup3,
    libc::SYS_nanosleep, libc::SYS_getitimer, libc::SYS_setitimer, libc::SYS_getpid,
    libc::SYS_sendfile, libc::SYS_socket, libc::SYS_connect, libc::SYS_accept, libc::SYS_accept4,
    libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg,
    libc::SYS_sendmmsg, libc::SYS_recvmmsg, libc::SYS_shutdown, libc::SYS_bind, libc::SYS_listen,
    libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_socketpair, libc::SYS_setsockopt,
    libc::SYS_getsockopt, libc::SYS_clone, libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit,
    libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid, libc::SYS_kill, libc::SYS_tkill,
    libc::SYS_tgkill, libc::SYS_uname, libc::SYS_fcntl, libc::SYS_flock, libc::SYS_fsync,
    libc::SYS_fdatasync, libc::SYS_sync, libc::SYS_syncfs, libc::SYS_sync_file_range,
    libc::SYS_truncate, libc::SYS_ftruncate, libc::SYS_getdents64, libc::SYS_getcwd,
    libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchown,
    libc::SYS_fchownat, libc::SYS_umask, libc::SYS_gettimeofday, libc::SYS_getrlimit,
    libc::SYS_setrlimit, libc::SYS_prlimit64, libc::SYS_getrusage, libc::SYS_sysinfo,
    libc::SYS_times, libc::SYS_getuid, libc::SYS_getgid, libc::SYS_setuid, libc::SYS_setgid,
    libc::SYS_geteuid, libc::SYS_getegid, libc::SYS_setpgid, libc::SYS_getpgid, libc::SYS_getppid,
    libc::SYS_setsid, libc::SYS_getsid, libc::SYS_setreuid, libc::SYS_setregid,
    libc::SYS_getgroups, libc::SYS_setgroups, libc::SYS_setresuid, libc::SYS_getresuid,
    libc::SYS_setresgid, libc::SYS_getresgid, libc::SYS_setfsuid, libc::SYS_setfsgid,
    libc::SYS_capget, libc::SYS_capset, libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo, libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack, libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_getpriority,
    libc::SYS_setpriority, libc::SYS_sched_setparam, libc::SYS_sched_getparam,
    libc::SYS_sched_setscheduler, libc::SYS_sched_getscheduler, libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min, libc::SYS_sched_rr_get_interval, libc::SYS_sched_setattr,
    libc::SYS_sched_getattr, libc::SYS_sched_setaffinity, libc::SYS_sched_getaffinity,
    libc::SYS_mlock, libc::SYS_munlock, libc::SYS_mlockall, libc::SYS_munlockall,
    libc::SYS_mlock2, libc::SYS_prctl, libc::SYS_gettid, libc::SYS_readahead, libc::SYS_setxattr,
    libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_getxattr, libc::SYS_lgetxattr,
    libc::SYS_fgetxattr, libc::SYS_listxattr, libc::SYS_llistxattr, libc::SYS_flistxattr,
    libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr, libc::SYS_futex,
    libc::SYS_futex_waitv, libc::SYS_set_robust_list, libc::SYS_get_robust_list,
    libc::SYS_set_tid_address, libc::SYS_restart_syscall, libc::SYS_timer_create,
    libc::SYS_timer_settime, libc::SYS_timer_gettime, libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete, libc::SYS_clock_gettime, libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep, libc::SYS_io_setup, libc::SYS_io_destroy, libc::SYS_io_getevents,
    libc::SYS_io_submit, libc::SYS_io_cancel, libc::SYS_ioprio_set, libc::SYS_ioprio_get,
    libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_inotify_rm_watch,
    libc::SYS_openat, libc::SYS_openat2, libc::SYS_mkdirat, libc::SYS_mknodat, libc::SYS_unlinkat,
    libc::SYS_renameat2, libc::SYS_linkat, libc::SYS_symlinkat, libc::SYS_readlinkat,
    libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_fchmodat2, libc::SYS_pselect6,
    libc::SYS_ppoll, libc::SYS_splice, libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_utimensat,
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2,
    libc::SYS_signalfd4, libc::SYS_timerfd_create, libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime, libc::SYS_eventfd2, libc::SYS_pipe2, libc::SYS_fallocate,
    libc::SYS_fadvise64, libc::SYS_getcpu, libc::SYS_getrandom, libc::SYS_memfd_create,
    libc::SYS_copy_file_range, libc::SYS_statx, libc::SYS_rseq, libc::SYS_seccomp,
    libc::SYS_membarrier, libc::SYS_pkey_mprotect, libc::SYS_pkey_alloc, libc::SYS_pkey_free,
    libc::SYS_close_range, libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal,
    libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self, libc::SYS_get_mempolicy,
];

/// Older calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const ALLOWED_HERE: &[i64] = &[
    libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_poll, libc::SYS_access,
    libc::SYS_pipe, libc::SYS_select, libc::SYS_dup2, libc::SYS_pause, libc::SYS_alarm,
    libc::SYS_fork, libc::SYS_vfork, libc::SYS_creat, libc::SYS_rename, libc::SYS_mkdir,
    libc::SYS_rmdir, libc::SYS_link, libc::SYS_unlink, libc::SYS_symlink, libc::SYS_readlink,
    libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_getpgrp, libc::SYS_utime,
    libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_mknod, libc::SYS_arch_prctl, libc::SYS_time,
    libc::SYS_getdents, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_signalfd,
    libc::SYS_eventfd, libc::SYS_inotify_init, libc::SYS_renameat,
];

/// Older calls that only this architecture has.
#[cfg(target_arch = "aarch64")]
const ALLOWED_HERE: &[i64] = &[libc::SYS_renameat];

/// Older calls that only this architecture has.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ALLOWED_HERE: &[i64] = &[];

/// Returns the calls that ordinary programs need.
pub(super) fn allowed() -> impl Iterator<Item = i64> {
    ALLOWED_EVERYWHERE.iter().chain(ALLOWED_HERE).copied()
}

/// Shared memory, semaphores and queues between processes, for an IPC namespace of its own.
#[rustfmt::skip]
pub(super) const ALLOWED_IPC: &[i64] = &[
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_shmdt, libc::SYS_semget,
    libc::SYS_semop, libc::SYS_semctl, libc::SYS_semtimedop, libc::SYS_msgget, libc::SYS_msgsnd,
    libc::SYS_msgrcv, libc::SYS_msgctl,
];

/// Calls that are refused: other processes, mounts, namespaces, keys, the kernel itself.
#[rustfmt::skip]
pub(super) const DENIED: &[i64] = &[
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_kcmp,
    libc::SYS_pidfd_getfd, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root,
    libc::SYS_chroot, libc::SYS_fsopen, libc::SYS_fsmount, libc::SYS_fsconfig, libc::SYS_fspick,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_mount_setattr, libc::SYS_unshare,
    libc::SYS_setns, libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd,
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_kexec_load,
    libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_reboot,
    libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct, libc::SYS_quotactl,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_adjtimex, libc::SYS_clock_adjtime,
    libc::SYS_sethostname, libc::SYS_setdomainname, libc::SYS_syslog, libc::SYS_vhangup,
    libc::SYS_personality, libc::SYS_open_by_handle_at, libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init, libc::SYS_fanotify_mark, libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie, libc::SYS_move_pages, libc::SYS_migrate_pages, libc::SYS_mbind,
    libc::SYS_set_mempolicy, libc::SYS_process_madvise, libc::SYS_process_mrelease,
    libc::SYS_memfd_secret,
];

/// Calls that change attributes of files.
#[rustfmt::skip]
pub(super) const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, libc::SYS_removexattr,
    libc::SYS_lremovexattr, libc::SYS_fremovexattr,
];

/// Returns the calls that set the permissions of a file, with the argument that has them.
pub(super) fn mode_calls() -> Vec<(i64, u8)> {
    let everywhere = [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2)];
    #[cfg(target_arch = "x86_64")]
    return [everywhere.as_slice(), &[(libc::SYS_chmod, 1)]].concat();
    #[cfg(not(target_arch = "x86_64"))]
    return everywhere.to_vec();
}
