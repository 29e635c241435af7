#!/usr/bin/env bash
# What the tests run against: a Chromium, and the real llama.cpp, tokenizer and small models, made by the workflow's own
# rules (minutes the first time; TOKENTRAIL_RESOURCES shares them between clones).
# Usage: tests/prepare.sh PYTHON
set -euo pipefail
python=$1

chromium() {
  local name
  for name in "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then return; fi
  done
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; then
      return
    fi
  fi
  if "$python" -m playwright install chromium; then return; fi
  echo "No Chromium was found for the browser tests; install it (Debian: apt install chromium) or set CHROMIUM" >&2
  exit 1
}

chromium
"$python" -m snakemake --cores 1 --until build_engine get_tokenizer get_model --config campaign=smoke
