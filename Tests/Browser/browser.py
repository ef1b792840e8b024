"""A headless Chromium, driven through chromedriver's own protocol (W3C WebDriver) with nothing but the standard library."""
import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# Only what fails waits for so long: a busy machine is no fault.
PATIENCE = 120.0


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Browser:
    """One window. `dark` and the width of a phone are asked of the browser, as people's systems do."""

    def __init__(self):
        driver = shutil.which("chromedriver")
        expect(driver and (shutil.which("chromium") or shutil.which("google-chrome")),
               "there is no Chromium with its driver: apt-get install chromium chromium-driver")
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = None
        while port is None:
            line = self.process.stdout.readline()
            expect(line, "chromedriver does not start")
            if found := re.search(r"started successfully on port (\d+)", line):
                port = found[1]
        self.base = f"http://127.0.0.1:{port}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]}
        answer = self.call("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += "/" + answer["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failure(f"{method} {path}: {json.load(error)['value']['message']}") from None

    def look(self, width, height, dark=False, calm=False):
        self.devtools("Emulation.setDeviceMetricsOverride",
                      width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"}])

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, address):
        self.call("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def element(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.element(selector)}/click", {})

    def press(self, *keys):
        """Keys by their names in WebDriver, such as \\ue012 for the left arrow, at what has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def until(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while not (value := condition()):
            expect(time.monotonic() < deadline, f"waited in vain for {what}")
            time.sleep(0.05)
        return value

    def complaints(self):
        """What the browser's console has said of errors, policy violations included."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE" and "favicon" not in entry["message"]]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def end(self):
        try:
            self.call("DELETE", "")
        except (Failure, OSError):
            pass
        self.process.terminate()
        self.process.wait()
