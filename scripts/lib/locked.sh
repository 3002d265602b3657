# shellcheck shell=bash
# In CI the lock file must already be right; by hand, cargo may bring it up to
# date after an edit of a manifest.

locked=()
[[ -z ${CI:-} ]] || locked=(--locked)
