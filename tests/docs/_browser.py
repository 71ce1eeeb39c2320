"""Chromium driven over a pipe by its DevTools protocol: pages are opened, asked, and given real keys."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 300
"""Seconds; a report with four figures takes some, and other tests take the processor."""
KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}


class Page:
    """One tab. Its methods wait for what they ask."""

    def __init__(self, read: int, write: int) -> None:
        self._in, self._out = read, write
        self._number, self._rest, self._session = 0, b"", None
        tab = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        self._ask("Page.enable")

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            request["sessionId"] = self._session
        left = memoryview(json.dumps(request).encode() + b"\0")
        while left:
            left = left[os.write(self._out, left) :]
        answer = self._wait(lambda heard: heard.get("id") == self._number)
        assert "error" not in answer, answer
        return answer["result"]

    def _wait(self, wanted: Any) -> Any:
        while True:
            while b"\0" not in self._rest:
                assert select.select([self._in], [], [], PATIENCE)[0], f"the browser says nothing for {PATIENCE} s"
                part = os.read(self._in, 1 << 20)
                assert part, "the browser has ended"
                self._rest += part
            message, _, self._rest = self._rest.partition(b"\0")
            if wanted(heard := json.loads(message)):
                return heard

    def show(self, width: int, *, dark: bool) -> None:
        """Set the width of the screen and the theme that the reader's system asks for."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[theme])

    def open(self, address: str) -> None:
        """Open a page and wait until it and its formulas are there."""
        self._ask("Page.navigate", url="about:blank")
        self._ask("Page.navigate", url=address)
        ready = "new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))"
        self.evaluate(f"{ready}.then(() => window.MathJax && MathJax.startup && MathJax.startup.promise).then(() => 0)")

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        answer = self._ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def read_aloud(self) -> list[tuple[str, str]]:
        """The role and the name of all that a screen reader is given."""
        nodes = self._ask("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def press(self, key: str) -> None:
        """Press a key, as a person does."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], **text)


@contextlib.contextmanager
def browse(profile: str) -> Iterator[Page]:
    """A browser with a profile of its own, ended at the end."""
    assert BROWSER is not None
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    # The browser reads descriptor 3 and writes 4, and a shell need not know descriptors above 9.
    handed = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
    for end in (theirs_in, theirs_out):
        os.close(end)
    move = (
        "import os, sys; r, w, *command = sys.argv[1:]; "
        "os.dup2(int(r), 3); os.dup2(int(w), 4); os.execv(command[0], command)"
    )
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
    ]
    command = [sys.executable, "-c", move, *map(str, handed), BROWSER, *options]
    with subprocess.Popen(command, pass_fds=handed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for end in handed:
            os.close(end)
        try:
            yield Page(ours_in, ours_out)
        finally:
            process.terminate()
            os.close(ours_in)
            os.close(ours_out)
