"""Hooks of MkDocs: source files on the site, and the decisions in the navigation.

In the repository a page links to the code by a relative path (`../../trainer/ppo/loop.py`), which leaves the folder that
MkDocs builds. On the site such a link leads to a copy of the file under `source/`. A link to a folder becomes plain text.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>\.\./[^)#\s]+)(?:#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replaces a pattern in the navigation, such as `decisions/0*.md`, by the pages that match it."""
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def _expanded(nav: Any, docs: Path) -> Any:
    if isinstance(nav, dict):
        return {title: _expanded(part, docs) for title, part in nav.items()}
    if not isinstance(nav, list):
        return nav
    found: list[Any] = []
    for part in nav:
        pages = sorted(docs.glob(part)) if isinstance(part, str) and "*" in part else []
        found += [page.relative_to(docs).as_posix() for page in pages] or [_expanded(part, docs)]
    return found


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
