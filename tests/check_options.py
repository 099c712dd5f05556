# SPDX-License-Identifier: Apache-2.0
"""The options' tables of docs/cli and docs/options.md are the program's: check_options.py [--write] PROGRAM

A page has a table `| option | ... | meaning |` for each of its verbs, with one row for each option in the order of `tensorscope VERB --help`,
without those that verbs share, which are in docs/cli/README.md. --write makes these rows: what a page says of an option stays, an option
that is new gets the program's words. docs/options.md names the variables of preload/support/options.def with their defaults.
Prints what differs; exit status 1 then.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/cli"
# Pages whose verbs are not their name.
VERBS_OF = {"README": [], "completion": [], "stop": ["stop", "start"]}
# Headings of --help under which options stand that many verbs have: where they are described, and the row of a page that stands for them.
SHARED = {
    "Filters": ("README.md#filters", "[filters](README.md#filters)", "only what matches"),
    "Symbols": ("README.md#native-names", "[symbols](README.md#native-names)", "where libraries, sources and names are found"),
}
HEAD = re.compile(r"^\| option \|.*\n\| --- \|.*\n((?:\|.*\n)*)", re.MULTILINE)
OPTION = re.compile(r"--[a-z][a-z-]*")
# Options of other programs that pages name.
OF_OTHERS = set("""--epochs --nproc-per-node --nnodes --preload --unload --help""".split())


def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "120"}).stdout


def options_of(help_text):
    """(heading, names, value, meaning) of each option."""
    heading, found = "", []
    for line in help_text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
        elif (row := re.match(r"  (-\S+)((?: \S+)*?)(?:  +(.*))?$", line)):
            value = re.sub(r"=\S+$", "", row[2].replace("REQUIRED", "").strip())
            found.append([heading, row[1].split(","), value, row[3] or ""])
        elif found and line.startswith(" " * 34):
            found[-1][3] = (found[-1][3] + " " + line.strip()).strip()
    return [option for option in found if "--help" not in option[1]]


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])]


def table_of(program, verb, old):
    """The rows of a verb's table; `old` are the page's lines, whose words stay."""
    columns = len(cells(old[0])) if old else 2
    said = {}
    for row in map(cells, old):
        if names := OPTION.findall(row[0]):
            said |= {name: row[1:] for name in names if len(names) == 1}
        elif "-o" in row[0]:
            said["-o"] = row[1:]
    rows, shared = [], []
    for heading, names, value, meaning in options_of(help_of(program, verb)):
        if heading in SHARED:
            shared += [heading] if heading not in shared else []
            continue
        first = ", ".join(f"`{name}{' ' + value if value and name == names[-1] else ''}`" for name in names)
        words = next((said[name] for name in names if name in said), [""] * (columns - 2) + [re.sub(r" \(docs/[^)]*\)", "", meaning).replace("|", "\\|")])
        rows.append(f"| {first} | {' | '.join(words)} |\n")
    kept = {row for row in old if "(README.md#" in row}
    for heading in shared:
        anchor, first, meaning = SHARED[heading]
        rows.append(next((row for row in kept if anchor in row), f"| {first} |{' |' * (columns - 2)} {meaning} |\n"))
    return rows


def page_from(program, path):
    text = path.read_text()
    verbs = VERBS_OF.get(path.stem, [path.stem])
    tables = list(HEAD.finditer(text))
    for verb, table in reversed(list(zip(verbs, tables))):
        rows = table_of(program, verb, table[1].splitlines(keepends=True))
        text = text[: table.start(1)] + "".join(rows) + text[table.end(1) :]
    for verb in verbs[len(tables) :]:
        rows = table_of(program, verb, [])
        if rows:
            title = "## Options" if len(verbs) == 1 else f"## Options of {verb}"
            text = text.rstrip("\n") + f"\n\n{title}\n\n| option | meaning |\n| --- | --- |\n" + "".join(rows)
    return text


def unknown_options(program):
    """What a page of docs/cli calls an option and no verb has."""
    verbs = re.findall(r"^  ([a-z]+)  ", help_of(program), re.MULTILINE)
    known = set(OPTION.findall(help_of(program))) | OF_OTHERS
    for verb in verbs:
        known |= {name for _, names, _, _ in options_of(help_of(program, verb)) for name in names}
    for path in sorted(PAGES.glob("*.md")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for code in re.findall(r"`[^`]*`", line):
                yield from (f"docs/cli/{path.name}:{number}: no verb has {name}" for name in OPTION.findall(code) if name not in known)


def shared_options(program):
    page = (PAGES / "README.md").read_text()
    named = set(OPTION.findall(page))
    for option in [*options_of(help_of(program)), *options_of(help_of(program, "report"))]:
        if option[0] in SHARED or option in options_of(help_of(program)):
            yield from (f"docs/cli/README.md: {name} is missing" for name in option[1] if name.startswith("--") and name not in named)


def default_text(kind, value):
    """A default of options.def as the page writes it."""
    value = value.strip()
    if number := re.fullmatch(r"uint64_t\{(\d+)\} << 20", value):
        return f"{number[1]}M"
    if kind in ("ShareOrSize", "RecordWindow"):
        return "off"
    if kind == "ShareOfLimit":
        return f"{int(re.search(r'[0-9]+', value)[0]) // 100}%"
    words = {"true": "on", "false": "off", "nullptr": "", "NativeStacks{}": "on", "ExitDump::automatic": "auto"}
    return words.get(value, value.rsplit("::", 1)[-1])


def variables():
    """What differs between docs/options.md and preload/support/options.def."""
    known = {}
    declared = re.sub(r"//.*", "", (ROOT / "preload/support/options.def").read_text())
    for name, kind, value in re.findall(r'TENSORSCOPE_OPTION\(\w+, "(\w+)", ([^,]+), (.*?),\s*"', declared, re.DOTALL):
        known[name] = default_text(kind, value)
    page = {row[0].strip("`"): row[1] for row in map(cells, re.findall(r"^\| `TENSORSCOPE.*$", (ROOT / "docs/options.md").read_text(), re.MULTILINE))}
    for name, default in known.items():
        if name in page and page[name] != default and (name, page[name]) not in OTHERWISE:
            yield f"docs/options.md: the default of {name} is {default or 'empty'}, not {page[name] or 'empty'}"
    yield from (f"docs/options.md: {name} is missing" for name in known if name not in page and name not in NO_ROW)
    yield from (f"docs/options.md: there is no {name}" for name in page if name not in known)


# Defaults that the page writes in other words than the code.
OTHERWISE = {("TENSORSCOPE_SIGNAL", "SIGUSR1"), ("TENSORSCOPE_NAMES_MEMORY", ""), ("TENSORSCOPE_DUMP_AT_STEP", "off")}
# The help is no row: the page begins with it.
NO_ROW = {"TENSORSCOPE_HELP"}


def main():
    program = sys.argv[-1]
    wrong = []
    for path in sorted(PAGES.glob("*.md")):
        page = page_from(program, path)
        if page == path.read_text():
            continue
        if "--write" in sys.argv:
            path.write_text(page)
        else:
            wrong.append(f"docs/cli/{path.name}: its options are not those of --help: tests/check_options.py --write PROGRAM")
    wrong += [*unknown_options(program), *shared_options(program), *variables()]
    print("\n".join(wrong) or "the pages have the program's options")
    return bool(wrong)


sys.exit(main())
