"""For mkdocs: what the pages need beyond a reader of GitHub's markdown.

Pages link to files of the repository that are outside of docs/. Some of these are pages, too. The
site gets the pictures among the others; other links become the path of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
"""Pages of the site that stand at the top of the repository."""
OUTSIDE = re.compile(r"(!?)\[([^\]\n]*)\]\(((?:\.\./)+)([^)\s]+)\)")
INSIDE = re.compile(r"(\]\()docs/")
CODE = re.compile(r"`[^`\n]+`")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages that stand at the top of the repository."""
    from mkdocs.structure.files import File

    for name in PAGES:
        source = Path(config.docs_dir).parent / name
        files.append(File.generated(config, name, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page for Python-Markdown, without links that lead out of docs/."""
    from mkdocs.structure.files import File

    def inside(link: re.Match[str]) -> str:
        is_picture, text, up, path = link.groups()
        if path in PAGES:
            return f"[{text}]({up.removeprefix('../')}{path})"
        if not is_picture:
            return f"{text} (`{path}`)"
        if files.get_file_from_path(path) is None:
            source = Path(config.docs_dir).parent / path
            files.append(File.generated(config, path, abs_src_path=str(source)))
        return f"![{text}]({up.removeprefix('../')}{path})"

    # GitHub wants a bar in the code of a table escaped, Python-Markdown would show the backslash
    unescaped = CODE.sub(lambda code: code[0].replace("\\|", "|"), markdown)
    if page.file.src_uri in PAGES:
        return INSIDE.sub(r"\1", unescaped)
    return OUTSIDE.sub(inside, unescaped)
