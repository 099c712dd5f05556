"""Runs the programs of this folder under the preload and asks `tensorscope leaks` about their dumps.

    .venv/bin/python tests/leaks/check_corpus.py [NAME...] [--build build] [--keep FOLDER] [--write docs/leaks.md]

Prints what was found with two dumps and with three, and the suspects of one. Exit status 1: recall below 95 %, or a
false alarm. --keep leaves the dumps of each program in FOLDER/NAME, and takes those that are there already.
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


def answers(program, options):
    folder = pathlib.Path(options.keep, program.name)
    folder.mkdir(parents=True, exist_ok=True)
    dumps = corpus.dumps_in(folder)
    if len(dumps) != len(corpus.STEPS):
        for dump in dumps:
            dump.unlink()
        dumps = corpus.run(program, options.library, folder)
    return corpus_answers.judge(program, dumps, options.cli)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs; without: all")
    parser.add_argument("--build", type=pathlib.Path, default=corpus.ROOT / "build")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the dumps")
    parser.add_argument("--write", type=pathlib.Path, help="page whose figures are replaced")
    options = parser.parse_args()
    # Others than the build's own, as for the tests of whole programs.
    options.library = os.environ.get("TENSORSCOPE_TEST_LIBRARY") or options.build.resolve() / "preload" / "libtensorscope.so"
    options.cli = os.environ.get("TENSORSCOPE_TEST_PROGRAM") or options.build.resolve() / "analyzer" / "tensorscope"
    chosen = [program for program in corpus.programs() if not options.names or program.name in options.names]
    if options.write and options.names:
        parser.error("--write needs all programs")
    with tempfile.TemporaryDirectory() as folder:
        options.keep = options.keep or pathlib.Path(folder)
        judged, failed = [], []
        for program in chosen:
            try:
                judged.append(answers(program, options))
                print(corpus_page.line(judged[-1]), flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed.append(program.name)
                print(f"{program.name:28} FAILED {error}", flush=True)
    print(corpus_page.summary(judged))
    if failed:
        return 1
    if options.write:
        corpus_page.write(options.write, judged)
    return 0 if corpus_page.good(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
