# SPDX-License-Identifier: MIT
"""Cases for the vector ALU. Most follow from a row's types; what is special is added by hand."""

import rows_int
import valu

PARTIAL = "8f3c9a55e7816ca3"
OTHER = "00ff3c5a96a5c30f"
COMPUTE = "mode=3f0"  # what a HIP kernel runs with: IEEE and DX10_CLAMP set, denormals kept

# Input vectors per type and set; of 64 bit types the lower and the upper half.
SETS = {
    "int": (("int_a", "int_b", "int_c"), ("int_c", "int_d", "int_a"), ("int_d", "int_c", "int_b")),
    "f32": (("f32_a", "f32_b", "f32_d"), ("f32_c", "f32_d", "f32_e"), ("f32_x", "f32_y", "f32_z")),
    "f16": (("f16_a", "f16_b", "f16_d"), ("f16_c", "f16_d", "f16_e"), ("f16_x", "f16_y", "f16_z")),
    "f64": (("f64_a", "f64_b", "f64_d"), ("f64_c", "f64_d", "f64_e"), ("f64_x", "f64_y", "f64_z")),
}
MASK_INPUT = "s20=c33c5aa5 s21=0ff0f00f vcc=5a3c0ff0a5c3f00f"


def family(kind):
    return kind if kind in SETS else "int"


