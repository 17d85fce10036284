# SPDX-License-Identifier: MIT
"""HIP source of random kernels: `source([kernel, ...])`, a file for both compilers (see harness.h)."""

from kernels import MEMORY, OUTPUTS, SIZE, walk


class Renderer:
    def __init__(self, kernel, name):
        self.kernel, self.name = kernel, name
        self.lines, self.counters, self.place, self.indent = [], set(), 0, 1
        self.in_function = False

    def line(self, text):
        self.lines.append("  " * self.indent + text)

    def id(self):
        self.place += 1
        return self.place

    def expr(self, e):
        kids = [self.expr(k) for k in e.kids]
        if e.op == "const":
            return e.data
        if e.op == "var":
            return f"{e.type}({e.data})"
        if e.op == "counter":
            return f"{e.type}({e.data})" if e.data in self.counters else f"{e.type}(0)"
        if e.op == "number":
            return f"Number<{e.type}>(args, {e.data})"
        if e.op == "input":
            return f"Input<{e.type}>(args, all * {e.data[0]} + {e.data[1]})"
        if e.op == "mine":
            return f"Load<{e.type}>(mine + {e.data})"
        if e.op == "keep":
            return f"Keep<{e.data}>(kept, {kids[0]})"
        if e.op == "compare" or e.op == "logic":
            return f"({kids[0]} {e.data} {kids[1]})"
        if e.op == "element":
            return f"a{e.data}[{kids[0]} & {self.kernel.arrays[e.data][1] - 1}]"
        if e.op == "call":
            return f"{e.data}_{self.name}({', '.join(kids + ['2'])})"
        if e.op == "pointer":
            types = [k.type for k in e.kids[1:]] + ["u32"]
            names = ", ".join(f"{name}_{self.name}" for name in e.data)
            return (f"Choose<{e.type} (*)({', '.join(types)})>({kids[0]}, {names})({', '.join(kids[1:] + ['2'])})")
        if isinstance(e.data, tuple) and e.data[0] == "load":
            return f"{e.op}(InputAt(args, {kids[0]}, {e.data[1]}))"
        return f"{e.op}({', '.join(kids)})"

    def block(self, statements):
        self.indent += 1
        for statement in statements:
            self.statement(statement)
        self.indent -= 1

    def keep(self, place, text):
        self.line(f"Keep<{place}>(kept, {text});")

    def statement(self, s):
        e = [self.expr(x) for x in s.exprs] if s.kind != "for" else []
        getattr(self, "put_" + s.kind)(s, s.data, e)

    def put_assign(self, s, d, e):
        self.line(f"{d['to']} = {e[0]};")

    def put_element(self, s, d, e):
        self.line(f"a{d['array']}[{e[0]} & {self.kernel.arrays[d['array']][1] - 1}] = {e[1]};")

    def put_turn(self, s, d, e):
        type_, count = self.kernel.arrays[d["array"]]
        self.line(f"Turn<{type_}>(a{d['array']}, {count}, {e[0]} & 3);")

    @staticmethod
    def vector(d):
        return f"{d['type']}, {d['count']}, {'true' if d['aligned'] else 'false'}"

    def put_load_vector(self, s, d, e):
        align = SIZE[d["type"]] * (4 if d["count"] == 3 else d["count"]) if d["aligned"] else 1
        self.keep(d["place"], f"LoadVector<{self.vector(d)}>(InputAt(args, {e[0]}, {align}))")

    def put_store_vector(self, s, d, e):
        self.line(f"StoreVector<{self.vector(d)}>(mine + {d['at']}, {e[0]}, {e[1]});")

    def put_atomic(self, s, d, e):
        cell = f"({d['as_type']}*)&{d['place']}{d['type']}s[{d['cell']}]"
        if d["ticket"]:
            self.line(f"Atomic<kAdd>(&args.cells->{d['type']}s[0], "
                      f"Atomic<kAdd>(&args.cells->{d['type']}s[15], {d['type']}(1)));")
        else:
            self.line(f"Atomic<{d['op']}, {d['as_type']}>({cell}, {e[0]});")

    def put_atomic_real(self, s, d, e):
        t = d["type"]
        self.line(f"AtomicReal<kAdd, {t}>(&args.cells->{t}s[{e[0]} & 15], {t}({e[1]} & 63));")

    def put_own(self, s, d, e):
        t = d["type"]
        cell = f"({t}*)" + ("&lds.own[thread]" if d["lds"] else f"(mine + {d['at']})")
        name = {"": f"Atomic<{d['op']}, {t}>", "Strong": f"Atomic<{d['op']}, {t}, true>",
                "Anywhere": f"AtomicAnywhere<{d['op']}, {t}>"}[d["how"]]
        text = f"{name}({cell}, {e[0]})"
        if d["used"]:
            self.keep(d["place"], text)
        else:
            self.line(text + ";")

    def put_own_real(self, s, d, e):
        where = "&lds.own[thread]" if d["lds"] else f"(mine + {d['at']})"
        self.line("{")
        self.line(f"  const i32 before = {e[0]}, value = {e[1]};")
        if d["type"] == "pair":
            self.line(f"  u32* const cell = (u32*){where};")
            self.line("  *cell = PackHalf(f32(i16(before)), f32(i8(value)));")
            text = f"AtomicPair<{'true' if d['lds'] else 'false'}>(cell, PackHalf(f32(i8(value)), f32(i16(before))))"
        else:
            t = d["type"]
            self.line(f"  {t}* const cell = ({t}*){where};")
            self.line(f"  *cell = {t}(before);")
            text = f"AtomicReal<{d['op']}, {t}>(cell, {t}(value))"
        self.line(f"  Keep<{d['place']}>(kept, {text});" if d["used"] else f"  {text};")
        self.line("}")

    def put_wave(self, s, d, e):
        text = f"{d['text']}({', '.join([str(self.id())] + e)}{d['after']})"
        if d["around"]:
            text = f"{d['around']}({text})"
        self.line(f"{d['to']} = {text};")
        self.keep(d["place"], d["to"])

    def put_exchange(self, s, d, e):
        t, offset = d["type"], f" + {d['shift']}" if d["shift"] else ""
        call = "Anywhere" if d["flat"] else "" if d["shift"] else "Aligned"
        self.line("Barrier();")
        self.line(f"Store{call}<{t}>(lds.bytes + thread * {d['stride']}{offset}, {e[0]});")
        self.line("Barrier();")
        self.line(f"{d['to']} = Load{call}<{t}>(lds.bytes + ({e[1]} % args.group_size) * {d['stride']}{offset});")

    def put_exchange_vector(self, s, d, e):
        self.line("Barrier();")
        self.line(f"StoreVector<{self.vector(d)}>(lds.bytes + thread * 16, {e[0]}, {e[1]});")
        self.line("Barrier();")
        self.keep(d["place"], f"LoadVector<{self.vector(d)}>(lds.bytes + ({e[2]} % args.group_size) * 16)")

    def put_leave(self, s, d, e):
        # Not out of a loop of a function: clang 22 loses what is returned after the loop then, at -O1 to -O3.
        if d["how"] == "return":
            self.line(f"if ({e[0]}) {'break' if self.counters else 'return r'};")
        else:
            self.line(f"if ({e[0]}) {d['how']};" if self.counters else ";")

    def put_if(self, s, d, e):
        self.line(f"if ({e[0]}) {{")
        self.block(s.blocks[0])
        if len(s.blocks) > 1:
            self.line("} else {")
            self.block(s.blocks[1])
        self.line("}")

    def put_for(self, s, d, e):
        trips = self.expr(s.exprs[0])
        name = d["name"]
        number = self.id()
        self.line("{")
        if not self.in_function:  # where there are no wave operations
            self.line(f"  Loop loop{number}({number});")
        self.line(f"  for (u32 {name} = 0, {name}_end = {trips} & {d['most']}; {name} < {name}_end; ++{name}) {{")
        if not self.in_function:
            self.line(f"    loop{number}.Step();")
        self.counters.add(name)
        self.indent += 1
        self.block(s.blocks[0])
        self.indent -= 1
        self.counters.discard(name)
        self.line("  }")
        self.line("}")

    def put_switch(self, s, d, e):
        self.line(f"switch ({e[0]} % {len(s.blocks)}) {{")
        for index, block in enumerate(s.blocks):
            self.line(f"  case {index}: {{")
            self.indent += 1
            self.block(block)
            self.indent -= 1
            self.line("  }" if d["falls"][index] and index + 1 < len(s.blocks) else "  } break;")
        self.line("}")

    def function(self, f):
        self.in_function = True
        name = f"{f.name}_{self.name}"
        parameters = "".join(f"{t} p{i}, " for i, t in enumerate(f.parameters))
        self.lines.append(f"HD_CALL {f.result} {name}({parameters}u32 left) {{")
        self.line(f"{f.result} r = {f.result}(3);")
        self.line("u32 x = left;")
        for statement in f.statements:
            self.statement(statement)
        if f.recursive:
            arguments = "".join(self.expr(e) + ", " for e in f.arguments)
            self.line(f"if (left > 0 && x % 3 != 0) r = {name}({arguments}left - 1);")
        self.line(f"return {self.expr(f.value)};")
        self.lines.append("}")
        self.in_function = False

    def kernel_source(self):
        k = self.kernel
        for function in k.functions:
            self.function(function)
        all_statements = list(walk(k.statements))
        shares = any(s.kind in ("exchange", "exchange_vector") or s.data.get("place") == "lds." or s.data.get("lds")
                     for s in all_statements)
        self.lines.append(f"HD void Body{self.name}(const Args& args, Lds& lds, u32 thread, u32 group) {{")
        self.line("const u32 all = group * args.group_size + thread;")
        self.line(f"u8* const mine = args.memory + all * {MEMORY};")
        self.line("u64 kept = 0;")
        for i, t in enumerate(k.variables):
            if t:
                self.line(f"{t} v{i} = Input<{t}>(args, all * {2 * i + 1} + {31 * i});")
        for i, t in enumerate(k.uniforms):
            if t:
                start = f"Number<{t}>(args, {i})" if i % 3 else f"Input<{t}>(args, group + {17 * i + 5})"
                self.line(f"{t} s{i} = {start};")
        for i, array in enumerate(k.arrays):
            if array:
                t, count = array
                self.line(f"{t} a{i}[{count}];")
                self.line(f"for (u32 i = 0; i < {count}; ++i) a{i}[i] = Input<{t}>(args, all + 3 * i);")
        if shares:
            self.line("lds.own[thread] = all * 5;")
            self.line("if (thread == 0) for (int i = 0; i < kCells; ++i) lds.u32s[i] = 7 + i, lds.u64s[i] = 9 + i;")
            self.line("Barrier();")
        for statement in k.statements:
            self.statement(statement)
        outputs = ["kept"] + [f"Result(v{i})" for i, t in enumerate(k.variables) if t]
        outputs += [f"Result(s{i})" for i, t in enumerate(k.uniforms) if t]
        outputs += [f"Result(a{i}[all % {a[1]}])" for i, a in enumerate(k.arrays) if a]
        if shares:
            self.line("Barrier();")
            outputs += ["u64(lds.u32s[thread % kCells])", "lds.u64s[thread % kCells]", "lds.own[thread]"]
        assert len(outputs) <= OUTPUTS
        for i, text in enumerate(outputs):
            self.line(f"args.out[{i} * args.threads + all] = {text};")
        self.lines.append("}")
        self.lines.append(f"KERNEL({self.name}, {k.most})")
        return "\n".join(self.lines)


def source(kernels, note=""):
    parts = ["// SPDX-License-Identifier: MIT", "//"]
    parts += [f"// {line}" for line in (note or "Random kernels; made by tests/random/kernels.py.").split("\n")]
    parts += ['#include "harness.h"', "", "using namespace harness;", "using namespace lanes;", ""]
    for index, kernel in enumerate(kernels):
        parts += [Renderer(kernel, str(index)).kernel_source(), ""]
    rows = [f'  {{"{k.seed}", Model{index}, {k.groups}, {{{", ".join(map(str, k.shape))}}}}}' for index, k in enumerate(kernels)]
    parts += ["KERNELS(", ",\n".join(rows), ")", ""]
    return "\n".join(parts)


def size(kernel):
    """Bytes of its source."""
    return len(Renderer(kernel, "0").kernel_source())
