# SPDX-License-Identifier: Apache-2.0
"""What code objects do not say themselves.

runs() are the instructions by lines: (offset, line, last line of what begins there, end of the loop, names that are stored). Before
CPython 3.11 no code object knows its qualified name.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what code_plan.cc gives
    def file_bytes(path): ...


def runs(code):
    import dis
    found, line = [], None
    for each in dis.get_instructions(code):
        where = getattr(each, 'positions', None)
        last = None
        if where is not None:
            now, last = where.lineno, where.end_lineno
        else:
            now = each.starts_line
        now = now or line
        if now is None:
            continue
        if now != line:
            found.append([each.offset, now, now, 0, []])
            line = now
        run = found[-1]
        run[2] = max(run[2], last or now)
        if each.opname == 'FOR_ITER':
            run[3] = each.argval
        if each.opname == 'STORE_FAST_LOAD_FAST':
            run[4].append(each.argval[0])
        elif each.opname.startswith('STORE_FAST') and isinstance(each.argval, tuple):
            run[4].extend(each.argval)
        elif each.opname.startswith(('STORE_FAST', 'STORE_DEREF', 'STORE_NAME', 'STORE_GLOBAL')):
            run[4].append(each.argval)
    returns = tuple(each.offset for each in dis.get_instructions(code) if each.opname == 'RETURN_VALUE')
    return tuple((*run[:4], tuple(run[4])) for run in found), returns


def qualified(code):
    import ast
    text = file_bytes(code.co_filename)
    if isinstance(text, int):
        return code.co_name
    tree = ast.parse(text)
    def search(node, names):
        for child in ast.iter_child_nodes(node):
            own = names
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                own = names + [child.name]
                first = min([child.lineno] + [each.lineno for each in child.decorator_list])
                if child.name == code.co_name and first == code.co_firstlineno:
                    return own
            found = search(child, own)
            if found:
                return found
    return '.'.join(search(tree, []) or [code.co_name])


def functions(code, around=''):
    found = []
    for each in code.co_consts:
        if isinstance(each, type(code)) and not each.co_name.startswith('<'):
            name = getattr(each, 'co_qualname', around + each.co_name).replace('.<locals>', '')
            found += [name, *functions(each, name + '.')]
    return found
