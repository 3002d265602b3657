# shellcheck shell=bash
# How the scripts speak: progress and complaints go to stderr, so that the
# stdout of a wrapped command stays its own.

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}
