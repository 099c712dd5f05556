"""Judges the answers of `tensorscope leaks` by the header of a program."""

import dataclasses
import json
import subprocess

import corpus

PART = 0.02  # of the bytes a step, where a header gives one number: aliases of no element, rounding of the intervals


@dataclasses.dataclass
class Answer:
    """What was said with some of a program's dumps."""
    status: int
    findings: list
    places: list        # allocation sites that count as leaks and belong to no finding
    suspects: list
    found: bool = False   # a finding of a right kind, about the right thing
    holder: bool = False
    line: bool = False
    bytes: bool = False
    other: int = 0        # findings beside it
    note: str = ""


@dataclasses.dataclass
class Judged:
    program: corpus.Program
    one: Answer
    two: Answer
    three: Answer
    rank: int = 0         # of the leak among the suspects of one dump; 0: not among them


def ask(cli, dumps):
    done = subprocess.run([str(cli), "leaks", *map(str, dumps), "--json"], capture_output=True, text=True, timeout=corpus.TIMEOUT)
    assert done.returncode in (0, 1), done.stderr
    said = json.loads(done.stdout)
    # Holders that the search for names did not get to are no fault of the answer.
    assert said["answer"]["holders_known"], f"{dumps[-1]}: the names of its tensors are incomplete"
    places = [place for place in said["places"] if place["leak"] and place["finding"] is None]
    return Answer(done.returncode, said["findings"], places, said.get("suspects", []))


def same_file(program, place):
    return place is not None and place["file"] is not None and place["file"].endswith(f"{program.path.parent.name}/{program.path.name}")


def right_line(program, finding):
    """Whether most of the memory was allocated at a line of the header; where all is at one line, that is it."""
    place = finding["memory"][0]["place"] if finding["memory"] else finding["made_at"]
    if not program.lines:  # memory that no tensor has is not followed to its line
        return place is None
    return same_file(program, place) and place["line"] in program.lines


def bytes_a_step(finding, steps):
    """Of child processes two dumps are read: they wrote the first one with the second of their parent."""
    sizes = (finding["growth"] or {}).get("bytes") or [0]
    return (sizes[-1] - sizes[0]) / (corpus.STEPS[2] - corpus.STEPS[1] if finding.get("processes") else steps)


def right_bytes(program, findings, steps):
    """Two lists of one object are two findings about one leak: together they have its bytes."""
    each = sum(bytes_a_step(finding, steps) for finding in findings)
    room = PART * program.most if program.least == program.most else 0
    return program.least - room <= each <= program.most + room, each


def as_finding(place):
    """An allocation site that grows and says who holds its one tensor, as a finding is said."""
    return {"kind": "place", "held_by": place["held_by"], "made_at": place["place"], "memory": [], "growth": place["growth"]}


def judge_answer(program, answer, steps):
    """`steps`: from the first dump to the last; 0: there is one dump."""
    kinds = [finding for finding in answer.findings if finding["kind"] in program.kinds]
    right = next((finding for finding in kinds if program.held_as_said(finding)), None) or (kinds[0] if kinds else None)
    if right is None and "place" in program.kinds:
        # Each of an object's tensors may be replaced by a larger one at a line of its own.
        kinds = [as_finding(place) for place in answer.places if program.held_as_said(place)]
        answer.places = [place for place in answer.places if not program.held_as_said(place)]
        answer.findings += kinds
        right = kinds[0] if kinds else None
    if right is None:
        said = [finding["kind"] for finding in answer.findings] + ["allocation site only"] * bool(answer.places)
        answer.note = f"said: {', '.join(said)}" if said else "nothing said"
        return answer
    answer.found = answer.status == 1
    answer.holder = program.held_as_said(right)
    same = [finding for finding in kinds if answer.holder and program.held_as_said(finding)] or [right]
    answer.line = any(right_line(program, finding) for finding in same)
    answer.other = len(answer.findings) - len(same) + len(answer.places)
    notes = [] if answer.holder else [f"holder {right['held_by']}"]
    if not answer.line:
        place = right["memory"][0]["place"] if right["memory"] else right["made_at"]
        notes.append(f"line {place['where']}" if place else "no line")
    if steps:
        answer.bytes, each = right_bytes(program, same, steps)
        if not answer.bytes:
            notes.append(f"{each:.0f} bytes a step")
    if answer.other:
        others = [f"{finding['kind']} {finding['held_by']}" for finding in answer.findings if finding not in same]
        notes.append("beside it: " + ", ".join(others + [place["place"]["where"] for place in answer.places]))
    answer.note = "; ".join(notes)
    return answer


def lost_with_more_dumps(cli, dumps):
    """Findings of two of the dumps that all of them no longer give. What two iterators of one tee hold has the name of one of them."""
    def findings(some):
        return {(finding["kind"], (finding["made_at"] or {}).get("where")) for finding in ask(cli, some).findings}
    return (findings(dumps[:2]) | findings(dumps[1:]) | findings(dumps[::2])) - findings(dumps)


def is_leak(program, suspect):
    return program.held_as_said(suspect) or same_file(program, suspect["made_at"]) and suspect["made_at"]["line"] in program.lines


def judge(program, dumps, cli):
    said = [ask(cli, some) for some in (dumps[2:], dumps[1:], dumps)]
    if program.leaks:
        spans = (0, corpus.STEPS[2] - corpus.STEPS[1], corpus.STEPS[2] - corpus.STEPS[0])
        said = [judge_answer(program, answer, steps) for answer, steps in zip(said, spans)]
    judged = Judged(program, *said)
    if program.leaks:
        ranks = [rank for rank, suspect in enumerate(judged.one.suspects, 1) if is_leak(program, suspect)]
        judged.rank = ranks[0] if ranks else 0
    return judged
