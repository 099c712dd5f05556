# SPDX-License-Identifier: Apache-2.0
"""Keeps unclear phrases out of sources and docs: each has a plain word in the field's language.

Prints each use, with the word to use instead; exit status 1 where there are any. Also: every option of
preload/support/options.def is in docs/options.md, and every file of ours that a comment or a page names is there.
"""

import pathlib
import re
import sys

import check_rooms

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("preload", "analyzer", "include", "tests", "scripts", "docs")
ENDINGS = {".cc", ".h", ".def", ".fbs", ".c", ".py", ".md", ".txt", ".build", ".ts", ""}
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
    "handed out": "allocated; delivered; returned",
    "given out": "allocated",
    "gave out": "allocated; returned",
    "how manieth": "zero-based index; one-based index",
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


# `preload/live`, `hooks/fork.cc`, `frame_walk.cc`. PyTorch has a folder torch, too; a name in capitals stands for any.
PATH = re.compile(r"(?<![\w./*{}<-])(?:[\w.-]+/)*[\w.-]+")
FIRST = {*FOLDERS, *(room for rooms in check_rooms.ROOMS.values() for room in rooms)} - {"torch"}


def commented(path, line):
    """What of a line is prose."""
    if path.suffix == ".md":
        return line
    comment = re.search(r"(?://|(?:^|\s)#\s)(.*)", line)
    return comment.group(1) if comment else ""


def named_files(path, text):
    """(line, name) of every name of a file or folder that would be one of ours."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in PATH.finditer(commented(path, line)):
            name = match.group().rstrip(".").removeprefix("../")
            first, ending = name.split("/")[0], name.rsplit(".", 1)[-1]
            folder = first in FOLDERS and (first != "include" or name.startswith("include/tensorscope/"))
            in_our_folders = "/" in name and (folder or first in FIRST and ending in ("cc", "h"))
            if (in_our_folders or "." in name[1:] and ending == "cc") and not re.search(r"NAME|[A-Z]\.|^[A-Z]\w*/", name):
                yield number, name


def without_its_file(everything):
    """Names of files that are not there."""
    there = {path.as_posix() for path, _ in everything} | {"tests/check_words.py"}
    there |= {path.relative_to(ROOT).as_posix() for folder in FOLDERS for ending in ("json", "mjs", "seed") for path in (ROOT / folder).rglob(f"*.{ending}")}
    there |= {parent.as_posix() for path in there for parent in pathlib.PurePosixPath(path).parents}
    ends = {"/".join(path.split("/")[begin:]) for path in there for begin in range(path.count("/") + 1)}
    for path, text in everything:
        if path.name != "CHANGELOG.md":
            for number, name in named_files(path, text):
                if name not in ends and not any(end.startswith(name) for end in ends if name.endswith("_")):
                    yield f"{path}:{number}: {name} is not there"


def main():
    assert list(unclear("x", "kept for want\n// of memory")), "a phrase over two lines is found"
    assert list(unclear("x", 'say("no want of memory")')) and not list(unclear("x", '{"reckoned":1}'))
    everything = list(texts())
    gone = [(pathlib.Path("docs/a.md"), "see `hooks/gone.cc`, tests/gone and live/tracker.h of torch/csrc/autograd/engine.h")]
    assert len(list(without_its_file(everything + gone))) - len(list(without_its_file(everything))) == 2
    wrong = [line for path, text in everything for line in unclear(path, text)] + undocumented()
    wrong += without_its_file(everything)
    print("\n".join(wrong) or "no unclear phrase")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
