"""A hook of MkDocs: it copies the source files that the pages link to into the site.

In the repository a page links to the code by a relative path (`../../trainer/ppo/loop.py`), which leaves the folder that
MkDocs builds. On the site such a link leads to a copy of the file under `source/`. A link to a folder becomes plain text.
"""

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>\.\./[^)#\s]+)(?:#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds every file outside docs/ that a page links to."""
    targets = {
        target
        for page in files.documentation_pages()
        for link in LINK.finditer(page.content_string)
        if (target := _outside(page, link["path"], config)) and target.is_file()
    }
    for target in sorted(targets):
        files.append(File.generated(config, _copy_of(target), abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Points the page's links that leave docs/ to the copies."""

    def pointed(link: re.Match[str]) -> str:
        target = _outside(page.file, link["path"], config)
        if target is None:
            return link[0]
        if not target.is_file():
            return link["text"]
        return f"[{link['text']}]({os.path.relpath(_copy_of(target), Path(page.file.src_uri).parent)})"

    return LINK.sub(pointed, markdown)


def _outside(page: File, link: str, config: MkDocsConfig) -> Path | None:
    """The file or folder of the repository that a link means, or None for a link that stays inside docs/."""
    target = Path(os.path.normpath(Path(config.docs_dir, page.src_uri).parent / link))
    return target if target.is_relative_to(ROOT) and not target.is_relative_to(config.docs_dir) else None


def _copy_of(target: Path) -> str:
    """The place of a source file's copy in the site; browsers show `.txt` and download most other suffixes."""
    return f"source/{target.relative_to(ROOT).as_posix().lstrip('.')}.txt"
