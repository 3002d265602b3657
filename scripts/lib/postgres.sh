# shellcheck shell=bash
# A private PostgreSQL: data below $data, password known to nobody else.

# Makes an empty cluster and starts it on the given port; sets postgres_pid and
# postgres_url once it answers.
start_postgres() {
  local port=$1 home=$data/postgres log=$data/postgres.log bin password
  bin=$(newest_postgres)
  password=$(random_word)
  mkdir "$home"
  printf '%s\n' "$password" >"$home/password"
  choose_postgres_user "$home"

  # CONT does nothing: a killed initdb would leave shared memory behind, and it
  # ends by itself in a second or two.
  run_postgres CONT "$bin/initdb" --pgdata="$home/data" --username=ostler --pwfile="$home/password" \
    --auth=scram-sha-256 --encoding=UTF8 --no-locale --no-sync >"$log" 2>&1 </dev/null &
  wait $! || give_up "initdb failed" "$log"
  postgres_url="postgres://ostler:$password@127.0.0.1:$port/postgres"
  launch_postgres "$port"
}

# Starts the server alone, for the first time or on the data that it left.
launch_postgres() {
  local port=$1 home=$data/postgres log=$data/postgres.log bin
  bin=$(newest_postgres)
  # The socket directory is off because its path could exceed what a socket
  # allows; fsync stays on because tests rely on what was committed.
  run_postgres QUIT "$bin/postgres" -D "$home/data" -c port="$port" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c max_connections=200 -c shared_buffers=32MB >>"$log" 2>&1 </dev/null &
  postgres_pid=$!
  await PostgreSQL "$postgres_pid" "$log" postgres_answers "$bin/psql"
}

# Ends the server; its data stay. INT cuts all connections, QUIT is a crash.
stop_postgres() {
  kill -s "$1" "$postgres_pid"
  wait "$postgres_pid" 2>/dev/null || true
}

# The password makes sure that it is our server that answers.
postgres_answers() {
  env -i "$1" --no-psqlrc --quiet --command='' "$postgres_url" </dev/null &>/dev/null
}

newest_postgres() {
  local found
  found=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)
  [[ $found ]] || die "PostgreSQL is missing; scripts/install-services installs it."
  dirname "$found"
}

run_postgres() {
  local signal=$1
  shift
  launch "$signal" env -i --chdir="$data" PATH=/usr/bin:/bin LC_ALL=C "${postgres_user[@]}" "$@"
}

# PostgreSQL refuses to run as root. A user namespace gives root another number
# without any change of file ownership; where the kernel forbids that, the user
# that the Debian package created owns the data.
choose_postgres_user() {
  local other_number=(unshare --user --map-user=1000 --map-group=1000 --)
  if [[ $(id -u) != 0 ]]; then
    postgres_user=()
  elif "${other_number[@]}" true 2>/dev/null; then
    postgres_user=("${other_number[@]}")
  else
    postgres_user=(setpriv --reuid=postgres --regid=postgres --clear-groups --)
    chmod 711 "$data"
    chown -R postgres: "$1"
  fi
}
