"""The formats and findings in `docs/reference/formats.md`, and a number in README.md."""

import json
import re

from data.findings import CODES
from data.formats import FORMATS
from data.formats.base import Format
from data.preview import example_mapping, example_rows


def formats_page(text: str) -> str:
    """The page with every format and every finding of imports."""
    text = between("formats", "\n".join(_format(one) for one in FORMATS.values()), text)
    rows = [f"| `{code}` | {severity} | {title} |" for code, (severity, title) in CODES.items()]
    return between("findings", "\n".join(["| code | severity | what it is |", "|---|---|---|", *rows]) + "\n", text)


def readme(text: str) -> str:
    """The README with the number of formats that are recognised. `custom` is not: the user describes the columns."""
    return re.sub(r"\[\d+ formats\](?=\(docs/reference/formats\.md\))", f"[{len(FORMATS) - 1} formats]", text)


def between(name: str, content: str, text: str) -> str:
    """The page with other content between the two comments of a generated part."""
    begin, end = f"<!-- {name}: written by docs/generate -->\n", f"<!-- end of {name} -->"
    pattern = f"(?<={re.escape(begin)}).*?(?={re.escape(end)})"
    return re.sub(pattern, lambda _: content, text, flags=re.DOTALL)


def _format(one: Format) -> str:
    link = f" [Source]({one.source})." if one.source else ""
    kinds = ", ".join(f"`{kind}`" for kind in one.kinds)
    blocks = [list(one.example), example_rows()[one.id]] + (
        [[example_mapping(one.id)]] if example_mapping(one.id) else []
    )
    shown = ["\n".join(json.dumps(row, ensure_ascii=False) for row in block) for block in blocks]
    becomes = f"becomes\n\n```json\n{shown[1]}\n```\n" + (
        f"\nwith the mapping\n\n```json\n{shown[2]}\n```\n" if shown[2:] else ""
    )
    return f"### `{one.id}`\n\n**{one.title}** ({kinds}). {one.about}{link}\n\n```json\n{shown[0]}\n```\n\n{becomes}"
