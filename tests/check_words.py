"""Keeps unclear phrases out of sources and docs: each has a plain word in the field's language.

Prints each use, with the word to use instead; exit status 1 where there are any. Also: every option of
preload/support/options.def is in docs/options.md.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("preload", "analyzer", "include", "tests", "scripts", "docs")
ENDINGS = {".cc", ".h", ".def", ".fbs", ".c", ".py", ".md", ".txt", ".build", ""}
INSTEAD = {
    "want of memory": "out of memory; out-of-memory error",
    "at out of memory": "on an out-of-memory error",
    "let go of": "free (memory, references); release (a lock)",
    "lets go of": "frees; releases",
    "letting go of": "freeing; releasing",
    "collector of garbage": "garbage collector",
    "places of creation": "allocation sites",
    "place of creation": "allocation site",
    "reckoned": "estimate",
    "to whomever": "for any caller",
    "no more what it was": "changed meanwhile",
    "let itself be looked at": "cannot be inspected",
    "has no tensorscope in it": "was not started under tensorscope",
    "is no regular expression": "invalid regular expression",
    "is none of the": "invalid value; choose from",
    "tells of": "reports; describes",
    "tell of": "report; describe",
    "nothing else keeps alive": "retained size",
}


def texts():
    """(path, text) of everything that a person reads."""
    for path in [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]:
        if path.suffix in ENDINGS and path.is_file() and path != pathlib.Path(__file__).resolve():
            yield path.relative_to(ROOT), path.read_text(errors="replace")


def phrase(words):
    """A phrase also over the end of a comment's line or of a string literal; not one that is quoted as a whole (a key of JSON)."""
    between = r'(?:\s*"?\s*\n\s*(?://|#|")?\s*|\s+)'.join(map(re.escape, words.split()))
    return re.compile(rf"""(?<![\w"`])\b{between}\b|\b{between}\b(?!["`])""", re.IGNORECASE)


def unclear(path, text):
    for words, instead in INSTEAD.items():
        for match in phrase(words).finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: '{words}'; use: {instead}"


def undocumented():
    options = re.findall(r'"(TENSORSCOPE\w*)"', (ROOT / "preload/support/options.def").read_text())
    page = (ROOT / "docs/options.md").read_text()
    return [f"docs/options.md: {option} is missing" for option in dict.fromkeys(options) if f"`{option}" not in page]


def main():
    assert list(unclear("x", "kept for want\n// of memory")), "a phrase over two lines is found"
    assert list(unclear("x", 'say("no want of memory")')) and not list(unclear("x", '{"reckoned":1}'))
    wrong = [line for path, text in texts() for line in unclear(path, text)] + undocumented()
    print("\n".join(wrong) or "no unclear phrase")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
