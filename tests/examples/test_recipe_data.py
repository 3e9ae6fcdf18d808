"""The recipes as data: those of the documentation, from the specs of the examples."""

import json
from pathlib import Path

import pytest

from examples import recipes
from trainer.spec import JobSpec

PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "recipes"
RECIPES = {recipe["name"]: recipe for recipe in recipes.recipes()}


def test_every_recipe_of_the_documentation_is_offered() -> None:
    assert set(RECIPES) == {page.stem for page in PAGES.glob("*.md")} - {"README"}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_valid_spec_with_a_description(name: str) -> None:
    recipe = RECIPES[name]
    JobSpec.model_validate(recipe["spec"])
    assert recipe["title"] and 20 < len(recipe["description"]) < 250
    assert "docs/" not in recipe["description"] and "python" not in recipe["description"]


def test_only_the_data_of_the_example_is_to_be_replaced() -> None:
    assert RECIPES["kto"]["replace"] == ["data.thumbs", "data.sft", "data.prompts", "evaluation.judge"]
    assert RECIPES["tldr"]["replace"] == ["data.preferences", "data.sft", "data.prompts"]


def test_the_file_holds_all_recipes(tmp_path: Path) -> None:
    recipes.write(tmp_path)
    assert json.loads((tmp_path / "recipes.json").read_text()) == recipes.recipes()
