#!/usr/bin/env bash
# Installs what the grader needs. Gradescope runs this once as root, when it builds the image.
set -euo pipefail
root="${AUTOGRADER_ROOT:-/autograder}"

apt-get update
apt-get install -y g++ python3 python3-venv
python=python3
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    # Ubuntu 22.04 has an older python3, and 3.11 as a package of its own.
    apt-get install -y python3.11 python3.11-venv
    python=python3.11
fi
"$python" -m venv "$root/venv"
install=("$root/venv/bin/python" -m pip install --no-cache-dir --disable-pip-version-check)
# The build without CUDA, which is a tenth of the size.
"${install[@]}" --index-url https://download.pytorch.org/whl/cpu "$(grep -E '^torch==' "$root/source/requirements.txt")"
"${install[@]}" -r "$root/source/requirements.txt"
