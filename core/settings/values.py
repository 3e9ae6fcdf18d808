"""Kinds of values that several settings have."""

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field
from pydantic_settings import NoDecode

Seconds = Annotated[float, Field(gt=0)]


def _folders(value: object) -> object:
    """Absolute folders from a list separated by `:`."""
    if not isinstance(value, str):
        return value
    if value == "any":
        raise ValueError("`any` is not supported any more: list the folders that jobs may read models from")
    folders = (Path(root).expanduser().absolute() for root in value.split(":") if root and root != "none")
    return [folder.resolve() if ".." in folder.parts else folder for folder in folders]


Folders = Annotated[list[Path], NoDecode, BeforeValidator(_folders)]


def _words(value: object) -> object:
    """A list from words separated by spaces or commas."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


Words = Annotated[list[str], NoDecode, BeforeValidator(_words)]


def aliases(*names: str) -> AliasChoices:
    """The variables of a setting, the first one that is set. In Python, the setting has the name of its field."""
    return AliasChoices(*names, names[0].removeprefix("PROXIMAL_").lower())
