# shellcheck shell=bash
# Installs Debian packages. say.sh comes first.

# apt_install WHY PACKAGE…: installs packages, or says who could.
apt_install() {
  local why=$1
  shift
  become_root "$why" "$@"
  say "installing $* …"
  quietly as_root apt-get update
  quietly as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 "$@"
}

# What an installer prints matters only when it fails.
quietly() {
  local output
  output=$("$@" 2>&1 </dev/null) || die "$output"
}

become_root() {
  local why=$1
  shift
  command -v apt-get >/dev/null ||
    die "$why This is not a Debian system: please install what it calls $*."
  if [[ $(id -u) == 0 ]]; then
    as_root() { "$@"; }
  elif command -v sudo >/dev/null && sudo -v; then
    as_root() { sudo "$@"; }
  else
    die "$why Neither root nor sudo is at hand. Please have an administrator run: apt-get install --no-install-recommends $*"
  fi
}
