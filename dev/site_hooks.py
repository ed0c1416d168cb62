"""Hooks of mkdocs for the documentation's site: pages outside of docs, and links to them.

Pages keep the links that work in the repository. A link from docs to a page outside of it leads to that page of the site,
and a link to another file outside of docs, or to a folder, becomes its path as text.
"""

import logging
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.site_hooks")
ROOT = Path(__file__).resolve().parent.parent

# Pages of the site that are outside of docs, by their places in the repository.
PAGES = {
    "README.md": "index.md",
    "python/README.md": "python.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/data/README.md": "example-data.md",
    "dev/gpu-pack/README.md": "gpu-pack.md",
}

PYTHON_API = """# Python API

{modules}
"""

JAVA_API = """# Java and Scala API

{link}: `MatrixBlocks`, `VolumeBlocks` and `MllibMatrices`, the options, and the exceptions. Scala calls the same methods.
"""
APIDOCS = ROOT / "target" / "apidocs"

# Sphinx's roles, with which docstrings name each other.
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc):(?=<code>)")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config) -> Files:
    for source, page in PAGES.items():
        text = rewritten((ROOT / source).read_text("utf-8"), source, page)
        files.append(File.generated(config, page, content=text))
    modules = ["tilespark", "tilespark.fft", "tilespark.linalg", "tilespark.random", "tilespark.signal"]
    text = "\n\n".join(f"## {module}\n\n::: {module}" for module in modules)
    files.append(File.generated(config, "python-api.md", content=PYTHON_API.format(modules=text)))
    link = "[Javadoc](apidocs/index.html)" if APIDOCS.exists() else "Javadoc (`dev/site` after a build)"
    files.append(File.generated(config, "java-api.md", content=JAVA_API.format(link=link)))
    for path in sorted(path for path in APIDOCS.rglob("*") if path.is_file()):
        place = path.relative_to(APIDOCS.parent).as_posix()
        files.append(File(place, str(APIDOCS.parent), config.site_dir, use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, page: Page, config, files: Files) -> str:
    place = page.file.src_uri
    if place in PAGES.values() or place in ("python-api.md", "java-api.md"):
        return markdown
    return rewritten(markdown, f"docs/{place}", place)


def on_page_content(html: str, page: Page, config, files: Files) -> str:
    return ROLE.sub("", html) if page.file.src_uri == "python-api.md" else html


def rewritten(markdown: str, source: str, page: str) -> str:
    """The text of the file `source` of the repository as the page `page` of the site."""

    def link(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if not (ROOT / inside).exists():
            LOG.warning("%s links to %s, which does not exist", source, target)
        if inside in PAGES:
            target = PAGES[inside]
        elif inside.startswith("docs/") and (ROOT / inside).is_file():
            target = inside.removeprefix("docs/")
        else:
            return f"{text} (`{inside}`)" if f"`{inside}`" != text else text
        target = posixpath.relpath(target, posixpath.dirname(page) or ".")
        return f"{image}[{text}]({target}{'#' + anchor if anchor else ''})"

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)
