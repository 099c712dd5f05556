"""The figures of the corpus as text: a line a program, a summary, and the tables of docs/leaks.md."""

import re

RECALL = 0.95
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def mark(yes):
    return "yes" if yes else "no"


def right(answer):
    """What of found, holder, line and bytes is right, in letters."""
    return "".join(letter if yes else "-" for letter, yes in zip("FHLB", (answer.found, answer.holder, answer.line, answer.bytes)))


def alarmed(judged):
    return [name for name in ("one", "two", "three") if getattr(judged, name).status != 0]


def line(judged):
    if not judged.program.leaks:
        alarms = alarmed(judged)
        said = [finding["kind"] + " " + finding["held_by"] for name in alarms for finding in getattr(judged, name).findings]
        said += [place["place"]["where"] for name in alarms for place in getattr(judged, name).places]
        suspects = [suspect["held_by"] for suspect in judged.one.suspects]
        return f"{judged.program.name:28} {'ALARM ' + ', '.join(alarms) + ': ' + '; '.join(said) if alarms else 'quiet'}" + \
            (f"  suspects: {', '.join(suspects)}" if suspects else "")
    notes = dict.fromkeys(note for note in (judged.three.note, judged.two.note) if note)
    first = judged.one.suspects[0]["held_by"] if misled(judged) else ""
    return f"{judged.program.name:28} two {right(judged.two)} three {right(judged.three)} one {in_one(judged):7}  {' | '.join(notes)}" + \
        (f"  first suspect: {first}" if first else "")


def in_one(judged):
    """What one dump says: a finding, or the leak's number among the suspects."""
    return "finding" if judged.one.found else str(judged.rank or "-")


def counts(judged):
    leaking = [one for one in judged if one.program.leaks]
    return leaking, [one for one in judged if not one.program.leaks]


def share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def rows(judged):
    """(what, with one dump, with two, with three)"""
    leaking, healthy = counts(judged)
    table = []
    for what, field in (("found", "found"), ("holder right", "holder"), ("line right", "line"), ("bytes a step right", "bytes")):
        cells = [share(sum(getattr(getattr(one, dumps), field) for one in leaking), len(leaking)) for dumps in ("two", "three")]
        table.append((what, *cells))
    table.append(("findings beside the leak", *(str(sum(getattr(one, dumps).other for one in leaking)) for dumps in ("two", "three"))))
    table.append(("false alarms", *(share(sum(getattr(one, dumps).status != 0 for one in healthy), len(healthy)) for dumps in ("two", "three"))))
    return table


def misled(judged):
    """Whether one would first look at something else than the leak."""
    return bool(judged.one.suspects) and not judged.one.found and judged.rank != 1


def one_dump_rows(judged):
    leaking, healthy = counts(judged)
    certain = sum(one.one.found for one in leaking)
    ranks = [one.rank for one in leaking if not one.one.found]
    return [("a finding says it", share(certain, len(leaking))),
            ("a finding says it, or it is the first suspect", share(certain + ranks.count(1), len(leaking))),
            ("... or among the first three", share(certain + sum(1 <= rank <= 3 for rank in ranks), len(leaking))),
            ("healthy programs with a finding", share(sum(one.one.status != 0 for one in healthy), len(healthy))),
            ("leaking programs whose first suspect is another one", share(sum(misled(one) for one in leaking), len(leaking))),
            ("healthy programs with a suspect", share(sum(bool(one.one.suspects) for one in healthy), len(healthy)))]


def summary(judged):
    lines = [f"{'':28} {'two dumps':20} three dumps"]
    lines += [f"{what:28} {two:20} {three}" for what, two, three in rows(judged)]
    lines += ["", "one dump"] + [f"{what:36} {value}" for what, value in one_dump_rows(judged)]
    return "\n".join(lines)


def good(judged):
    leaking, healthy = counts(judged)
    recall = all(sum(getattr(one, dumps).found for one in leaking) >= RECALL * len(leaking) for dumps in ("two", "three"))
    return recall and not any(alarmed(one) for one in healthy)


def figures(judged):
    leaking, healthy = counts(judged)
    text = ["| | two dumps | three dumps |", "| --- | --- | --- |"]
    text += [f"| {what} | {two} | {three} |" for what, two, three in rows(judged)]
    text += ["", "| one dump | |", "| --- | --- |"] + [f"| {what} | {value} |" for what, value in one_dump_rows(judged)]
    text += ["", "| program | after | two dumps | three dumps | one dump |", "| --- | --- | --- | --- | --- |"]
    for one in leaking:
        reports = ", ".join(report.split(": ")[0] for report in one.program.reports)
        text.append(f"| `{one.program.name}` | {reports} | {right(one.two)} | {right(one.three)} | {in_one(one)} |")
    text += ["", "| healthy program | what | alarms | suspects |", "| --- | --- | --- | --- |"]
    for one in healthy:
        text.append(f"| `{one.program.name}` | {one.program.about} | {', '.join(alarmed(one)) or 'none'} | {len(one.one.suspects) or 'none'} |")
    return "\n".join(text)


def replace(path, begin, end, text):
    """Puts a text between two comments of a page."""
    page = path.read_text()
    assert page.count(begin) == page.count(end) == 1, path
    path.write_text(re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n\n{text}\n\n{end}", page, flags=re.DOTALL))


def write(path, judged):
    replace(path, BEGIN, END, figures(judged))
