# SPDX-License-Identifier: MIT
"""Random kernels: trees of statements and expressions made from a seed by `make(seed)`.

render.py makes HIP source of them, shrink.py makes them smaller. What the names in the source mean is in the
headers beside this file. Nothing in a kernel is undefined, whatever is taken out of it: variables are declared and filled
first, functions and arrays stand by themselves, and a loop's counter reads as 0 where its loop is gone.
"""

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
REAL_BINARY = ["Add", "Sub", "Mul", "Smaller", "Larger", "CopySign"] * 3 + ["Divide"]
REAL_UNARY = ["Neg", "Abs", "Floor", "Ceil", "Truncate", "Nearest", "Sqrt", "Clamp"]
COMPARE = ["==", "!=", "<", "<=", ">", ">="]
# The device's own, by what they give and take.
SPECIAL = {
    "u32": [(name, "u32 u32 u32") for name in (
        "Permute", "SumOfDifferences", "SumOfDifferences16", "SumOfDifferencesHigh", "MaskedDifferences", "Lerp", "AlignByte",
        "UnsignedField", "SignedField", "PairFmaHalf", "Dot", "Dot", "Dot")]
    + [(name, "u32 u32") for name in (
        "Mul24", "MulSigned24", "PairAdd", "PairSub", "PairMul", "PairShl", "PairShr", "PairShrSigned", "PairMin", "PairMax",
        "PairAddSaturated", "PairSubSaturated", "PairAddHalf", "PairMulHalf")]
    + [(name, "f32 f32") for name in ("PackBrain", "PackHalf", "PackToZero")],
    "u64": [("Sum128High", "u64 u64 u64"), ("Difference128High", "u64 u64 u64"), ("PairFmaSingle", "u64 u64 u64"),
            ("PairAddSingle", "u64 u64"), ("PairMulSingle", "u64 u64")],
    "i32": [("Exponent", "f32")],
    "f16": [("FmaMixedHalf", "f16 f32 f16")],
    "f32": [("Brain", "f32"), ("BrainAdd", "f32 f32"), ("BrainSub", "f32 f32"), ("BrainMul", "f32 f32"),
            ("FmaMixed", "f16 f16 f32"), ("MedianReal", "f32 f32 f32"), ("RealOfByte", "u32")],
    "f64": [("Mantissa", "f64")],
}

BUDGET = 250  # a kernel's expressions: few large kernels would take most of the time
OUTPUTS = 24  # as in model.h
MEMORY = 128
# Workgroups of whole waves, of which lanes may be read at will, and others.
WHOLE = [(64, 1, 1), (64, 1, 1), (128, 1, 1), (16, 8, 1), (32, 4, 2), (256, 1, 1), (64, 4, 1), (32, 32, 1), (1024, 1, 1)]
PARTIAL = [(32, 1, 1), (96, 1, 1), (1, 1, 1), (37, 1, 1), (100, 1, 1), (24, 4, 1), (8, 9, 2), (33, 5, 1), (250, 1, 1)]


class Expr:
    """op: const, var, counter, number, input, mine, keep, element, call, pointer, or how the C++ begins: 'Add<u32>'; kids are
    operands."""

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
        self.groups, self.shape, self.most = 1, (64, 1, 1), 1024


