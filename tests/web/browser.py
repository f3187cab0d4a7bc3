"""A headless Chromium, driven by its own protocol: what a page asks of the network, says on its console, and shows."""

import base64
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

import websocket

patience = 300  # seconds to start in: on a busy machine a browser compiles the program of the page for minutes


class Browser:
    """One tab. Use as `with Browser() as tab`."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--remote-allow-origins=*", "--no-first-run", "--disable-background-networking",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.requests, self.complaints, self.number = [], [], 0
        self.socket = websocket.create_connection(self._address(), timeout=patience)
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.command(f"{domain}.enable")

    def _address(self):
        port_file = pathlib.Path(self.profile.name) / "DevToolsActivePort"
        for _ in range(10 * patience):
            if port_file.exists() and port_file.read_text().strip():
                port = port_file.read_text().split("\n")[0]
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                    tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
                if tabs:
                    return tabs[0]["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise RuntimeError("chromium does not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        self.profile.cleanup()

    def command(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def _note(self, message):
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"])[:600])
        elif message.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(parameters["args"])[:600])
        elif message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])

    def open(self, address):
        self.command("Page.navigate", url="about:blank")
        self.command("Page.navigate", url=address)
        self.wait("document.body && document.body.dataset.ready", patience)

    def run(self, script):
        """The value of a JavaScript expression, awaited where it is a promise."""
        result = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {json.dumps(result['exceptionDetails'])[:600]}")
        return result["result"].get("value")

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(f"Boolean({condition})"):
                return
            time.sleep(0.02)
        raise AssertionError(f"never true: {condition}; the page shows: {self.run('document.body.innerText')[:1500]}")

    def choose_file(self, selector, path):
        self.run(f"document.querySelector({json.dumps(selector)}).value = ''")  # else the same file is no change
        document = self.command("DOM.getDocument")["root"]["nodeId"]
        node = self.command("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
        self.command("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def screenshot(self, path, width, dark):
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        time.sleep(0.3)
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.command("Page.captureScreenshot", captureBeyondViewport=True, format="png",
                            clip={"x": 0, "y": 0, "width": width, "height": size["height"], "scale": 1})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))
