# SPDX-License-Identifier: Apache-2.0
"""Builds the page of `tensorscope html` with Node and writes it as C++: build.py required|try|no FOLDER OUTPUT

FOLDER gets a copy of the sources and the npm packages that package-lock.json names. `try`: without Node, or where the
packages cannot be had, the page is empty and the program says why.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parent
OLDEST_NODE = 18


class NoPage(Exception):
    pass


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        raise NoPage(f"'{' '.join(command[:2])}' did not succeed when tensorscope was built")
    return done.stdout


def check_node():
    if not shutil.which("node") or not shutil.which("npm"):
        raise NoPage("Node and npm were not there when tensorscope was built")
    version = run(["node", "--version"], SOURCES)
    if int(re.match(r"v(\d+)", version).group(1)) < OLDEST_NODE:
        raise NoPage(f"Node {version.strip()} is too old to build it; {OLDEST_NODE} will do")


def install(folder):
    """The packages, where they are not there yet."""
    wanted = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    run(["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
    stamp.write_text(wanted)


def page(folder):
    check_node()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "src", ignore_errors=True)
    shutil.copytree(SOURCES / "src", folder / "src")
    for name in ("package.json", "package-lock.json", "tsconfig.json", "index.html", "style.css", "build.mjs"):
        shutil.copyfile(SOURCES / name, folder / name)
    install(folder)
    run(["node", "build.mjs", "page.html"], folder)
    return (folder / "page.html").read_bytes()


def as_cpp(data, why):
    numbers = ",".join(map(str, data + b"\0"))
    lines = re.sub(r"(.{100,}?,)", r"\1\n", numbers)
    return (
        '#include "html/web_page.h"\n\nnamespace tensorscope::html {\n\n'
        f"const char kWebPage[] = {{{lines}}};\nconst size_t kWebPageSize = {len(data)};\n"
        f'const char kWhyNoWebPage[] = "{why}";\n\n}}  // namespace tensorscope::html\n'
    )


def main():
    how, folder, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    data, why = b"", ""
    try:
        if how == "no":
            raise NoPage("it was built with -Dweb=disabled")
        data = page(folder)
    except NoPage as reason:
        why = f"this build has no web report: {reason}."
        print(f"{'error' if how == 'required' else 'warning'}: {why}", file=sys.stderr)
        if how == "required":
            return 1
    output.write_text(as_cpp(data, why))
    return 0


if __name__ == "__main__":
    sys.exit(main())
