"""The name of a file, as somebody else's machine has it."""

import unicodedata

from core.errors import InvalidRequest

LONGEST = 255
_UNFIT = frozenset({"Cc", "Cs"})
"""Control characters and halves of surrogate pairs."""


def fit(filename: str) -> str:
    """The last part of what may be a path, of Windows too. InvalidRequest for what is no name.

    It is shown and tells formats apart by its ending; nothing of ours is ever stored under it.
    """
    name = filename.replace("\\", "/").rstrip("/").rpartition("/")[2].strip()
    if name in ("", ".", "..") or len(name) > LONGEST or _UNFIT.intersection(map(unicodedata.category, name)):
        detail = f"must be the name of a file, of at most {LONGEST} characters, none of them a control character"
        raise InvalidRequest(
            f"The file's name {detail}.", param="filename", errors=[{"pointer": "#/filename", "detail": detail}]
        )
    return name
