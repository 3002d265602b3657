//! The workspace, driven through its public interface.

mod support;

#[tokio::test]
async fn x() {
    let w = support::TestWorkspace::new();
    println!("{}", w.workspace.sandbox_status().await);
    let r = w.shell(&std::env::var("CMD").unwrap_or("id; pwd; ls -la; echo hi > x; cat /proc/self/status | grep -iE 'cap|seccomp|nonew'; env; ps ax; mount | head -3; ls /tmp; touch /etc/foo; ls -la /root; echo err > /dev/stderr; df /dev/shm".into())).await;
    println!(
        "{:?} {:?} oom {} procs {}\n{}",
        r.end,
        r.duration,
        r.out_of_memory,
        r.out_of_processes,
        r.output.text()
    );
    let r = w.shell("exit 3").await;
    println!("{:?} {:?}", r.end, r.duration);
}
