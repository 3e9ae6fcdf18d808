"""The size of JavaScript heaps, read through Chromium's own protocol."""

import json
from typing import Any

from playwright.sync_api import Browser, Page

_MOST_ANSWERS = 500


def page_heap(page: Page) -> float:
    """Bytes of the page's JavaScript objects after a garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = float(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return used


class SharedWorkerHeap:
    """The heap of the browser's only shared worker. Playwright has no session for one, so messages pass through the browser's."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser.new_browser_cdp_session()
        (worker,) = (one for one in self._targets() if one["type"] == "shared_worker")
        attached = self._browser.send("Target.attachToTarget", {"targetId": worker["targetId"], "flatten": False})
        self._session: str = attached["sessionId"]
        self._answers: dict[int, dict[str, Any]] = {}
        self._sent = 0
        self._browser.on("Target.receivedMessageFromTarget", self._take)

    def size(self) -> float:
        """Bytes of its JavaScript objects after a garbage collection."""
        self._call("HeapProfiler.collectGarbage")
        return float(self._call("Runtime.getHeapUsage")["usedSize"])

    def _targets(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._browser.send("Target.getTargets")["targetInfos"]
        return found

    def _take(self, event: dict[str, Any]) -> None:
        answer = json.loads(event["message"])
        if "id" in answer:
            self._answers[answer["id"]] = answer["result"]

    def _call(self, method: str) -> dict[str, Any]:
        self._sent += 1
        message = json.dumps({"id": self._sent, "method": method, "params": {}})
        self._browser.send("Target.sendMessageToTarget", {"sessionId": self._session, "message": message})
        for _ in range(_MOST_ANSWERS):
            if self._sent in self._answers:
                return self._answers.pop(self._sent)
            self._targets()  # events are received while another call waits for its answer
        raise TimeoutError(f"The shared worker does not answer {method}.")
