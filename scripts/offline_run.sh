#!/bin/sh
# Runs Tokentrail from an unpacked offline kit, without network.
#   tar xf kit.tar.xz && sh tokentrail-kit/run.sh [arguments of snakemake]
# PYTHON names another Python than python3. The environment is made at the first call, beside this script.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
venv=$here/.venv

wanted=$(cat "$here/python-version")
found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ "$found" != "$wanted" ]; then
    echo "this kit is for Python $wanted, but $python is $found; set PYTHON, or make a kit with --python $found" >&2
    exit 1
fi

if [ ! -e "$venv/ready" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv" >/dev/null 2>&1 || "$python" -m venv --clear --without-pip "$venv"
    if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$venv/bin/python" -m pip install --quiet --no-index --no-deps "$here"/wheels/*.whl
    else
        "$python" -m pip --python "$venv/bin/python" install --quiet --no-index --no-deps "$here"/wheels/*.whl
    fi
    # Packages left out of the kit are this Python's own; a path file also reaches those of a virtual environment,
    # which --system-site-packages does not.
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib")); print(sysconfig.get_path("platlib"))' \
        > "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/target.pth"
    touch "$venv/ready"
fi

if [ -n "${TOKENTRAIL_RESOURCES:-}" ]; then
    mkdir -p "$TOKENTRAIL_RESOURCES/downloads"
    cp "$here"/tokentrail/resources/downloads/* "$TOKENTRAIL_RESOURCES/downloads/"
fi
cd "$here/tokentrail"
# cmake and ninja, where left out of the kit, lie beside that Python.
beside=$("$python" -c 'import os, sys; print(os.path.dirname(sys.executable))')
PATH="$venv/bin:$PATH:$beside" exec "$venv/bin/snakemake" --cores 1 "$@"
