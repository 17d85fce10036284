# SPDX-License-Identifier: MIT
"""Making a failing kernel smaller: `smaller(kernel)` yields ways to take something out of it."""

import copy

from kernels import Expr, walk


def bodies(kernel):
    return [kernel.statements] + [f.statements for f in kernel.functions]


def blocks(kernel):
    """Every list of statements, the outer ones first."""
    found, todo = [], bodies(kernel)
    while todo:
        block = todo.pop(0)
        found.append(block)
        for s in block:
            todo += s.blocks
    return found


def expressions(kernel):
    """(list, index) of every expression, those nearest to a statement first."""
    found = []
    for block in blocks(kernel):
        for s in block:
            found += [(s.exprs, i) for i in range(len(s.exprs))]
    for f in kernel.functions:
        found += [(f.arguments, i) for i in range(len(f.arguments))]
        found += [(f.__dict__, "value")]
    at = 0
    while at < len(found):
        holder, index = found[at]
        found += [(holder[index].kids, i) for i in range(len(holder[index].kids))]
        at += 1
    return found


def used_names(kernel):
    """Variables (v0), uniforms (s0), arrays (a0) and functions (F0) that something still mentions."""
    names = set()
    for body in bodies(kernel):
        for s in walk(body):
            names.add(s.data.get("to"))
            if "array" in s.data:
                names.add(f"a{s.data['array']}")
    for holder, index in expressions(kernel):
        e = holder[index]
        if e.op in ("var", "call"):
            names.add(e.data)
        elif e.op == "element":
            names.add(f"a{e.data}")
        elif e.op == "pointer":
            names.update(e.data)
    return names


def without_unused(kernel):
    """Drops declarations that nothing needs; the others keep their names."""
    names = used_names(kernel)
    kernel.variables = [t if f"v{i}" in names else None for i, t in enumerate(kernel.variables)]
    kernel.uniforms = [t if f"s{i}" in names else None for i, t in enumerate(kernel.uniforms)]
    kernel.arrays = [a if f"a{i}" in names else None for i, a in enumerate(kernel.arrays)]
    kernel.functions = [f for f in kernel.functions if f.name in names]


def has_unused(kernel):
    other = copy.deepcopy(kernel)
    without_unused(other)
    return [len(list(filter(None, x))) for x in (other.variables, other.uniforms, other.arrays, other.functions)] != \
        [len(list(filter(None, x))) for x in (kernel.variables, kernel.uniforms, kernel.arrays, kernel.functions)]


def smaller(kernel):
    """Yields functions that each make a kernel that lacks one thing; the boldest cuts first."""

    def changed(change):
        def make_it():
            other = copy.deepcopy(kernel)
            change(other)
            return other
        return make_it

    yield changed(without_unused)
    # Runs of statements, long ones first, then each statement's inside in its place.
    for number, block in enumerate(blocks(kernel)):
        length = len(block)
        while length >= 1:
            for start in range(0, len(block), length):
                def cut(k, number=number, start=start, length=length):
                    del blocks(k)[number][start:start + length]
                yield changed(cut)
            length //= 2
    for number, block in enumerate(blocks(kernel)):
        for index, s in enumerate(block):
            for inner in range(len(s.blocks)):
                def open_up(k, number=number, index=index, inner=inner):
                    target = blocks(k)[number]
                    target[index:index + 1] = target[index].blocks[inner]
                yield changed(open_up)
            if s.kind == "if" and len(s.blocks) == 2:
                def no_else(k, number=number, index=index):
                    del blocks(k)[number][index].blocks[1]
                yield changed(no_else)
    for index, f in enumerate(kernel.functions):
        if f.recursive:
            yield changed(lambda k, index=index: setattr(k.functions[index], "recursive", False))
    if kernel.groups > 1:
        yield changed(lambda k: setattr(k, "groups", 1))
    if kernel.shape != (64, 1, 1):
        yield changed(lambda k: setattr(k, "shape", (64, 1, 1)))
    for number, (holder, index) in enumerate(expressions(kernel)):
        e = holder[index]
        if e.op == "const":
            continue
        for way, kid in enumerate(e.kids):
            if kid.type == e.type:
                def lift(k, number=number, way=way):
                    h, i = expressions(k)[number]
                    h[i] = h[i].kids[way]
                yield changed(lift)

        def settle(k, number=number):
            h, i = expressions(k)[number]
            h[i] = Expr("const", h[i].type, data="true" if h[i].type == "bool" else f"{h[i].type}(1)")
        yield changed(settle)
