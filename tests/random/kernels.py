# SPDX-License-Identifier: MIT
"""Random kernels: trees of statements and expressions made from a seed, and their HIP source.

A kernel is made by `make(seed)`, rendered by `source([kernel, ...])`, and made smaller by `smaller(kernel)`, which
yields ways to take something out of it. What the names in the source mean stands in lanes.h, arithmetic.h and
harness.h. Nothing in a kernel is undefined, whatever is taken out of it: variables are declared and filled first,
functions and arrays stand by themselves, and a loop's counter reads as 0 where its loop is gone.
"""

import copy
import random

INTS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
REALS = ["f16", "f32", "f64"]
SIZE = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8}
INT_WEIGHTS = [1, 1, 2, 2, 6, 6, 4, 4]
SAME_SIZE = {"f16": ["u16", "i16"], "f32": ["u32", "i32"], "f64": ["u64", "i64"]}

BINARY = ["Add", "Sub", "Mul", "And", "Or", "Xor", "AndNot", "Shl", "Shr", "Rotate", "Min", "Max", "MulHigh",
          "AddSaturated", "SubSaturated"] * 3 + ["Div", "Rem"]
UNARY = ["Neg", "Not", "Abs", "CountOnes", "LeadingZeros", "TrailingZeros", "ReverseBits", "ReverseBytes"]
TERNARY = ["MulAdd", "Field", "Insert", "ShiftAdd", "Xor3", "Median", "Funnel"]
U32_TERNARY = ["Permute", "SumOfDifferences", "AlignByte", "UnsignedField", "SignedField"]
U32_BINARY = ["Mul24", "MulSigned24", "PairAdd", "PairSub", "PairMul", "PairShl", "PairShr", "PairShrSigned", "PairMin",
              "PairMax", "PairAddSaturated", "PairSubSaturated", "PairAddHalf", "PairMulHalf"]
U64_BINARY = ["PairAddSingle", "PairMulSingle"]
REAL_BINARY = ["Add", "Sub", "Mul", "Smaller", "Larger", "CopySign"] * 3 + ["Divide"]
REAL_UNARY = ["Neg", "Abs", "Floor", "Ceil", "Truncate", "Nearest", "Sqrt"]
COMPARE = ["==", "!=", "<", "<=", ">", ">="]

OUTPUTS = 24  # as in harness.h
MEMORY = 128


class Expr:
    """op: const, var, counter, number, element, call, pointer, or how the C++ begins: 'Add<u32>'; kids are operands."""

    def __init__(self, op, type_, kids=(), data=None):
        self.op, self.type, self.kids, self.data = op, type_, list(kids), data


class Stmt:
    """kind and its parts: exprs, blocks (lists of statements), and data that only its renderer knows."""

    def __init__(self, kind, exprs=(), blocks=(), **data):
        self.kind, self.exprs, self.blocks, self.data = kind, list(exprs), [list(b) for b in blocks], data


class Function:
    def __init__(self, name, result, parameters, statements, value, recursive):
        self.name, self.result, self.parameters = name, result, parameters
        self.statements, self.value, self.recursive = statements, value, recursive


