"""Runs the programs of this folder under the preload and asks `tensorscope leaks` about their dumps.

    .venv/bin/python tests/leaks/check_corpus.py [NAME...] [--build build] [--keep FOLDER] [--write docs/leaks.md]
    .venv/bin/python tests/leaks/check_corpus.py --rounds [--python PYTHON] [NAME...] [...]

Prints what was found with two dumps and with three, and the suspects of one. Exit status 1: recall below 95 %, or a
false alarm. --keep leaves the dumps of each program in FOLDER/NAME, and takes those that are there already.
--rounds asks about the programs of blind rounds, with a Python of their own (rounds_python.py) or the one that --python
names. Exit status 1: an answer is worse than docs/leaks.md says.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import corpus
import corpus_answers
import corpus_page
import rounds_page
import rounds_python


def answers(program, options):
    folder = pathlib.Path(options.keep, program.name)
    folder.mkdir(parents=True, exist_ok=True)
    dumps = corpus.dumps_in(folder)
    if len(dumps) != len(corpus.STEPS):
        for dump in folder.glob("*.tscope"):
            dump.unlink()
        dumps = corpus.run(program, options.library, folder, options.python)
    return corpus_answers.judge(program, dumps, options.cli)


def judge(chosen, options):
    judged, failed = [], []
    for program in chosen:
        try:
            judged.append(answers(program, options))
            print(corpus_page.line(judged[-1]), flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed.append(program.name)
            print(f"{program.name:28} FAILED {error}", flush=True)
    print(corpus_page.summary(judged))
    return judged, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs; without: all")
    parser.add_argument("--build", type=pathlib.Path, default=corpus.ROOT / "build")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the dumps")
    parser.add_argument("--write", type=pathlib.Path, help="page whose figures are replaced")
    parser.add_argument("--rounds", action="store_true", help="the programs of blind rounds")
    parser.add_argument("--python", help="one with torch, and the libraries that the programs import")
    options = parser.parse_args()
    # Others than the build's own, as for the tests of whole programs.
    options.library = os.environ.get("TENSORSCOPE_TEST_LIBRARY") or options.build.resolve() / "preload" / "libtensorscope.so"
    options.cli = os.environ.get("TENSORSCOPE_TEST_PROGRAM") or options.build.resolve() / "analyzer" / "tensorscope"
    options.python = options.python or (rounds_python.installed() if options.rounds else sys.executable)
    programs = corpus.programs_of_rounds() if options.rounds else corpus.programs()
    chosen = [program for program in programs if not options.names or program.name in options.names]
    if options.write and options.names:
        parser.error("--write needs all programs")
    before = rounds_page.said(rounds_page.PAGE.read_text()) if options.rounds else {}
    with tempfile.TemporaryDirectory() as folder:
        options.keep = options.keep or pathlib.Path(folder)
        judged, failed = judge(chosen, options)
    if failed:
        return 1
    if options.write:
        (rounds_page if options.rounds else corpus_page).write(options.write, judged)
    if not options.rounds:
        return 0 if corpus_page.good(judged) else 1
    worse = [one.program.name for one in judged if rounds_page.worse(one, before)]
    if worse:
        print("worse than docs/leaks.md says:", ", ".join(worse))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
