"""For mkdocs: what the pages need beyond a reader of GitHub's markdown.

Pages link to files of the repository that are outside of docs/. The site gets the pictures among
them; other links become the path of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"(!?)\[([^\]\n]*)\]\(((?:\.\./)+)([^)\s]+)\)")
CODE = re.compile(r"`[^`\n]+`")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page for Python-Markdown, without links that lead out of docs/."""
    from mkdocs.structure.files import File

    def inside(link: re.Match[str]) -> str:
        is_picture, text, up, path = link.groups()
        if not is_picture:
            return f"{text} (`{path}`)"
        if files.get_file_from_path(path) is None:
            source = Path(config.docs_dir).parent / path
            files.append(File.generated(config, path, abs_src_path=str(source)))
        return f"![{text}]({up.removeprefix('../')}{path})"

    # GitHub wants a bar in the code of a table escaped, Python-Markdown would show the backslash
    unescaped = CODE.sub(lambda code: code[0].replace("\\|", "|"), markdown)
    return OUTSIDE.sub(inside, unescaped)
