"""The dashboard's types are those of the API: openapi.json agrees with the code (tests/api), and the types with it."""

import os
import subprocess
import sys
from pathlib import Path

FRONTEND = Path(__file__).parents[2] / "frontend"


def test_the_generated_types_are_those_of_the_committed_schema(tmp_path: Path) -> None:
    # Node of the set-up, where the machine has none that is new enough.
    path = os.pathsep.join([str(Path(sys.prefix) / "node" / "bin"), os.environ["PATH"]])
    types = ["npm", "exec", "--no", "--", "openapi-typescript", "openapi.json", "--output"]
    commands = {"schema.gen.ts": types, "knobs.gen.ts": ["node", "knobs.js"], "fields.gen.ts": ["node", "fields.js"]}
    for name, command in commands.items():
        command = [*command, str(tmp_path / name)]
        subprocess.run(command, cwd=FRONTEND, env={**os.environ, "PATH": path}, check=True, capture_output=True)
        committed = FRONTEND / "src" / "lib" / "api" / name
        assert (tmp_path / name).read_text() == committed.read_text(), "run: make openapi"
