# SPDX-License-Identifier: Apache-2.0
"""Every link of a Markdown page to another page or file of the checkout leads there: the file exists, and so does the heading behind "#".

Prints the links that do not; exit status 1 if there is one. Links to other hosts are not opened.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")


def anchors(text):
    """What a link can name behind "#": headings as GitHub writes them, and `<a id="...">`."""
    found = set(re.findall(r'<a id="([^"]+)">', text))
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def broken(page, text):
    for match in LINK.finditer(text):
        path, anchor = match.groups()
        if "://" in path or path.startswith("mailto:"):
            continue
        target = page.parent / path if path else page
        line = text.count("\n", 0, match.start()) + 1
        if not target.exists():
            yield f"{page.relative_to(ROOT)}:{line}: {path} is not there"
        elif anchor and target.suffix == ".md" and anchor not in anchors(text if target == page else target.read_text()):
            yield f"{page.relative_to(ROOT)}:{line}: {path}#{anchor} is no heading"


def main():
    assert len(list(broken(ROOT / "README.md", "# A b\n[1](gone.md) [2](#a-b) [3](#c) [4](docs/limits.md#c) [5](https://x/#y)\n"))) == 3
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    pages = listed.stdout.splitlines() if listed.returncode == 0 else []
    wrong = [line for page in pages for line in broken(ROOT / page, (ROOT / page).read_text())]
    print("\n".join(wrong) or f"{len(pages)} pages, whose links lead somewhere")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
