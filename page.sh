#!/usr/bin/env bash
# Installs Emscripten and a browser, builds the page to build/web/page and the program, and drives the page in the
# browser against the program. Open build/web/page/index.html, or put the folder on any static host.
set -euo pipefail
cd "$(dirname "$0")"
.ci/install-packages emscripten dpkg-dev chromium python3-venv
web/build
cmake --preset release >/dev/null
cmake --build --preset release --target hybridkv >&2
[ -x build/web/venv/bin/pytest ] || {
  python3 -m venv build/web/venv
  build/web/venv/bin/pip install -q -r tests/web/requirements.txt
}
build/web/venv/bin/python -m pytest -q -s -p no:cacheprovider tests/web
