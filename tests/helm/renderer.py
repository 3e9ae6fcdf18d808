"""`python -m tests.helm.renderer`: renders the chart with Helm's own code, one request and one response per line.

It is a process of its own because Helm is a library of Go, whose threads and signal handlers would stay in the process of the tests.
"""

import json
import sys
from typing import Any

import helm_python

from tests.helm.chart import CHART


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """The files by name, or the error. With `lint`, the findings."""
    values = request["values"]
    try:
        if request.get("lint"):
            return helm_python.lint(CHART, values, strict=True)
        with helm_python.Chart.load(CHART) as chart:
            return {"files": chart.render(values, name=request["name"], namespace=request["namespace"])}
    except helm_python.HelmError as error:
        return {"error": str(error)}


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(respond(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
