"""Python's heap as the interpreter itself prints it; imported by other programs."""
import os
import re
import sys
import tempfile


def own_words():
    """Bytes of arenas and of objects, as sys._debugmallocstats() prints them to the descriptor 2; None where it does not."""
    with tempfile.TemporaryFile() as out:
        saved = os.dup(2)
        os.dup2(out.fileno(), 2)
        sys._debugmallocstats()
        os.dup2(saved, 2)
        os.close(saved)
        out.seek(0)
        text = out.read().decode()
    found = re.search(r"arenas \* \d+ bytes/arena +=\s+([\d,]+)\n(?:.*\n)*?# bytes in allocated blocks +=\s+([\d,]+)", text)
    return [int(number.replace(",", "")) for number in found.groups()] if found else None
