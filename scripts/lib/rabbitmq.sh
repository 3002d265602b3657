# shellcheck shell=bash
# A private RabbitMQ with an epmd (Erlang's name server) of its own: the node
# would otherwise start one that outlives it.

# Starts both in the background and sets rabbitmq_pid and amqp_url.
start_rabbitmq() {
  local epmd_port=$3 home=$data/rabbitmq
  mkdir "$home"
  (umask 077 && random_word >"$home/.erlang.cookie")
  echo '[].' >"$home/enabled_plugins"
  : >"$home/rabbitmq.conf"

  launch KILL env -i --chdir="$home" PATH=/usr/bin:/bin HOME="$home" \
    epmd -port "$epmd_port" -address 127.0.0.1 >"$data/epmd.log" 2>&1 </dev/null &
  await epmd $! "$data/epmd.log" port_answers "$epmd_port"
  launch_rabbitmq "$@"
}

# Starts the node alone, for the first time or on the data that it left.
launch_rabbitmq() {
  local amqp_port=$1 node_port=$2 epmd_port=$3 home=$data/rabbitmq server
  server=$(newest_rabbitmq)
  # KILL, because a node that is still booting may hang on TERM.
  launch KILL env -i --chdir="$home" PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME="$home" LC_ALL=C.UTF-8 \
    ERL_EPMD_PORT="$epmd_port" \
    ERL_EPMD_ADDRESS=127.0.0.1 \
    ERL_CRASH_DUMP_SECONDS=0 \
    RABBITMQ_CONF_ENV_FILE=/dev/null \
    RABBITMQ_CONFIG_FILE="$home/rabbitmq.conf" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$home/enabled_plugins" \
    RABBITMQ_GENERATED_CONFIG_DIR="$home/config" \
    RABBITMQ_MNESIA_BASE="$home/mnesia" \
    RABBITMQ_LOG_BASE="$home" \
    RABBITMQ_LOGS=- \
    RABBITMQ_PID_FILE="$home/pid" \
    RABBITMQ_NODENAME=ostler@localhost \
    RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 \
    RABBITMQ_NODE_PORT="$amqp_port" \
    RABBITMQ_DIST_PORT="$node_port" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}' \
    "$server" >>"$data/rabbitmq.log" 2>&1 </dev/null &
  rabbitmq_pid=$!
  amqp_url="amqp://guest:guest@127.0.0.1:$amqp_port/%2f"
}

# Ends the node by a signal; its data and epmd stay. After KILL, 3.10 now and then
# has no leader for a quorum queue that it recovers.
stop_rabbitmq() {
  kill -s "$2" -- "-$rabbitmq_pid"
  wait "$rabbitmq_pid" 2>/dev/null || true
  while port_answers "$1"; do sleep 0.05; done
}

# Has the node evaluate an expression of Erlang.
rabbitmq_eval() {
  local home=$data/rabbitmq server
  server=$(newest_rabbitmq)
  env -i --chdir="$home" PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME="$home" LC_ALL=C.UTF-8 \
    ERL_EPMD_PORT="$1" \
    RABBITMQ_CONF_ENV_FILE=/dev/null \
    "${server%-server}ctl" -n ostler@localhost eval "$2" >>"$data/rabbitmqctl.log" 2>&1 </dev/null
}

await_rabbitmq() {
  await RabbitMQ "$rabbitmq_pid" "$data/rabbitmq.log" rabbitmq_answers "$1"
}

# A broker that is ready greets the protocol header with a method frame, whose
# first byte is 1.
rabbitmq_answers() (
  exec 4<>"/dev/tcp/127.0.0.1/$1" &&
    printf 'AMQP\0\0\x09\x01' >&4 &&
    IFS= read -r -t 2 -N 1 byte <&4 &&
    [[ $byte == $'\x01' ]]
) 2>/dev/null

# The script inside the package, because the one on the PATH switches to
# another user and directory.
newest_rabbitmq() {
  local found
  found=$(compgen -G '/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server' | sort -V | tail -n 1)
  [[ $found ]] || die "RabbitMQ is missing; scripts/install-services installs it."
  printf '%s\n' "$found"
}
