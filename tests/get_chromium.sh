#!/usr/bin/env bash
# Make sure that the browser tests find a Chromium: the system's, or Debian's package, or Playwright's own download.
# Usage: tests/get_chromium.sh PYTHON
set -euo pipefail
for name in "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium && exit 0
fi
"$1" -m playwright install chromium && exit 0
echo "No Chromium was found for the browser tests; install it (Debian: apt install chromium) or set CHROMIUM to its path" >&2
exit 1