def registers(first, width):
    count = max(1, width // 32)
    return "v%d" % first if count == 1 else "v[%d:%d]" % (first, first + count - 1)


class Form:
    """The text and inputs of one instruction, from its row."""

    def __init__(self, name, suffix=""):
        self.name = name
        self.row = valu.ROWS[name]
        self.suffix = suffix
        self.dst = []
        for kind in self.row.dst:
            if kind == "mask":
                self.dst.append("%vcc")
            else:
                self.dst.append(registers(20, valu.width_of(kind)))
        self.src = []
        for n, kind in enumerate(self.row.src):
            if kind == "mask":
                self.src.append("%vcc")
            else:
                self.src.append(registers(2 + 4 * n, valu.width_of(kind)))

    def text(self, modifiers=""):
        head = self.name + self.suffix
        return (head + " " + ", ".join(self.dst + self.src) + " " + modifiers).strip()

    def inputs(self, which, given=None):
        items = []
        for n, kind in enumerate(self.row.src):
            if kind == "mask":
                continue
            width = valu.width_of(kind)
            names = SETS[family(kind)][which]
            name = (given or {}).get(n) or names[n % 3]
            if width == 64 and kind == "f64":
                items += ["v%d=%slo v%d=%shi" % (2 + 4 * n, name, 3 + 4 * n, name)]
            elif width > 32:
                other = {"int_a": "int_b", "int_b": "int_c", "int_c": "int_d", "int_d": "int_a",
                         "small_int": "int_a"}.get(name, "int_a")
                items += ["v%d=%s v%d=%s" % (2 + 4 * n, name, 3 + 4 * n, other)]
            else:
                items += ["v%d=%s" % (2 + 4 * n, name)]
        if "mask" in self.row.src or "mask" in self.row.dst:
            items.append(MASK_INPUT)
        return " ".join(items)

    def replace_src(self, n, text):
        self.src[n] = text
        return self


def basic(book, name, mode="", given=None, sets=(0, 1), suffixes=("", "_e64")):
    """The usual ones: special values, partial exec, no lane at all, scalar and constant sources."""
    mode = " " + mode if mode else ""
    form = Form(name)
    book.add(form.text(), form.inputs(sets[0], given) + mode)
    book.add(form.text(), form.inputs(sets[-1], given) + mode + " exec=" + PARTIAL)
    book.add(form.text(), form.inputs(sets[0], given) + mode + " exec=0")
    if "_e64" in suffixes:
        wide = Form(name, "_e64")
        if "mask" in wide.row.src:
            wide.src[wide.row.src.index("mask")] = "%s20"
        if "mask" in wide.row.dst:
            wide.dst[wide.row.dst.index("mask")] = "%s22"
        book.add(wide.text(), wide.inputs(sets[-1], given) + mode + " exec=" + OTHER, optional=True)
    first = form.row.src[0]
    if first != "mask":
        width = valu.width_of(first)
        scalar = Form(name).replace_src(0, "s8" if width <= 32 else "s[8:9]")
        value = {"f32": "s8=c0490fdb", "f16": "s8=4248c500", "f64": "s8=54442d18 s9=c00921fb"}.get(
            first, "s8=80000003 s9=7ffffff1")
        book.add(scalar.text(), scalar.inputs(sets[0], given) + " " + value + mode, optional=True)
        for constant in (("-16",) if family(first) == "int" else ("-4.0", "3")):
            inline = Form(name).replace_src(0, constant)
            book.add(inline.text(), inline.inputs(sets[0], given) + mode + " exec=" + OTHER,
                     optional=True)


def literals(book):
    book.file("literals")
    for text, inputs in (
            ("v_mov_b32 v20, 0x12345678", ""), ("v_add_f32 v20, 0x40490fdb, v2", "v2=f32_x"),
            ("v_and_b32 v20, 0xff00ff, v2", "v2=int_a"),
            ("v_add_f16 v20, 0x4248, v2", "v2=f16_x"),
            ("v_add_f64 v[20:21], 0x40090000, v[2:3]", "v2=f64_xlo v3=f64_xhi"),
            ("v_add3_u32 v20, v2, 0x12345678, v6", "v2=int_a v6=int_b"),
            ("v_fma_f32 v20, v2, s4, s5", "v2=f32_x s4=3fc00000 s5=bf000000"),
            ("v_bfi_b32 v20, s4, v2, 0x7fff0000", "v2=int_a s4=f0f0f0f0"),
            ("v_cmp_lt_f32 %vcc, 0x40490fdb, v2", "v2=f32_x"),
            ("v_cvt_f64_f32 v[20:21], 0x40490fdb", ""),
            ("v_mul_f32 v20, 0.15915494, v2", "v2=f32_x"),
            ("v_lshlrev_b64 v[20:21], 4, 0x12345678", "")):
        book.add(text, inputs + (" " + COMPUTE if "_f" in text else ""), optional=True)


INT32 = """v_mov_b32 v_add_u32 v_add_nc_u32 v_sub_u32 v_sub_nc_u32 v_subrev_u32 v_subrev_nc_u32
v_mul_lo_u32 v_mul_hi_u32 v_mul_hi_i32 v_mul_u32_u24 v_mul_hi_u32_u24 v_mul_i32_i24
v_mul_hi_i32_i24 v_mad_u32_u24 v_mad_i32_i24 v_mad_u32_u16 v_mad_i32_i16 v_and_b32 v_or_b32
v_xor_b32 v_xnor_b32 v_not_b32 v_bfrev_b32 v_ffbh_u32 v_ffbl_b32 v_ffbh_i32 v_min_i32 v_max_i32
v_min_u32 v_max_u32 v_bfi_b32 v_and_or_b32 v_or3_b32 v_xor3_b32 v_add3_u32 v_xad_u32 v_min3_i32
v_max3_i32 v_med3_i32 v_min3_u32 v_max3_u32 v_med3_u32 v_lerp_u8 v_sad_u8 v_sad_hi_u8 v_sad_u16
v_sad_u32 v_msad_u8 v_bcnt_u32_b32 v_mbcnt_lo_u32_b32 v_mbcnt_hi_u32_b32 v_add_i32 v_add_nc_i32
v_sub_i32 v_sub_nc_i32 v_mov_b64 v_qsad_pk_u16_u8 v_mqsad_pk_u16_u8 v_mqsad_u32_u8 v_perm_b32
v_add_co_u32 v_sub_co_u32 v_subrev_co_u32 v_addc_co_u32 v_add_co_ci_u32 v_subb_co_u32
v_sub_co_ci_u32 v_subbrev_co_u32 v_subrev_co_ci_u32 v_mad_u64_u32 v_mad_i64_i32 v_cndmask_b32
v_cvt_pk_u16_u32 v_cvt_pk_i16_i32""".split()
SHIFTS = {"v_lshlrev_b32": 0, "v_lshrrev_b32": 0, "v_ashrrev_i32": 0, "v_lshlrev_b64": 0,
          "v_lshrrev_b64": 0, "v_ashrrev_i64": 0, "v_lshlrev_b16": 0, "v_lshrrev_b16": 0,
          "v_ashrrev_i16": 0, "v_alignbit_b32": 2, "v_alignbyte_b32": 2, "v_lshl_add_u32": 1,
          "v_add_lshl_u32": 2, "v_lshl_or_b32": 1}
INT16 = """v_add_u16 v_add_nc_u16 v_sub_u16 v_sub_nc_u16 v_subrev_u16 v_add_i16 v_add_nc_i16
v_sub_i16 v_sub_nc_i16 v_mul_lo_u16 v_min_u16 v_max_u16 v_min_i16 v_max_i16 v_mad_u16 v_mad_i16
v_min3_u16 v_med3_u16 v_max3_u16 v_min3_i16 v_med3_i16 v_max3_i16 v_mad_legacy_u16
v_mad_legacy_i16""".split()
CLAMPED = """v_add_u32 v_sub_u32 v_add_nc_u32 v_sub_nc_u32 v_add_i32 v_sub_i32 v_add_nc_i32
v_sub_nc_i32 v_add_u16 v_sub_u16 v_add_nc_u16 v_sub_nc_u16 v_add_i16 v_sub_i16 v_add_nc_i16
v_sub_nc_i16 v_mad_u16 v_mad_i16 v_mad_u32_u24 v_mad_i32_i24 v_mad_u32_u16 v_mad_i32_i16
v_sad_u8 v_sad_u32""".split()


def integers(book):
    book.file("valu_int32")
    for name in INT32:
        basic(book, name, given={2: "shift_a"} if name == "v_perm_b32" else None)
    book.add("v_perm_b32 v20, v2, v6, v10", "v2=int_c v6=int_d v10=all(0c0d0b01)")
    book.add("v_perm_b32 v20, v2, v6, v10", "v2=int_c v6=int_d v10=all(07060504)")
    book.add("v_perm_b32 v20, v2, v6, v10", "v2=int_c v6=int_d v10=all(080a0900)")
    book.add("v_cndmask_b32_e64 v20, -v2, |v6|, %s20", "v2=f32_c v6=f32_d " + MASK_INPUT)
    book.add("v_cndmask_b32_e64 v20, 0, 1, %s20", MASK_INPUT)
    book.add("v_cndmask_b32_e64 v20, 0, -1, %vcc", MASK_INPUT + " exec=" + PARTIAL)
    book.add("v_mbcnt_lo_u32_b32 v20, -1, 0")
    book.add("v_mbcnt_hi_u32_b32 v20, -1, v2", "v2=lane")
    book.add("v_mbcnt_lo_u32_b32 v20, exec_lo, 0", "exec=" + PARTIAL)
    book.file("valu_shift")
    for name, shift in SHIFTS.items():
        basic(book, name, given={shift: "shift_a"})
        form = Form(name)
        book.add(form.text(), form.inputs(1, {shift: "shift_b"}) + " exec=" + OTHER)
    for a, b in (("shift_a", "shift_b"), ("shift_b", "int_a")):
        book.add("v_bfm_b32 v20, v2, v6", "v2=%s v6=%s" % (a, b))
        for name in ("v_bfe_u32", "v_bfe_i32"):
            book.add("%s v20, v2, v6, v10" % name, "v2=int_a v6=%s v10=%s" % (a, b))
            book.add("%s v20, v2, v6, v10" % name,
                     "v2=int_c v6=%s v10=%s exec=%s" % (b, a, PARTIAL))
            book.add("%s v20, v2, 8, 8" % name, "v2=int_d exec=0")
    for shift in ("0", "1", "4"):
        book.add("v_lshl_add_u64 v[20:21], v[2:3], %s, v[10:11]" % shift,
                 "v2=int_a v3=int_b v10=int_c v11=int_d exec=" + PARTIAL)
    book.add("v_lshl_add_u64 v[20:21], v[2:3], 3, v[10:11]",
             "v2=int_a v3=int_b v10=int_c v11=int_d exec=0")
    book.file("valu_int16")
    for name in INT16:
        basic(book, name)
        sources = len(valu.ROWS[name].src)
        for bits in (1, 6, 8 if sources == 2 else 15):
            select = ",".join(str(bits >> i & 1) for i in range(sources + 1))
            form = Form(name)
            book.add(form.text("op_sel:[%s]" % select), form.inputs(1), optional=True)
    book.file("valu_int_clamp")
    for name in CLAMPED:
        form = Form(name)
        book.add(form.text("clamp"), form.inputs(0), optional=True)
        book.add(form.text("clamp"), form.inputs(1) + " exec=" + PARTIAL, optional=True)
    book.file("vcmp_int")
    for bits in (16, 32, 64):
        for kind in "iu":
            for test in rows_int.COMPARE:
                compare_cases(book, "%s_%s%d" % (test, kind, bits), "")


def compare_cases(book, tail, mode):
    name = "v_cmp_" + tail
    form = Form(name)
    for which in (0, 1):
        book.add(form.text(), form.inputs(which) + " " + mode, optional=True)
    equal = form.inputs(1, {1: SETS[family(form.row.src[1])][1][0]})
    if "class" not in tail:
        book.add(form.text(), equal + " " + mode + " exec=" + PARTIAL, optional=True)
    book.add(form.text(), form.inputs(1) + " vcc=ffffffffffffffff exec=0 " + mode, optional=True)
    wide = Form(name, "_e64")
    wide.dst = ["%s24"]
    book.add(wide.text(), wide.inputs(1) + " exec=" + OTHER + " " + mode, optional=True)
    name = "v_cmpx_" + tail
    nine = Form(name)
    ten = Form(name)
    ten.dst = []
    for form, target in ((nine, "gfx9"), (ten, "gfx1")):
        for tail in (" vcc=123456789abcdef ", " exec=" + PARTIAL + " ", " exec=0 "):
            book.add(form.text(), form.inputs(1) + tail + mode, target=target, optional=True)
    nine = Form(name, "_e64")
    nine.dst = ["%s24"]
    ten = Form(name, "_e64")
    ten.dst = []
    for form, target in ((nine, "gfx9"), (ten, "gfx1")):
        book.add(form.text(), form.inputs(1) + " exec=" + OTHER + " " + mode, target=target,
                 optional=True)


def add(book):
    integers(book)
    literals(book)