class Kernel:
    def __init__(self, seed):
        self.seed = seed
        self.variables = []  # types of v0, v1, ...
        self.uniforms = []   # types of s0, s1, ...: the same in all lanes
        self.arrays = []     # (type, count)
        self.functions = []
        self.statements = []
        self.groups, self.shape = 1, (64, 1, 1)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(f"rochound {seed}")
        self.kernel = Kernel(str(seed))
        self.counters = []      # (name, uniform) of the loops around here
        self.next = 0
        self.scope = None       # variables by type: [(name, type)]
        self.functions = []     # that may be called here
        self.in_function = False

    def number(self):
        self.next += 1
        return self.next

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def type(self):
        if self.chance(65):
            return self.random.choices(INTS, INT_WEIGHTS)[0]
        return self.random.choice(["f16", "f32", "f32", "f64"])

    # --- expressions
    def constant(self, type_):
        r = self.random
        if type_ == "bool":
            return Expr("const", type_, data=r.choice(["true", "false"]))
        bits = 8 * SIZE[type_]
        if type_ in REALS:
            whole = r.choice([0, 1, -1, 2, 3, 10, -7, 100]) if self.chance(60) else None
            if whole is not None:
                return Expr("const", type_, data=f"{type_}({whole})")
            # A number whose exponent is near the middle.
            mantissa, bias = {16: (10, 15), 32: (23, 127), 64: (52, 1023)}[bits]
            value = (r.randrange(bias - 5, bias + 6) << mantissa) | r.getrandbits(mantissa) | (r.getrandbits(1) << (bits - 1))
        else:
            kind = r.randrange(4)
            if kind == 0:
                value = r.randrange(0, 40)
            elif kind == 1:
                value = (1 << r.randrange(bits)) - r.randrange(2)
            elif kind == 2:
                value = -r.randrange(1, 40)
            else:
                value = r.getrandbits(bits)
            value &= (1 << bits) - 1
            return Expr("const", type_, data=f"{type_}({value:#x}ull)")
        return Expr("const", type_, data=f"OfBits<{type_}>({value:#x}ull)")

    def leaf(self, type_, uniform):
        r = self.random
        if type_ == "bool" or self.chance(15):
            return self.constant(type_)
        if type_ in INTS and self.counters and self.chance(25):
            name, is_uniform = r.choice(self.counters)
            if is_uniform or not uniform:
                return Expr("counter", type_, data=name)
        if self.in_function:
            names = [n for n, t in self.scope if t == type_]
            return Expr("var", type_, data=r.choice(names)) if names else self.constant(type_)
        if not uniform:
            if type_ in INTS and self.chance(8):
                return Expr("var", type_, data=r.choice(["thread", "group", "LaneIndex()"]))
            names = [f"v{i}" for i, t in enumerate(self.kernel.variables) if t == type_]
            if names and self.chance(85):
                return Expr("var", type_, data=r.choice(names))
        names = [f"s{i}" for i, t in enumerate(self.kernel.uniforms) if t == type_]
        if names and self.chance(70):
            return Expr("var", type_, data=r.choice(names))
        if self.chance(60):
            return Expr("number", type_, data=r.randrange(8))
        return self.constant(type_) if type_ in REALS or self.chance(60) else Expr("var", type_, data="group")

    def condition(self, depth, uniform=False):
        r = self.random
        if depth > 1 and self.chance(20):
            return Expr("logic", "bool", [self.condition(depth - 1, uniform), self.condition(depth - 1, uniform)],
                        r.choice(["&&", "||", "!="]))
        type_ = self.type()
        return Expr("compare", "bool", [self.expr(type_, depth - 1, uniform), self.expr(type_, depth - 1, uniform)],
                    r.choice(COMPARE))

    def expr(self, type_, depth, uniform=False):
        r = self.random
        if type_ == "bool":
            return self.condition(depth, uniform)
        if depth <= 0 or self.chance(12):
            return self.leaf(type_, uniform)

        def kid(t=type_):
            return self.expr(t, depth - 1, uniform)

        def call(name, *types):
            return Expr(name, type_, [kid(t) for t in types])

        choice = r.randrange(100)
        if choice < 6:
            return Expr(f"Pick<{type_}>", type_, [self.condition(depth - 1, uniform), kid(), kid()])
        if choice < 16:
            other = self.type()
            if other != type_:
                return call(f"Convert<{type_}>", other)
        if choice < 22:
            width = r.choice([1, SIZE[type_]])
            load = "Load" if width == 1 else "LoadAligned"
            if not self.in_function:
                return Expr(f"{load}<{type_}>", type_, [kid("u32")], ("load", width))
        if choice < 27 and self.kernel.arrays and not uniform and not self.in_function:
            index = r.randrange(len(self.kernel.arrays))
            element = self.kernel.arrays[index][0]
            read = Expr("element", element, [kid("u32")], index)
            return read if element == type_ else Expr(f"Convert<{type_}>", type_, [read])
        if choice < 31 and self.functions:
            function = r.choice(self.functions)
            twins = [f for f in self.functions if (f.result, f.parameters) == (function.result, function.parameters)]
            if len(twins) > 1 and self.chance(60):
                kids = [self.expr("u32", 1, uniform)] + [self.expr(t, depth - 2, uniform) for t in function.parameters]
                made = Expr("pointer", function.result, kids, tuple(f.name for f in twins))
                return made if function.result == type_ else Expr(f"Convert<{type_}>", type_, [made])
            made = Expr("call", function.result, [self.expr(t, depth - 2, uniform) for t in function.parameters],
                        function.name)
            return made if function.result == type_ else Expr(f"Convert<{type_}>", type_, [made])
        if type_ in REALS:
            if choice < 40:
                return call(f"Bits<{type_}>", r.choice(SAME_SIZE[type_]))
            if choice < 44:
                return Expr(f"Scale<{type_}>", type_, [kid(), kid("i32")])
            if choice < 55:
                return call(f"Fma<{type_}>", type_, type_, type_)
            if choice < 65:
                return call(f"{r.choice(REAL_UNARY)}<{type_}>", type_)
            if choice < 68 and type_ == "f32":
                return call("Brain", "f32")
            return call(f"{r.choice(REAL_BINARY)}<{type_}>", type_, type_)
        if choice < 36:
            return call(f"Bits<{type_}>", {1: "f16", 2: "f16", 4: "f32", 8: "f64"}[SIZE[type_]]) if SIZE[type_] > 1 else kid()
        if choice < 46 and type_ == "u32":
            if self.chance(40):
                return call(r.choice(U32_TERNARY), "u32", "u32", "u32")
            return call(r.choice(U32_BINARY), "u32", "u32")
        if choice < 38 and type_ == "u64":
            return call(r.choice(U64_BINARY), "u64", "u64")
        if choice < 56:
            return call(f"{r.choice(UNARY)}<{type_}>", type_)
        if choice < 68:
            return call(f"{r.choice(TERNARY)}<{type_}>", type_, type_, type_)
        return call(f"{r.choice(BINARY)}<{type_}>", type_, type_)

    # --- statements
    def assign(self, uniform_place):
        kernel, r = self.kernel, self.random
        if self.in_function:
            name, type_ = r.choice(self.scope)
            return Stmt("assign", [self.expr(type_, 3)], to=name)
        if uniform_place and kernel.uniforms and self.chance(25):
            index = r.randrange(len(kernel.uniforms))
            return Stmt("assign", [self.expr(kernel.uniforms[index], 3, uniform=True)], to=f"s{index}")
        if kernel.arrays and self.chance(12):
            index = r.randrange(len(kernel.arrays))
            if self.chance(20):
                return Stmt("turn", [self.expr("u32", 2)], array=index)
            return Stmt("element", [self.expr("u32", 2), self.expr(kernel.arrays[index][0], 3)], array=index)
        index = r.randrange(len(kernel.variables))
        return Stmt("assign", [self.expr(kernel.variables[index], r.choice([2, 3, 4]))], to=f"v{index}")

    def memory(self):
        """A store to the thread's own memory, or a load of several elements."""
        r = self.random
        type_, count, aligned = self.type(), r.choice([1, 2, 3, 4]), self.chance(50)
        words = [f"v{i}" for i, t in enumerate(self.kernel.variables) if t == "u64"]
        if self.chance(40) and words:
            return Stmt("load_vector", [self.expr("u32", 2)], to=r.choice(words), type=type_, count=count, aligned=aligned)
        step = SIZE[type_] * (4 if count == 3 else count) if aligned else 1
        at = r.randrange((MEMORY - SIZE[type_] * 4) // step + 1) * step
        return Stmt("store_vector", [self.expr(type_, 3), self.expr(type_, 2)], type=type_, count=count, aligned=aligned, at=at)

    def atomic(self):
        r = self.random
        place = r.choice(["args.cells->", "args.cells->", "lds."]) if self.lds_cells else "args.cells->"
        if place != "lds." and self.chance(20):
            type_ = r.choice(["f32", "f64"])
            return Stmt("atomic_real", [self.expr("u32", 2), self.expr("u32", 2)], type=type_)
        type_, signed = r.choice([("u32", "i32"), ("u64", "i64")])
        # Each cell knows one kind only, so that the order does not matter; 3 and 4 are minimum and maximum of signed numbers.
        cell = r.randrange(8)
        kind = ["kAdd", "kMin", "kMax", "kMin", "kMax", "kAnd", "kOr", "kXor"][cell]
        if cell == 0:
            kind = r.choice(["kAdd", "kSub", "kCasAdd"])
        ticket = cell == 0 and place != "lds." and self.chance(30)
        as_type = signed if cell in (3, 4) else type_
        return Stmt("atomic", [self.expr(as_type, 3)], place=place, type=type_, as_type=as_type, op=kind,
                    cell=cell + 8 * (cell < 7 and self.chance(30)), ticket=ticket)

    def wave(self, everywhere):
        """everywhere: all lanes are here, so shuffles make sense."""
        r, kernel = self.random, self.kernel
        width = r.choice([2, 4, 8, 16, 32])
        of = {t: [f"v{i}" for i, u in enumerate(kernel.variables) if u == t] for t in ("u32", "u64", "i32", "i64", "f32", "f64")}
        identity = None  # numbered when rendered, in program order
        if everywhere and self.chance(65):
            if self.chance(45):
                type_ = r.choice([t for t in of if of[t]])
                what = r.choice(["Shuffle", "ShuffleXor", "ShuffleUp", "ShuffleDown"])
                second = self.expr("i32", 2) if what == "Shuffle" else Expr("const", "i32", data=str(r.randrange(width)))
                return Stmt("wave", [self.expr(type_, 3), second], to=r.choice(of[type_]), text=what,
                            after=f", {width}", first=identity)
            what = r.randrange(3)
            if what == 0:
                control = r.choice([r.randrange(256), 0x100 + r.randrange(1, 16), 0x110 + r.randrange(1, 16),
                                    0x120 + r.randrange(1, 16), 0x140, 0x141])
                masks = (r.choice([15, 15, r.randrange(16)]), r.choice([15, 15, r.randrange(16)]))
                text = f"Dpp<{control:#x}, {masks[0]}, {masks[1]}, {r.choice(['true', 'false'])}>"
                return Stmt("wave", [self.expr("u32", 2), self.expr("u32", 3)], to=r.choice(of["u32"]), text=text, after="")
            if what == 1:
                pattern = 0x8000 | r.randrange(256) if self.chance(40) else r.randrange(0x8000)
                return Stmt("wave", [self.expr("u32", 3)], to=r.choice(of["u32"]), text=f"Swizzle<{pattern:#x}>", after="")
            return Stmt("wave", [self.expr("u32", 3), self.expr("u32", 2, uniform=True)], to=r.choice(of["u32"]),
                        text="ReadLane", after="")
        what = r.choice(["Ballot", "Ballot", "Any", "All", "FirstLane", "Count"])
        if what == "FirstLane":
            return Stmt("wave", [self.expr("u32", 3)], to=r.choice(of["u32"]), text=what, after="")
        if what == "Count":
            return Stmt("wave", [self.condition(2)], to=r.choice(of["u32"]), text="Ballot", after="", around="CountBelow")
        return Stmt("wave", [self.condition(2)], to=r.choice(of["u64"]), text=what, after="")

    def exchange(self):
        """Through LDS, by way of barriers: each thread writes its place and reads another's."""
        r = self.random
        type_ = r.choice([t for t in self.kernel.variables if t != "f16" or self.chance(50)])
        to = r.choice([f"v{i}" for i, t in enumerate(self.kernel.variables) if t == type_])
        return Stmt("exchange", [self.expr(type_, 3), self.expr("u32", 2)], to=to, type=type_, shift=r.choice([0, 0, 0, 1, 2]),
                    stride=r.choice([SIZE[type_], SIZE[type_], 8 if SIZE[type_] < 8 else 16]), flat=self.chance(25))

    def block(self, size, depth, uniform_place, waves, loop=False):
        """uniform_place: all lanes of the workgroup are here; waves: wave operations are allowed; loop: break is."""
        return [self.statement(depth, uniform_place, waves, loop) for _ in range(size)]

    def statement(self, depth, uniform_place, waves, loop):
        r = self.random
        choice = r.randrange(100)
        if not self.in_function:
            if choice < 8:
                return self.memory()
            if choice < 14:
                return self.atomic()
            if choice < 24 and waves and self.has_waves:
                return self.wave(uniform_place)
            if choice < 32 and uniform_place and self.has_lds:
                return self.exchange()
        if choice < 37 and loop:
            return Stmt("leave", [self.condition(2)], how=r.choice(["break", "continue"]))
        if choice < 65 and depth > 0:
            what = r.randrange(10)
            if what < 5:
                uniform = uniform_place and self.chance(25)
                blocks = [self.block(r.randrange(1, 4), depth - 1, uniform, waves, loop)]
                if self.chance(50):
                    blocks.append(self.block(r.randrange(1, 4), depth - 1, uniform, waves, loop))
                return Stmt("if", [self.condition(3, uniform)], blocks)
            if what < 8:
                uniform = uniform_place and self.chance(30)
                leaves = self.chance(40)
                name = f"i{self.number()}"
                trips = self.expr("u32", 2, uniform)
                self.counters.append((name, uniform))
                body = self.block(r.randrange(1, 4), depth - 1, uniform and not leaves, waves and not leaves, leaves)
                self.counters.pop()
                return Stmt("for", [trips], [body], name=name, most=r.choice([3, 4, 7]))
            return Stmt("switch", [self.expr("u32", 3)],
                        [self.block(r.randrange(1, 3), depth - 1, False, waves, False) for _ in range(r.randrange(2, 6))],
                        falls=[self.chance(15) for _ in range(6)])
        return self.assign(uniform_place)

    def make_function(self, index):
        r = self.random
        self.in_function = True
        if self.functions and self.chance(60):  # one that can be called through the same pointer
            parameters, result = list(self.functions[0].parameters), self.functions[0].result
        else:
            parameters, result = [self.type() for _ in range(r.randrange(1, 4))], self.type()
        self.scope = [(f"p{i}", t) for i, t in enumerate(parameters)] + [("r", result), ("x", "u32")]
        statements = self.block(r.randrange(1, 4), 1, False, False)
        value = self.expr(result, 2)
        function = Function(f"F{index}", result, parameters, statements, value, self.chance(30))
        function.arguments = [self.expr(t, 2) for t in parameters]
        self.in_function = False
        self.functions.append(function)
        self.kernel.functions.append(function)

    def make(self):
        r, kernel = self.random, self.kernel
        kernel.variables = ["u32", "u64"] + [self.type() for _ in range(r.randrange(3, 9))]
        kernel.uniforms = [self.type() for _ in range(r.randrange(0, 4))]
        kernel.arrays = [(self.type(), r.choice([4, 8, 16, 32, 64])) for _ in range(r.choice([0, 0, 1, 2]))]
        self.has_waves, self.has_lds = self.chance(50), self.chance(40)
        self.lds_cells = self.has_lds
        kernel.groups = r.choice([1, 1, 2, 3])
        if self.has_waves:  # whole waves only: lanes that do not exist have no values to read
            kernel.shape = r.choice([(64, 1, 1), (128, 1, 1), (16, 8, 1), (32, 4, 2), (256, 1, 1)])
        else:
            kernel.shape = r.choice([(64, 1, 1), (1, 1, 1), (37, 1, 1), (100, 1, 1), (8, 9, 2), (33, 5, 1), (256, 1, 1)])
        for index in range(r.choice([0, 0, 1, 2, 3])):
            self.make_function(index)
        kernel.statements = self.block(r.randrange(4, 10), r.choice([1, 2, 2, 3]), True, self.has_waves)
        return kernel


def make(seed):
    return Maker(seed).make()


# --- source
class Renderer:
    def __init__(self, kernel, name):
        self.kernel, self.name = kernel, name
        self.lines, self.counters, self.place, self.indent = [], set(), 0, 1

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

    def statement(self, s):
        d = s.data
        e = [self.expr(x) for x in s.exprs] if s.kind != "for" else []
        if s.kind == "assign":
            self.line(f"{d['to']} = {e[0]};")
        elif s.kind == "element":
            self.line(f"a{d['array']}[{e[0]} & {self.kernel.arrays[d['array']][1] - 1}] = {e[1]};")
        elif s.kind == "turn":
            type_, count = self.kernel.arrays[d["array"]]
            self.line(f"Turn<{type_}>(a{d['array']}, {count}, {e[0]} & 3);")
        elif s.kind == "load_vector":
            align = SIZE[d["type"]] * (4 if d["count"] == 3 else d["count"]) if d["aligned"] else 1
            flag = "true" if d["aligned"] else "false"
            self.line(f"{d['to']} = LoadVector<{d['type']}, {d['count']}, {flag}>(InputAt(args, {e[0]}, {align}));")
        elif s.kind == "store_vector":
            flag = "true" if d["aligned"] else "false"
            self.line(f"StoreVector<{d['type']}, {d['count']}, {flag}>(mine + {d['at']}, {e[0]}, {e[1]});")
        elif s.kind == "atomic":
            cell = f"({d['as_type']}*)&{d['place']}{d['type']}s[{d['cell']}]"
            if d["ticket"]:
                self.line(f"Atomic<kAdd>(&args.cells->{d['type']}s[0], "
                          f"Atomic<kAdd>(&args.cells->{d['type']}s[15], {d['type']}(1)));")
            else:
                self.line(f"Atomic<{d['op']}, {d['as_type']}>({cell}, {e[0]});")
        elif s.kind == "atomic_real":
            t = d["type"]
            self.line(f"AtomicAddReal<{t}>(&args.cells->{t}s[{e[0]} & 15], {t}({e[1]} & 63));")
        elif s.kind == "wave":
            text = f"{d['text']}({', '.join([str(self.id())] + e)}{d['after']})"
            if d.get("around"):
                text = f"{d['around']}({text})"
            self.line(f"{d['to']} = {text};")
        elif s.kind == "exchange":
            t, offset = d["type"], f" + {d['shift']}" if d["shift"] else ""
            call = "Anywhere" if d["flat"] else "" if d["shift"] else "Aligned"
            self.line("Barrier();")
            self.line(f"Store{call}<{t}>(lds.bytes + thread * {d['stride']}{offset}, {e[0]});")
            self.line("Barrier();")
            self.line(f"{d['to']} = Load{call}<{t}>(lds.bytes + ({e[1]} % args.group_size) * {d['stride']}{offset});")
        elif s.kind == "leave":
            self.line(f"if ({e[0]}) {d['how']};" if self.counters else ";")
        elif s.kind == "if":
            self.line(f"if ({e[0]}) {{")
            self.block(s.blocks[0])
            if len(s.blocks) > 1:
                self.line("} else {")
                self.block(s.blocks[1])
            self.line("}")
        elif s.kind == "for":
            trips = self.expr(s.exprs[0])
            number, name = self.id(), d["name"]
            self.line("{")
            self.line(f"  Loop loop{number}({number});")
            self.line(f"  for (u32 {name} = 0, {name}_end = {trips} & {d['most']}; {name} < {name}_end; ++{name}) {{")
            self.line(f"    loop{number}.Step();")
            self.counters.add(name)
            self.indent += 1
            self.block(s.blocks[0])
            self.indent -= 1
            self.counters.discard(name)
            self.line("  }")
            self.line("}")
        elif s.kind == "switch":
            self.line(f"switch ({e[0]} % {len(s.blocks)}) {{")
            for index, block in enumerate(s.blocks):
                self.line(f"  case {index}: {{")
                self.indent += 1
                self.block(block)
                self.indent -= 1
                self.line("  }" if d["falls"][index] and index + 1 < len(s.blocks) else "  } break;")
            self.line("}")
        else:
            raise ValueError(s.kind)

    def function(self, f):
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

    def kernel_source(self):
        k = self.kernel
        for function in k.functions:
            self.function(function)
        uses = {s.kind for s in walk(k.statements)}
        lds = "exchange" in uses or any(s.kind == "atomic" and s.data["place"] == "lds." for s in walk(k.statements))
        self.lines.append(f"HD void Body{self.name}(const Args& args, Lds& lds, u32 thread, u32 group) {{")
        self.line("const u32 all = group * args.group_size + thread;")
        self.line(f"u8* const mine = args.memory + all * {MEMORY};")
        for i, t in enumerate(k.variables):
            self.line(f"{t} v{i} = Input<{t}>(args, all * {2 * i + 1} + {31 * i});")
        for i, t in enumerate(k.uniforms):
            self.line(f"{t} s{i} = Input<{t}>(args, group + {17 * i + 5});")
        for i, (t, count) in enumerate(k.arrays):
            self.line(f"{t} a{i}[{count}];")
            self.line(f"for (u32 i = 0; i < {count}; ++i) a{i}[i] = Input<{t}>(args, all + 3 * i);")
        if lds:
            self.line("if (thread == 0) for (int i = 0; i < kCells; ++i) lds.u32s[i] = 7 + i, lds.u64s[i] = 9 + i;")
            self.line("Barrier();")
        for statement in k.statements:
            self.statement(statement)
        outputs = [f"Result(v{i})" for i in range(len(k.variables))]
        outputs += [f"Result(s{i})" for i in range(len(k.uniforms))]
        outputs += [f"Result(a{i}[all % {c}])" for i, (t, c) in enumerate(k.arrays)]
        if lds:
            self.line("Barrier();")
            outputs += ["u64(lds.u32s[thread % kCells])", "lds.u64s[thread % kCells]"]
        assert len(outputs) <= OUTPUTS
        for i, text in enumerate(outputs):
            self.line(f"args.out[{i} * args.threads + all] = {text};")
        self.lines.append("}")
        self.lines.append(f"KERNEL({self.name})")
        return "\n".join(self.lines)


def walk(statements):
    for s in statements:
        yield s
        for block in s.blocks:
            yield from walk(block)


def source(kernels, note=""):
    parts = ["// SPDX-License-Identifier: MIT", "//"]
    parts += [f"// {line}" for line in (note or "Random kernels; made by tests/random/kernels.py.").split("\n")]
    parts += ['#include "harness.h"', "", "using namespace harness;", "using namespace lanes;", ""]
    for index, kernel in enumerate(kernels):
        parts += [Renderer(kernel, str(index)).kernel_source(), ""]
    parts.append("static const Kernel kKernels[] = {")
    for index, k in enumerate(kernels):
        shape = ", ".join(str(n) for n in k.shape)
        parts.append(f'  {{"{k.seed}", Kernel{index}, Body{index}, {k.groups}, {{{shape}}}}},')
    parts += ["};", "", "int main(int argc, char** argv) {",
              f"  return Main(kKernels, {len(kernels)}, argc, argv);", "}", ""]
    return "\n".join(parts)


# --- making a kernel smaller
def smaller(kernel):
    """Yields functions that each make a kernel that lacks one thing; the boldest cuts first."""

    def changed(change):
        def make_it():
            other = copy.deepcopy(kernel)
            change(other)
            return other
        return make_it

    def bodies(k):
        return [k.statements] + [f.statements for f in k.functions]

    def blocks(k):
        found = []
        todo = bodies(k)
        while todo:
            block = todo.pop(0)
            found.append(block)
            for s in block:
                todo += s.blocks
        return found

    def expressions(k):
        """(list, index) of every expression, those nearest to a statement first."""
        found = []
        for block in blocks(k):
            for s in block:
                found += [(s.exprs, i) for i in range(len(s.exprs))]
        for f in k.functions:
            found += [(f.arguments, i) for i in range(len(f.arguments))]
            found += [(f.__dict__, "value")]
        at = 0
        while at < len(found):
            holder, index = found[at]
            found += [(holder[index].kids, i) for i in range(len(holder[index].kids))]
            at += 1
        return found

    # Runs of statements, long ones first, then each statement's inside in its place.
    for number, block in enumerate(blocks(kernel)):
        size = len(block)
        length = size
        while length >= 1:
            for start in range(0, size, length):
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
    if kernel.groups > 1:
        yield changed(lambda k: setattr(k, "groups", 1))
    whole = kernel.shape[0] * kernel.shape[1] * kernel.shape[2] % 64 == 0
    for shape in [(64, 1, 1)] if whole else [(1, 1, 1), (37, 1, 1)]:
        if kernel.shape != shape:
            yield changed(lambda k, shape=shape: setattr(k, "shape", shape))
    for index in range(len(kernel.functions)):
        name = kernel.functions[index].name
        if not any(holder[i].op in ("call", "pointer") and name in (holder[i].data, *holder[i].data)
                   for holder, i in expressions(kernel)):
            yield changed(lambda k, index=index: k.functions.pop(index))
        elif kernel.functions[index].recursive:
            yield changed(lambda k, index=index: setattr(k.functions[index], "recursive", False))
    for number, (holder, index) in enumerate(expressions(kernel)):
        e = holder[index]
        if e.op == "const":
            continue
        for way in range(len(e.kids)):
            if e.kids[way].type == e.type:
                def lift(k, number=number, way=way):
                    h, i = expressions(k)[number]
                    h[i] = h[i].kids[way]
                yield changed(lift)
        constant = "true" if e.type == "bool" else f"{e.type}(1)"
        for text in [constant] if e.kids or e.op != "const" else []:
            def settle(k, number=number, text=text):
                h, i = expressions(k)[number]
                h[i] = Expr("const", h[i].type, data=text)
            yield changed(settle)


def size(kernel):
    """Bytes of its source."""
    return len(Renderer(kernel, "0").kernel_source())
