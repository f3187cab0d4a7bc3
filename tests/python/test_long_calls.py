"""Long calls: others run meanwhile, progress is told, Ctrl-C ends them."""

import signal
import subprocess
import sys
import threading
import time

import hybridkv
import pytest

LONG = dict(model="Qwen3.5-4B", memory="8GiB", max_model_len=131072, cache_mode="align", max_requests=50_000_000)


class Enough(Exception):
    pass


def test_progress_is_told_and_may_end_it():
    told = []

    def stop(what, done, total):
        told.append((what, done, total))
        raise Enough

    begun = time.monotonic()
    with pytest.raises(Enough):
        hybridkv.simulate(**LONG, records=False, progress=stop)
    assert told and told[0][0] == "requests"
    assert time.monotonic() - begun < 20
    # Nothing is left behind that the next call could trip over.
    assert hybridkv.simulate(**{**LONG, "max_requests": 50}).prompt_tokens > 0


def test_others_run_meanwhile():
    counted = []
    done = threading.Event()

    def count():
        while not done.is_set():
            counted.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        hybridkv.simulate(**{**LONG, "max_requests": 300_000})
    finally:
        done.set()
        thread.join()
    assert len(counted) > 3


# Shells start what runs in their background with SIGINT ignored.
SCRIPT = """
import hybridkv, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("stopped", flush=True)
    print(hybridkv.plan(model="Qwen3.5-4B", memory="8GiB", max_model_len=4096, detail="numbers").num_blocks, flush=True)
"""


@pytest.mark.parametrize("call", [
    f"hybridkv.simulate(**{LONG}, records=False)",
    f"hybridkv.recommend(**{dict(LONG, max_requests=200_000)}, search='exhaustive')",
    f"hybridkv.sweep(**{dict(LONG, max_requests=10_000_000)}, attention_pack_size=[*range(1, 9)], simulate=True)",
])
def test_ctrl_c_ends_it_within_a_moment(call):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT.format(call=call)], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - sent < 3
        assert int(process.stdout.readline()) > 0
        process.wait(30)  # what nobody waits for ends too, and with it the program
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def test_bar():
    hybridkv.simulate(**{**LONG, "max_requests": 50}, progress=True)
    with pytest.raises(TypeError):
        hybridkv.simulate(**LONG, progress=3)
