"""Puts the page together: pack.py ENGINE PAGE OUTPUT copies the folder PAGE to OUTPUT and writes engine.js beside it,
which holds engine.js and engine.wasm of the folder ENGINE and the page's worker as texts: a page from disk may load
scripts, but fetch nothing and start no worker from a file."""

import base64
import gzip
import json
import pathlib
import shutil
import sys


def main(engine: pathlib.Path, page: pathlib.Path, output: pathlib.Path) -> None:
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for file in sorted(page.iterdir()):
        if file.name != "worker.js":
            shutil.copyfile(file, output / file.name)
    worker = (engine / "engine.js").read_text() + "\n" + (page / "worker.js").read_text()
    # Without a time in it the same sources give the same page.
    wasm = gzip.compress((engine / "engine.wasm").read_bytes(), 9, mtime=0)
    (output / "engine.js").write_text(
        "'use strict';\n"
        f"const engineWorker = {json.dumps(worker)};\n"
        f"const engineWasm = '{base64.b64encode(wasm).decode()}';\n"
    )
    size = sum(file.stat().st_size for file in output.iterdir())
    print(f"{output}: {size:,} bytes in {len(list(output.iterdir()))} files")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))
