# shellcheck shell=bash
# Picks free ports for private servers on the loopback interface.

# Prints the first of COUNT free ports in a row. The first guess follows from our
# process id, so two copies started at the same moment look at different ports,
# and all lie below the range the kernel lends to outgoing connections.
free_ports() {
  local count=$1 low=10000 high=30000 first try
  for ((try = 0; try < 200; try++)); do
    first=$((low + ($$ + try * 101) * count % (high - low)))
    if all_free "$first" "$count"; then
      echo "$first"
      return
    fi
  done
  die "Found no $count free ports in a row between $low and $high."
}

all_free() {
  local port
  for ((port = $1; port < $1 + $2; port++)); do
    ! port_answers "$port" || return 1
  done
}

port_answers() { (exec 4<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
