# SPDX-License-Identifier: Apache-2.0
"""Every source file says its licence in its first line, or in the second after "#!": `SPDX-License-Identifier: Apache-2.0`.
Programs that tests profile, whose lines reports name, have it from REUSE.toml instead.

Prints each file that does not; exit status 1 if there is one. `--add` writes the line into them.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINE = "SPDX-License-Identifier: Apache-2.0"
COMMENT = {".h": "//", ".cc": "//", ".c": "//", ".fbs": "//", ".ts": "//", ".mjs": "//", ".css": "/*", ".py": "#", ".sh": "#", ".build": "#"}


def comment_of(path, first):
    """How a comment begins in this file; None where it is no source file."""
    if path.suffix:
        return COMMENT.get(path.suffix)
    return "#" if first.startswith("#!") else None


def annotated_folders():
    """Folders whose licence REUSE.toml says, each with a "/" at its end."""
    [paths] = re.findall(r"^path = \[(.*)\]$", (ROOT / "REUSE.toml").read_text(), re.MULTILINE)
    return tuple(path.removesuffix("**") for path in re.findall(r'"([^"]+)"', paths))


def wanted_line(comment):
    return f"{comment} {LINE}{' */' if comment == '/*' else ''}"


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    missing, annotated = [], annotated_folders()
    for name in names:
        path = ROOT / name
        if name.startswith(annotated) or path.is_symlink() or not path.is_file() or not (path.suffix in COMMENT or path.suffix == ""):
            continue
        try:
            lines = path.read_text().splitlines(keepends=True)
        except UnicodeDecodeError:
            continue
        comment = comment_of(path, lines[0] if lines else "")
        if comment is None:
            continue
        at = int(bool(lines) and lines[0].startswith("#!"))
        if len(lines) > at and lines[at].rstrip() == wanted_line(comment):
            continue
        missing.append(name)
        if "--add" in sys.argv[1:]:
            path.write_text("".join(lines[:at] + [wanted_line(comment) + "\n"] + lines[at:]))
    print("\n".join(f"{name}: no line '{LINE}'" for name in missing) or "every source file says its licence")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
