"""A headless Chromium, driven through its debugging pipe: no driver program, no port, no package beside the browser."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

#: chosen: a browser on a busy machine with two cores takes some ten seconds to show a page
PATIENCE_SECONDS = 90


def installed():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class BrowserError(Exception):
    pass


class Page:
    """One page of one browser. What it asked of the network and wrote to the console is kept."""

    def __init__(self, width=1200, height=1400):
        self._profile = tempfile.TemporaryDirectory(prefix="zs-browser-", ignore_cleanup_errors=True)
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()

        def become_3_and_4():  # the numbers that --remote-debugging-pipe means
            commands, answers = os.dup(to_browser), os.dup(from_browser)
            while commands in (3, 4):
                commands = os.dup(commands)
            while answers in (3, 4):
                answers = os.dup(answers)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self._process = subprocess.Popen(
            [installed(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-extensions",
             "--disable-component-update", "--hide-scrollbars", "--force-device-scale-factor=1",
             f"--window-size={width},{height}", f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=become_3_and_4, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._unread = b""
        self._session = None
        self.requests = []  # addresses
        self.complaints = []  # errors and warnings of the console, and exceptions
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def _message(self, deadline):
        while b"\0" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise BrowserError(f"no answer in {PATIENCE_SECONDS} s")
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise BrowserError("the browser ended")
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        what = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif event.get("method") == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value")) for a in what["args"]))
        elif event.get("method") == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])

    def call(self, method, **parameters):
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            message = self._message(deadline)
            if message.get("id") == self._number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._note(message)

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def open(self, path):
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.value("document.readyState") != "complete" or not self.value("location.href").startswith("file:"):
            if time.monotonic() > deadline:
                raise BrowserError(f"{path} does not become complete")
            time.sleep(0.05)
        self.settle()

    def settle(self):
        """Until what was asked for is drawn: two frames later."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def move_pointer(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def drag(self, x_from, x_to, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x_from, y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x_from, y=y, button="left", buttons=1, clickCount=1)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x_to, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x_to, y=y, button="left", clickCount=1)
        self.settle()

    def press(self, key, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)
        self.settle()

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
