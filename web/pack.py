"""Puts the page together: pack.py ENGINE PAGE OUTPUT copies the folder PAGE to OUTPUT, slimmed, and writes engine.js
beside it, which holds engine.js of the folder ENGINE with the page's worker, and engine.wasm, packed as one text: a
page from disk may load scripts, but fetch nothing and start no worker from a file. unpack.js of the page reads it."""

import base64
import lzma
import pathlib
import shutil
import sys


def slim(text: str) -> str:
    """Text of the page without indents and lines of comments: whoever wants to read it finds it in web/page."""
    if any(line.count("`") % 2 for line in text.splitlines()):
        raise SystemExit("a template over several lines would lose its indents")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*"))) + "\n"


def slim_style(text: str) -> str:
    """A style besides without the spaces between its tokens that mean nothing."""
    for spaced in ("; ", ": ", ", ", " {", "{ "):
        text = text.replace(spaced, spaced.strip())
    return text


def main(engine: pathlib.Path, page: pathlib.Path, output: pathlib.Path) -> None:
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for file in sorted(page.iterdir()):
        if file.name == "worker.js":
            continue
        text = slim(file.read_text())
        (output / file.name).write_text(slim_style(text) if file.suffix == ".css" else text)
    script = (engine / "engine.js").read_text() + "\n" + (page / "worker.js").read_text()
    parts = [script.encode(), (engine / "engine.wasm").read_bytes()]
    # Instructions of WebAssembly begin at any byte (pb), and what the byte before was says much of the next (lc).
    packed = lzma.compress(b"".join(parts), format=lzma.FORMAT_ALONE, filters=[
        {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0, "nice_len": 273}])
    (output / "engine.js").write_text(
        "'use strict';\n"
        f"const engineSizes = {[len(part) for part in parts]};\n"
        f"const enginePacked = '{base64.b85encode(packed, pad=True).decode()}';\n"
    )
    size = sum(file.stat().st_size for file in output.iterdir())
    print(f"{output}: {size:,} bytes in {len(list(output.iterdir()))} files")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))
