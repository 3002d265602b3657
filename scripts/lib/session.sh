# shellcheck shell=bash
# Starts programs so that the reaper can stop them, and waits until they answer.
# The caller has set $here to the folder of scripts and $data to a folder that is
# deleted in the end.

# The reaper lives in a session of its own, where no Ctrl-C reaches it, and acts
# as soon as file descriptor 3 closes.
start_reaper() {
  exec 3> >(exec setsid "$here/lib/reaper" "$data" >/dev/null)
  reaper=$!
  trap stop_servers EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

stop_servers() {
  trap '' HUP INT TERM
  exec 3>&-
  wait "$reaper" || true
}

random_word() { od -A n -N 16 -t x1 /dev/urandom | tr -d ' \n'; }

# Runs a program in a session of its own, in which all its descendants stay. The
# session announces itself, with the signal that stops it, before it lets go of
# the reaper: whenever the caller dies, the reaper knows everything that runs.
# A shell makes its background jobs deaf to INT and QUIT; `env` undoes that.
launch() {
  local signal=$1
  shift
  # shellcheck disable=SC2016 # The inner shell is the one to expand these.
  exec setsid bash -c 'echo "$0 $$" >&3; exec 3>&-; exec env --default-signal=INT,QUIT "$@"' "$signal" "$@"
}

# Waits until a probe succeeds, and shows the server's log when it will not.
await() {
  local name=$1 pid=$2 log=$3 deadline=$((SECONDS + 90))
  shift 3
  until "$@"; do
    kill -0 "$pid" 2>/dev/null || give_up "$name stopped while it was starting" "$log"
    ((SECONDS < deadline)) || give_up "$name did not answer within 90 s" "$log"
    sleep 0.1
  done
}

give_up() {
  say "failed"
  say "$1. The end of its log:"
  tail -n 60 -- "$2" >&2 || true
  exit 1
}
