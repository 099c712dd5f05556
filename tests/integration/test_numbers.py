# SPDX-License-Identifier: Apache-2.0
"""Numbers read alike wherever they are written: the page and the Python package are held to the examples that the command
line is held to (tests/unit/analyzer/text/units_test.cc)."""

import json
import shutil
import subprocess

import pytest

from harness import BUILD, ROOT

EXAMPLES = ROOT / "tests" / "support" / "number_examples.txt"

# Bundles format.ts for Node and answers one line of JSON for a list of [kind, what is given].
PAGE = """
import { build } from "esbuild";
const bundled = await build({ entryPoints: [process.argv[1]], bundle: true, write: false, format: "esm" });
const code = Buffer.from(bundled.outputFiles[0].text).toString("base64");
const page = await import("data:text/javascript;base64," + code);
const answers = {
  bytes: (given) => page.bytes(Number(given)),
  "signed bytes": (given) => page.signedBytes(Number(given)),
  count: (given) => page.count(Number(given)),
  "signed count": (given) => page.signedCount(Number(given)),
  percent: (given) => page.percent(...given.split(" ").map(Number)),
  duration: (given) => page.age(Number(given) / 1e9),
  size: (given) => { const size = page.parseSize(given); return Number.isNaN(size) ? "-" : String(size); },
};
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(([kind, given]) => answers[kind](given))));
"""


def examples():
    lines = EXAMPLES.read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


def test_the_page_writes_numbers_as_the_command_line_does():
    folder = BUILD / "analyzer" / "html" / "web_page.cc.p"
    if not shutil.which("node") or not (folder / "node_modules" / "esbuild").is_dir():
        pytest.skip("the page was not built")
    wanted = examples()
    asked = json.dumps([[kind, given] for kind, given, _ in wanted])
    done = subprocess.run(["node", "--input-type=module", "-e", PAGE, str(ROOT / "analyzer" / "web" / "src" / "format.ts"), asked], cwd=folder,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [(kind, given, text) for (kind, given, _), text in zip(wanted, json.loads(done.stdout))] == wanted


def test_the_package_writes_bytes_as_the_command_line_does(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "analyzer" / "python"))
    from tensorscope._answers import _bytes

    wanted = [(int(given), text) for kind, given, text in examples() if kind == "bytes"]
    assert [(given, _bytes(given)) for given, _ in wanted] == wanted
    assert _bytes(-1524713390) == "-1.42 GiB"
    assert _bytes(None) == ""
