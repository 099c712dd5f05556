# SPDX-License-Identifier: Apache-2.0
"""Writes build/lint/compile_commands.json: build's commands without what only GCC understands, for clang-tidy.

    scripts/lint_files/clang_commands.py BUILD FOLDER [FILE ...]

Prints the units to look at, one a line: all of the two programs, or those that one of these files is part of. Of a header these are the
units of its folder.
"""

import json
import pathlib
import re
import shlex
import sys

GCC_ALONE = {"-fno-gnu-unique", "-flto=auto", "-flto", "-ffat-lto-objects"}
ROOMS = ("preload/", "analyzer/")


def clang_command(command):
    """The arguments of a command of GCC's, without ccache and without the options that clang does not know."""
    words = [word for word in shlex.split(command) if word not in GCC_ALONE]
    return words[1:] if words[0].endswith("ccache") else words


def parts(entry):
    """The sources that a unit includes, relative to the checkout: meson puts a room's files together (unity)."""
    unit = pathlib.Path(entry["directory"], entry["file"])
    if "-unity" not in unit.name:
        return [unit.resolve()]
    return [pathlib.Path(name).resolve() for name in re.findall(r"#include\s*[<\"](.*)[>\"]", unit.read_text())]


def main():
    build, folder, *files = sys.argv[1:]
    entries = json.loads(pathlib.Path(build, "compile_commands.json").read_text())
    units = [entry for entry in entries if entry["output"].startswith(ROOMS) and not entry["file"].endswith(".S")]
    for entry in units:
        entry["arguments"] = [*clang_command(entry.pop("command")), "-Wthread-safety"]
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(units, indent=1))
    wanted = {pathlib.Path(file).resolve() for file in files}
    folders = {file.parent for file in wanted if file.suffix == ".h"}
    for entry in units:
        sources = parts(entry)
        if not files or wanted.intersection(sources) or folders.intersection(source.parent for source in sources):
            print(pathlib.Path(entry["directory"], entry["file"]))


main()
