"""The recipes of docs/how-to/recipes as data for the dashboard, from the specs of this folder.

A recipe is a TOML file here or in hub/ whose head comment names its page, docs/how-to/recipes/NAME.md. The other sentences of
that comment describe it.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_PAGE = re.compile(r"docs/how-to/recipes/(\w+)\.md")
_FILES = ("preferences", "thumbs", "steps", "sft", "prompts", "evaluation_prompts", "pretraining")
"""Fields of `data` that name files of the example."""
_OWN_JUDGE = "reviews"
"""The judge that scores by the hidden rule of the example's data."""
_DOCUMENTED_ORDER = (
    "ppo",
    "ensemble",
    "step_rewards",
    "process_rewards",
    "kl_penalty",
    "reinforce",
    "rloo",
    "grpo",
    "dr_grpo",
    "dapo",
    "gspo",
    "cispo",
    "a_star_po",
    "online_iterative",
    "distillation",
    "dpo",
    "simpo",
    "orpo",
    "kto",
)


def recipes() -> list[dict[str, Any]]:
    """Each recipe with `name`, `title`, `description`, `replace` and `spec`, in the order of the documentation.

    `replace` has the fields of the spec that belong to the data of the example.
    """
    files = [*sorted(_FOLDER.glob("*.toml")), *sorted(_FOLDER.glob("hub/*.toml"))]
    found = [recipe for file in files if (recipe := _recipe(file.read_text(encoding="utf-8")))]
    order = {name: number for number, name in enumerate(_DOCUMENTED_ORDER)}
    return sorted(found, key=lambda recipe: order.get(recipe["name"], len(order)))


def write(folder: Path) -> None:
    """Write `recipes.json`."""
    (folder / "recipes.json").write_text(json.dumps(recipes(), ensure_ascii=False), encoding="utf-8")


def _recipe(text: str) -> dict[str, Any] | None:
    head = " ".join(line.removeprefix("#").strip() for line in _head(text))
    page = _PAGE.search(head)
    if page is None:
        return None
    spec = tomllib.loads(text)
    title = spec.pop("name")
    return {
        "name": page[1],
        "title": title,
        "description": " ".join(one for one in re.split(r"(?<=[.!?]) ", head) if _describes(one)),
        "replace": _of_the_example(spec),
        "spec": spec,
    }


def _head(text: str) -> list[str]:
    lines = text.splitlines()
    end = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return lines[:end]


def _describes(sentence: str) -> bool:
    """Whether a sentence is about the recipe, and not about its file, its command or its page."""
    return not any(part in sentence for part in ("python -m", "docs/how-to", ".jsonl"))


def _of_the_example(spec: dict[str, Any]) -> list[str]:
    fields = [f"data.{name}" for name in _FILES if isinstance(spec.get("data", {}).get(name), str)]
    return fields + (["evaluation.judge"] if spec.get("evaluation", {}).get("judge") == _OWN_JUDGE else [])
