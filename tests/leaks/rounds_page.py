"""The figures of the programs of rounds/: the tables of docs/leaks.md, and whether an answer is worse than these say."""

import re

import corpus
import corpus_page

PAGE = corpus.ROOT / "docs" / "leaks.md"
BEGIN, END = "<!-- rounds: begin -->", "<!-- rounds: end -->"
ALL_RIGHT = "FHLB"
QUIET, ALARM = "quiet", "alarm"
ROW = rf"^\| `(\w+)` \| (?:{'|'.join(corpus.NAMES_OF_ROUNDS)}) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|"


def cell(program, answer):
    """What is right of an answer of several dumps, and the findings beside the leak."""
    if not program.leaks:
        return ALARM if answer.status else QUIET
    return corpus_page.right(answer) + (f" +{answer.other}" if answer.other else "")


def cell_of_one(judged):
    if judged.program.leaks:
        return corpus_page.in_one(judged)
    count = len(judged.one.suspects)
    return ALARM if judged.one.status else f"{count} suspect{'s' * (count > 1)}" if count else QUIET


def cells(judged):
    return cell_of_one(judged), cell(judged.program, judged.two), cell(judged.program, judged.three)


def all_right(judged):
    """Suspects of one dump are no answer: they are not asked for here."""
    wanted = (ALL_RIGHT, ALL_RIGHT) if judged.program.leaks else (QUIET, QUIET)
    return cells(judged)[1:] == wanted and (judged.program.leaks or cell_of_one(judged) == QUIET)


def said(page):
    """What the page says of each program that is not right in everything: its cells."""
    return {name: tuple(rest) for name, *rest in re.findall(ROW, page[page.index(BEGIN):page.index(END)], re.MULTILINE)}


def parts(text):
    """Of a cell the letters that are right, and the number of findings beside the leak."""
    letters, _, beside = text.partition(" +")
    return set(letters) & set(ALL_RIGHT), int(beside or 0)


def worse(judged, listed):
    """Whether less is right than `listed` (said()) says; of a program that is not listed everything was."""
    program = judged.program
    if not program.leaks:
        before = listed.get(program.name, (QUIET,) * 3)
        return any(now == ALARM and then != ALARM for now, then in zip(cells(judged), before))
    before = listed.get(program.name, ("", ALL_RIGHT, ALL_RIGHT))
    for now, then in zip(cells(judged)[1:], before[1:]):
        (right, beside), (was_right, was_beside) = parts(now), parts(then)
        if not was_right <= right or beside > was_beside:
            return True
    return False


def rows(judged, dumps):
    for name in (*corpus.NAMES_OF_ROUNDS, "all"):
        leaking, healthy = corpus_page.counts([one for one in judged if name in (one.program.round, "all")])
        answers = [getattr(one, dumps) for one in leaking]
        right = [sum(getattr(answer, field) for answer in answers) for field in ("found", "holder", "line", "bytes")]
        whole = sum(corpus_page.right(answer) == ALL_RIGHT for answer in answers)
        alarms = sum(getattr(one, dumps).status != 0 for one in healthy)
        yield name, len(leaking), *right, whole, sum(answer.other for answer in answers), len(healthy), alarms


def what_is_wrong(judged):
    if judged.program.leaks:
        two, three = judged.two.note, judged.three.note
        return three if two == three else "; ".join([three] * bool(three) + [f"two dumps: {two}"] * bool(two))
    alarms = [getattr(judged, dumps) for dumps in corpus_page.alarmed(judged)]
    found = [finding["kind"] + " " + (finding["held_by"] or "") for answer in alarms for finding in answer.findings]
    found += [place["place"]["where"] for answer in alarms for place in answer.places]
    return "; ".join(dict.fromkeys(found or [suspect["held_by"] for suspect in judged.one.suspects]))


def plain(text):
    """Without what ends a cell of a table, and addresses, which differ in each run."""
    return re.sub(r"0x[0-9a-f]+", "0x...", text.replace("|", "/"))


def figures(judged):
    text = []
    for dumps in ("two", "three"):
        text += [f"| {dumps} dumps | leaking | found | holder | line | bytes a step | right in everything | findings beside | healthy | false alarms |",
                 "| --- |" + " --- |" * 9]
        text += [f"| {' | '.join(map(str, row))} |" for row in rows(judged, dumps)] + [""]
    text += ["| program | round | one dump | two dumps | three dumps | what is wrong |", "| --- | --- | --- | --- | --- | --- |"]
    for one in judged:
        if not all_right(one):
            wrong = plain(what_is_wrong(one).replace(f"{one.program.path.name}: ", ""))
            text.append(f"| `{one.program.name}` | {one.program.round} | {' | '.join(cells(one))} | {wrong} |")
    return "\n".join(text)


def write(path, judged):
    corpus_page.replace(path, BEGIN, END, figures(judged))