class Maker:
    def __init__(self, seed):
        self.random = random.Random(f"rochound {seed}")
        self.kernel = Kernel(str(seed))
        self.counters = []      # (name, uniform) of the loops around here
        self.next = 0
        self.scope = None       # variables by type: [(name, type)]
        self.functions = []     # that may be called here
        self.in_function = False
        self.budget = BUDGET    # expressions that may still be made
        self.limit = 9          # of the depth of expressions
        self.seed, self.turns = int(seed), {}

    def number(self):
        self.next += 1
        return self.next

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def in_turn(self, options):
        """One of some, in such an order that few kernels see them all."""
        name = str(options)
        self.turns[name] = self.turns.get(name, 3 * self.seed) + 1
        return options[self.turns[name] % len(options)]

    def type(self):
        if self.chance(60):
            return self.random.choices(INTS, INT_WEIGHTS)[0]
        return self.random.choice(["f16", "f16", "f32", "f32", "f32", "f64", "f64"])

    def variable(self, type_):
        """Some variable of this type, or None."""
        names = [f"v{i}" for i, t in enumerate(self.kernel.variables) if t == type_]
        return self.random.choice(names) if names else None

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
            return Expr("const", type_, data=f"OfBits<{type_}>({value:#x}ull)")
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

    def leaf(self, type_, uniform):
        r = self.random
        if type_ == "bool" or self.chance(12):
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
            if self.chance(20):
                return Expr("input", type_, data=(r.choice([1, 3, 5, 7, 17]), r.randrange(256)))
            name = self.variable(type_)
            if name and self.chance(85):
                return Expr("var", type_, data=name)
        names = [f"s{i}" for i, t in enumerate(self.kernel.uniforms) if t == type_]
        if names and self.chance(70):
            return Expr("var", type_, data=r.choice(names))
        if self.chance(70):
            return Expr("number", type_, data=r.randrange(8))
        return self.constant(type_) if type_ in REALS or self.chance(60) else Expr("var", type_, data="group")

    def condition(self, depth, uniform=False):
        r = self.random
        if depth > 1 and self.chance(20):
            return Expr("logic", "bool", [self.condition(depth - 1, uniform), self.condition(depth - 1, uniform)],
                        r.choice(["&&", "||", "!="]))
        if self.chance(10):
            type_ = r.choice(REALS)
            mask = sum(r.choice([0, bits]) for bits in (3, 4, 8, 16, 32, 64, 128, 256, 512))
            return Expr(f"IsClass<{type_}, {mask:#x}>", "bool", [self.expr(type_, depth - 1, uniform)])
        if self.chance(10):
            type_ = r.choice(["i32", "u32", "i64", "u64", "i16"])
            return Expr(f"{r.choice(['AddOverflows', 'SubOverflows'])}<{type_}>", "bool",
                        [self.expr(type_, depth - 1, uniform), self.expr(type_, depth - 1, uniform)])
        type_ = self.type()
        return Expr("compare", "bool", [self.expr(type_, depth - 1, uniform), self.expr(type_, depth - 1, uniform)],
                    r.choice(COMPARE))

    def expr(self, type_, depth, uniform=False):
        made = self.bare_expr(type_, min(depth, self.limit), uniform)
        if made.kids and type_ != "bool" and not self.in_function and self.chance(30):
            made = Expr("keep", type_, [made], self.random.randrange(64))
        return made

    def bare_expr(self, type_, depth, uniform):
        r = self.random
        self.budget -= 1
        if type_ == "bool":
            return self.condition(depth, uniform)
        if depth <= 0 or self.budget < 0 or self.chance(10):
            return self.leaf(type_, uniform)

        def kid(t=type_):
            return self.expr(t, depth - 1, uniform)

        def call(name, *types):
            return Expr(name, type_, [kid(t) for t in types])

        def as_wanted(made):
            return made if made.type == type_ else Expr(f"Convert<{type_}>", type_, [made])

        choice = r.randrange(100)
        if choice < 6:
            return Expr(f"Pick<{type_}>", type_, [self.condition(depth - 1, uniform), kid(), kid()])
        if choice < 16:
            other = self.type()
            if other != type_:
                return call(f"Convert<{type_}>", other)
        if choice < 22 and not self.in_function:
            if not uniform and self.chance(25):
                return Expr("mine", type_, data=r.randrange(MEMORY - SIZE[type_]))
            width = r.choice([1, SIZE[type_]])
            load = "Load" if width == 1 else "LoadAligned"
            return Expr(f"{load}<{type_}>", type_, [kid("u32")], ("load", width))
        if choice < 27 and self.kernel.arrays and not uniform and not self.in_function:
            index = r.randrange(len(self.kernel.arrays))
            return as_wanted(Expr("element", self.kernel.arrays[index][0], [kid("u32")], index))
        if choice < 31 and self.functions:
            function = r.choice(self.functions)
            twins = [f for f in self.functions if (f.result, f.parameters) == (function.result, function.parameters)]
            arguments = [self.expr(t, depth - 2, uniform) for t in function.parameters]
            if len(twins) > 1 and self.chance(60):
                which = self.expr("u32", 1, uniform)
                return as_wanted(Expr("pointer", function.result, [which] + arguments, tuple(f.name for f in twins)))
            return as_wanted(Expr("call", function.result, arguments, function.name))
        if choice < 46 and type_ in SPECIAL and self.chance({"u32": 100, "f32": 60, "u64": 60}.get(type_, 25)):
            name, types = r.choice(SPECIAL[type_])
            if name == "Dot":
                name = f"Dot<{r.choice([4, 8, 8, 16])}, {r.randrange(3)}, {r.choice(['true', 'false'])}>"
            if name == "RealOfByte":
                name = f"RealOfByte<{r.randrange(4)}>"
            return call(name, *types.split())
        if type_ in REALS:
            if choice < 49:
                return call(f"Bits<{type_}>", r.choice(SAME_SIZE[type_]))
            if choice < 53:
                return Expr(f"Scale<{type_}>", type_, [kid(), kid("i32")])
            if choice < 62:
                return call(f"Fma<{type_}>", type_, type_, type_)
            if choice < 72:
                return call(f"{r.choice(REAL_UNARY)}<{type_}>", type_)
            return call(f"{r.choice(REAL_BINARY)}<{type_}>", type_, type_)
        if choice < 48 and SIZE[type_] > 1:
            return call(f"Bits<{type_}>", {2: "f16", 4: "f32", 8: "f64"}[SIZE[type_]])
        if choice < 58:
            return call(f"{r.choice(UNARY)}<{type_}>", type_)
        if choice < 70:
            return call(f"{r.choice(TERNARY)}<{type_}>", type_, type_, type_)
        return call(f"{r.choice(BINARY)}<{type_}>", type_, type_)

    # --- statements
    def assign(self, uniform_place):
        kernel, r = self.kernel, self.random
        if self.in_function:
            name, type_ = r.choice(self.scope)
            return Stmt("assign", [self.expr(type_, 3)], to=name)
        if uniform_place and kernel.uniforms and self.chance(30):
            index = r.randrange(len(kernel.uniforms))
            return Stmt("assign", [self.expr(kernel.uniforms[index], 3, uniform=True)], to=f"s{index}")
        if kernel.arrays and self.chance(15):
            index = r.randrange(len(kernel.arrays))
            if self.chance(20):
                return Stmt("turn", [self.expr("u32", 2)], array=index)
            return Stmt("element", [self.expr("u32", 2), self.expr(kernel.arrays[index][0], 3)], array=index)
        index = r.randrange(len(kernel.variables))
        return Stmt("assign", [self.expr(kernel.variables[index], r.choice([2, 3, 4]))], to=f"v{index}")

    def vector(self, most):
        """Type, count and alignment of some elements of up to so many bytes."""
        type_ = self.type()
        count = self.random.choice([n for n in (1, 2, 2, 3, 3, 4, 4, 8, 16) if n * SIZE[type_] <= most])
        step = SIZE[type_] * (4 if count == 3 else count)
        return type_, count, step

    def memory(self):
        """A store to the thread's own memory, or a load of several elements."""
        r = self.random
        type_, count, step = self.vector(64)
        aligned = self.chance(50)
        if self.chance(50):
            return Stmt("load_vector", [self.expr("u32", 2)], type=type_, count=count, aligned=aligned,
                        place=r.randrange(64))
        at = r.randrange((MEMORY - step) // step + 1) * step if aligned else r.randrange(MEMORY - step)
        return Stmt("store_vector", [self.expr(type_, 3), self.expr(type_, 2)], type=type_, count=count, aligned=aligned, at=at)

    def atomic(self):
        r = self.random
        if self.chance(55):
            return self.own_atomic()
        place = r.choice(["args.cells->", "lds."]) if self.has_lds else "args.cells->"
        if place != "lds." and self.chance(20):
            return Stmt("atomic_real", [self.expr("u32", 2), self.expr("u32", 2)], type=r.choice(["f32", "f64"]))
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

    def own_atomic(self):
        """On a cell that is the thread's own, so that what is returned is known, too."""
        r = self.random
        lds = self.has_lds and self.chance(50)
        at = r.randrange(MEMORY // 8) * 8
        how, place = r.choice(["", "", "Strong", "Anywhere"]), r.randrange(64)
        if self.chance(30):
            type_ = r.choice(["f32", "f64", "pair"])
            return Stmt("own_real", [self.expr("i32", 2), self.expr("i32", 2)], type=type_, at=at, lds=lds, place=place,
                        op=r.choice(["kAdd", "kAdd", "kMin", "kMax"]), used=self.chance(60))
        kind = self.in_turn(["kAdd", "kSub", "kMin", "kInc", "kMax", "kAnd", "kDec", "kOr", "kXor", "kCasAdd", "kExchange", "kCas"])
        type_ = r.choice(["u32", "u64", "i32", "i64"] if kind in ("kMin", "kMax") else ["u32", "u64"])
        return Stmt("own", [self.expr(type_, 3)], type=type_, at=at, lds=lds, place=place, op=kind, how=how, used=self.chance(65))

    def wave(self, everywhere):
        """everywhere: all lanes are here, so reading a chosen one makes sense."""
        r = self.random
        def put(type_, text, *exprs, after="", around=None):
            return Stmt("wave", exprs, to=self.variable(type_), text=text, after=after, around=around, place=r.randrange(64))

        def dpp():
            control = r.choice([r.randrange(256), 0x100 + r.randrange(1, 16), 0x110 + r.randrange(1, 16),
                                0x120 + r.randrange(1, 16), 0x140, 0x141])
            masks = (r.choice([15, 15, r.randrange(16)]), r.choice([15, 15, r.randrange(16)]))
            return put("u32", f"Dpp<{control:#x}, {masks[0]}, {masks[1]}, {r.choice(['true', 'false'])}>",
                       self.expr("u32", 2), self.expr("u32", 3))

        if everywhere and self.whole_waves and self.chance(75):
            what = self.in_turn(["Shuffle", "Dpp", "Row", "ReadLane", "ShuffleXor", "Dpp", "Swizzle", "WriteLane", "ShuffleUp", "Row",
                                 "Send", "ShuffleDown", "Dpp"])
            if what.startswith("Shuffle"):
                type_ = r.choice([t for t in ("u32", "u64", "i32", "i64", "f32", "f64") if self.variable(t)])
                width = r.choice([2, 4, 8, 16, 32])
                second = self.expr("i32", 2) if what == "Shuffle" else Expr("const", "i32", data=str(r.randrange(width)))
                return put(type_, what, self.expr(type_, 3), second, after=f", {width}")
            if what == "Dpp":
                return dpp()
            if what == "Row":
                return put("u32", f"RowOperation<{r.randrange(128)}>", self.expr("u32", 2), self.expr("u32", 3))
            if what == "Swizzle":
                pattern = 0x8000 | r.randrange(256) if self.chance(40) else r.randrange(0x8000)
                return put("u32", f"Swizzle<{pattern:#x}>", self.expr("u32", 3))
            operands = [self.expr("u32", 1, uniform=True) for _ in range(2 if what == "WriteLane" else 1)]
            return put("u32", what, self.expr("u32", 3), *operands)
        what = self.in_turn(["Ballot", "FirstLane", "Any", "Dpp", "Count", "All"])
        if what == "Dpp":
            return dpp()
        if what == "FirstLane":
            return put("u32", what, self.expr("u32", 3))
        if what == "Count":
            return put("u32", "Ballot", self.condition(2), around="CountBelow")
        return put("u64", what, self.condition(2))

    def exchange(self):
        """Through LDS, by way of barriers: each thread writes its place and reads another's."""
        r = self.random
        if self.chance(40):
            type_, count, step = self.vector(16)
            return Stmt("exchange_vector", [self.expr(type_, 3), self.expr(type_, 2), self.expr("u32", 2)], type=type_,
                        count=count, aligned=self.chance(60), place=r.randrange(64))
        type_ = r.choice([t for t in self.kernel.variables if t != "f16" or self.chance(50)])
        return Stmt("exchange", [self.expr(type_, 3), self.expr("u32", 2)], to=self.variable(type_), type=type_,
                    shift=r.choice([0, 0, 0, 1, 2]), stride=r.choice([SIZE[type_], SIZE[type_], 8 if SIZE[type_] < 8 else 16]),
                    flat=self.chance(25))

    def block(self, size, depth, uniform_place, waves, loop=False):
        """uniform_place: all lanes of the workgroup are here; waves: wave operations are allowed; loop: break is."""
        made = []
        while len(made) < size and (self.budget > 0 or not made):
            made.append(self.statement(depth, uniform_place, waves, loop))
        return made

    def statement(self, depth, uniform_place, waves, loop):
        r = self.random
        choice = r.randrange(100)
        if not self.in_function:
            if choice < 9:
                return self.memory()
            if choice < 20:
                return self.atomic()
            if choice < 33 and waves and self.has_waves:
                return self.wave(uniform_place)
            if choice < 39 and uniform_place and self.has_lds:
                return self.exchange()
        elif choice < 10:
            return Stmt("leave", [self.condition(2)], how="return")
        if choice < 43 and loop:
            return Stmt("leave", [self.condition(2)], how=r.choice(["break", "continue"]))
        if choice < 66 and depth > 0:
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
            count = r.randrange(1, 4) if self.chance(85) else r.randrange(16, 24)  # more than registers are for
            parameters, result = [self.type() for _ in range(count)], self.type()
        self.scope = [(f"p{i}", t) for i, t in enumerate(parameters)] + [("r", result), ("x", "u32")]
        statements = self.block(r.randrange(1, 4), 1, False, False)
        value = self.expr(result, 2)
        function = Function(f"F{index}", result, parameters, statements, value, self.chance(30))
        function.arguments = [self.expr(t, 2 if len(parameters) < 5 else 0) for t in parameters]
        self.in_function = False
        self.functions.append(function)
        self.kernel.functions.append(function)

    def make(self):
        r, kernel = self.random, self.kernel
        kernel.variables = ["u32", "u64"] + [self.type() for _ in range(r.randrange(3, 9))]
        kernel.uniforms = [self.type() for _ in range(r.randrange(0, 5))]
        kernel.arrays = [(self.type(), r.choice([4, 8, 16, 32, 64])) for _ in range(r.choice([0, 0, 1, 2]))]
        self.has_waves, self.has_lds = self.chance(60), self.chance(45)
        self.whole_waves = self.has_waves and self.chance(80)
        kernel.shape = r.choice(WHOLE if self.whole_waves else WHOLE + PARTIAL * 2)
        size = kernel.shape[0] * kernel.shape[1] * kernel.shape[2]
        kernel.groups = 1 if size > 256 else r.choice([1, 1, 2, 3])
        kernel.most = r.choice([size, 1024])
        for index in range(r.choice([0, 0, 1, 2, 3])):
            self.make_function(index)
        kernel.statements = self.block(r.randrange(4, 10), r.choice([1, 2, 2, 3]), True, self.has_waves)
        # Some more of what needs no deep expressions, here and there, so that few kernels have seen it all.
        self.limit, self.budget = 1, BUDGET
        more = [self.own_atomic, self.own_atomic, self.memory]
        more += [lambda: self.wave(True)] * (3 if self.has_waves else 0) + [self.exchange] * (2 if self.has_lds else 0)
        for make_it in more:
            kernel.statements.insert(r.randrange(len(kernel.statements) + 1), make_it())
        return kernel


def make(seed):
    return Maker(seed).make()


def walk(statements):
    for s in statements:
        yield s
        for block in s.blocks:
            yield from walk(block)
