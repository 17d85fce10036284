# SPDX-License-Identifier: MIT
"""Cases for floating point and conversions."""

import rows_float
import softfloat
import valu
from cases_valu import COMPUTE, OTHER, PARTIAL, Form, basic, compare_cases, family

ARITHMETIC = """v_add v_sub v_subrev v_mul v_fma v_fmac v_max v_min""".split()
ROUNDED = ("v_add", "v_mul", "v_fma", "v_sub", "v_fmac")
PARTS = """v_floor v_ceil v_trunc v_rndne v_fract v_frexp_mant""".split()
APPROXIMATE = """v_rcp v_sqrt v_rsq v_exp v_log v_sin v_cos""".split()


def exists(name):
    return name in valu.ROWS


def modifiers(book, name):
    """neg, abs, clamp and omod in the wide encoding."""
    sources = len([k for k in valu.ROWS[name].src if k != "mask"])

    def dressed(pattern, which, tail="", mode=COMPUTE):
        form = Form(name)
        for n in range(sources):
            dress = pattern[n % len(pattern)]
            form.src[n] = dress % form.src[n]
        book.add(form.text(tail), form.inputs(which) + " " + mode, optional=True)

    dressed(["-%s", "|%s|", "-|%s|"], 1)
    dressed(["|%s|", "-%s", "%s"], 0)
    dressed(["%s"], 1, "clamp")
    dressed(["%s"], 0, "clamp")
    dressed(["%s"], 1, "clamp", "mode=f0")  # without DX10_CLAMP a NaN stays
    # Output modifiers work only without IEEE mode and without output denormals.
    dressed(["%s"], 2, "mul:2", "mode=0")
    dressed(["%s"], 2, "mul:4", "mode=0")
    dressed(["%s"], 1, "div:2", "mode=0")
    dressed(["-%s"], 2, "mul:2 clamp", "mode=100")
    dressed(["%s"], 2, "mul:4", COMPUTE)


def arithmetic(book, kind):
    for prefix in ARITHMETIC:
        name = "%s_%s" % (prefix, kind)
        if not exists(name):
            continue
        basic(book, name, COMPUTE)
        form = Form(name)
        if prefix in ("v_max", "v_min"):
            book.add(form.text(), form.inputs(0) + " mode=f0")
            book.add(form.text(), form.inputs(1) + " mode=300")
        else:
            book.add(form.text(), form.inputs(2) + " mode=f0")
        if prefix in ROUNDED:
            for mode in ("3f5", "3fa", "3ff"):
                book.add(form.text(), form.inputs(2) + " mode=" + mode)
            book.add(form.text(), form.inputs(1) + " mode=3ff exec=" + OTHER)
            book.add(form.text(), form.inputs(0) + " mode=3fa")
            for mode in ("300", "350", "3a0"):  # flush all; only output; only input
                book.add(form.text(), form.inputs(1) + " mode=" + mode)
        modifiers(book, name)
    for prefix in PARTS:
        name = "%s_%s" % (prefix, kind)
        basic(book, name, COMPUTE, sets=(1, 0), suffixes=())
        form = Form(name)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE)
        book.add(Form(name).replace_src(0, "-|%s|" % form.src[0]).text(),
                 form.inputs(1) + " " + COMPUTE)
        if "frexp" not in prefix:
            book.add(form.text("clamp"), form.inputs(1) + " " + COMPUTE)


def add(book):
    for kind in ("f32", "f64", "f16"):
        book.file("valu_" + kind)
        arithmetic(book, kind)
    book.file("valu_minmax3")
    for kind in ("f32", "f16"):
        for prefix in ("v_min3", "v_max3", "v_med3"):
            name = "%s_%s" % (prefix, kind)
            basic(book, name, COMPUTE)
            form = Form(name)
            book.add(form.text(), form.inputs(1) + " mode=f0")
            book.add(form.text(), form.inputs(2) + " " + COMPUTE)
            neg = Form(name)
            neg.src = ["-" + s for s in neg.src[:1]] + ["|%s|" % s for s in neg.src[1:]]
            book.add(neg.text(), neg.inputs(2) + " " + COMPUTE)
            if kind == "f16":
                book.add(form.text("op_sel:[1,0,1,0]"), form.inputs(2) + " " + COMPUTE)
                book.add(form.text("op_sel:[0,1,0,1]"), form.inputs(2) + " " + COMPUTE)
    book.file("valu_mad")
    for name in ("v_fma_f16", "v_mad_f16", "v_div_fixup_f16"):
        form = Form(name)
        book.add(form.text("op_sel:[1,0,1,0]"), form.inputs(2) + " " + COMPUTE)
        book.add(form.text("op_sel:[0,1,0,1]"), form.inputs(2) + " " + COMPUTE)
    for name in ("v_mac_f16", "v_mad_f16", "v_mad_legacy_f16", "v_fma_legacy_f16",
                 "v_mul_legacy_f32", "v_fma_legacy_f32", "v_fmac_legacy_f32", "v_mac_f32",
                 "v_mad_f32", "v_mad_legacy_f32"):
        basic(book, name, COMPUTE)
        form = Form(name)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE)
    for kind, literal in (("f32", "0x40490fdb"), ("f16", "0x4248")):
        for name in ("v_fmamk", "v_madmk"):
            if exists("%s_%s" % (name, kind)):
                for which in (0, 2):
                    form = Form("%s_%s" % (name, kind)).replace_src(1, literal)
                    form.src[2] = "v6"
                    inputs = form.inputs(which).split()
                    inputs = [inputs[0], inputs[1]]
                    book.add(form.text(), " ".join(inputs) + " " + COMPUTE + " exec=" + PARTIAL)
        for name in ("v_fmaak", "v_madak"):
            if exists("%s_%s" % (name, kind)):
                for which in (0, 2):
                    form = Form("%s_%s" % (name, kind)).replace_src(2, literal)
                    inputs = form.inputs(which).split()[:2]
                    book.add(form.text(), " ".join(inputs) + " " + COMPUTE + " exec=" + PARTIAL)
    exponents(book)
    division(book)
    divisions(book)
    rare(book)
    book.file("valu_approximate")
    for kind in ("f32", "f16", "f64"):
        for prefix in APPROXIMATE + ["v_rcp_iflag", "v_exp_legacy", "v_log_legacy"]:
            name = "%s_%s" % (prefix, kind)
            if exists(name):
                form = Form(name)
                book.add(form.text(), form.inputs(1) + " " + COMPUTE)
                book.add(form.text(), form.inputs(2) + " " + COMPUTE + " exec=" + PARTIAL)
                book.add(form.text(), form.inputs(2) + " " + COMPUTE + " exec=0")
                neg = Form(name).replace_src(0, "-|%s|" % form.src[0])
                book.add(neg.text(), neg.inputs(2) + " " + COMPUTE)
    conversions(book)
    for kind in ("f32", "f64", "f16"):
        book.file("vcmp_" + kind)
        for test in rows_float.TESTS:
            compare_cases(book, "%s_%s" % (test, kind), COMPUTE)
            form = Form("v_cmp_%s_%s" % (test, kind), "_e64")
            form.dst = ["%s24"]
            form.src = ["-" + form.src[0], "|%s|" % form.src[1]]
            book.add(form.text(), form.inputs(0) + " " + COMPUTE)
        form = Form("v_cmp_lt_" + kind)
        book.add(form.text(), form.inputs(0) + " mode=300")
        form = Form("v_cmp_eq_" + kind)
        book.add(form.text(), form.inputs(0) + " mode=300")
        book.add(form.text(), form.inputs(0) + " mode=f0")
        compare_cases(book, "class_" + kind, COMPUTE)
        for bit in range(10):
            form = Form("v_cmp_class_" + kind, "_e64").replace_src(1, str(min(64, 1 << bit)) if
                                                                    bit < 7 else "s4")
            form.dst = ["%s24"]
            book.add(form.text(), form.inputs(1) + " s4=%x " % (1 << bit) + COMPUTE)
        form = Form("v_cmp_class_" + kind, "_e64").replace_src(1, "s4")
        form.dst = ["%s24"]
        form.src[0] = "-" + form.src[0]
        book.add(form.text(), form.inputs(1) + " s4=204 " + COMPUTE)
        form = Form("v_cmp_class_" + kind, "_e64").replace_src(1, "s4")
        form.dst = ["%s24"]
        form.src[0] = "|%s|" % form.src[0]
        book.add(form.text(), form.inputs(1) + " s4=1f8 " + COMPUTE)
    book.file("valu_cube")
    for name in ("v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32"):
        form = Form(name)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE + " exec=" + PARTIAL)
        book.add(form.text(), form.inputs(2, {0: "f32_x", 1: "f32_x", 2: "f32_x"}) + " " + COMPUTE)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE + " exec=0")


def rare(book):
    book.file("valu_rare")
    basic(book, "v_mullit_f32", COMPUTE)
    book.add("v_mullit_f32 v20, v2, v6, v10", "v2=f32_x v6=f32_y v10=f32_z " + COMPUTE)
    for n in range(0, 20, 3):
        book.add("v_trig_preop_f64 v[20:21], v[2:3], %d" % n,
                 "v2=f64_numlo v3=f64_numhi " + COMPUTE)
    book.add("v_trig_preop_f64 v[20:21], v[2:3], v6",
             "v2=f64_xlo v3=f64_xhi v6=lane exec=" + PARTIAL)
    for n in range(4):
        book.add("v_cvt_pkaccum_u8_f32 v20, v2, %d" % n, "v2=bytes_f32 exec=" + PARTIAL)
    book.add("v_cvt_pkaccum_u8_f32 v20, v2, v6", "v2=bytes_f32 v6=lane")


def exponents(book):
    book.file("valu_exponent")
    for name in ("v_frexp_exp_i32_f32", "v_frexp_exp_i32_f64", "v_frexp_exp_i16_f16"):
        basic(book, name, COMPUTE, sets=(1, 0), suffixes=())
        form = Form(name)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE)
        book.add(Form(name).replace_src(0, "-" + form.src[0]).text(),
                 form.inputs(2) + " " + COMPUTE)
    for name in ("v_ldexp_f32", "v_ldexp_f64", "v_ldexp_f16"):
        for second in ("exponent", "small_int", "int_a"):
            form = Form(name)
            given = {1: second}
            book.add(form.text(), form.inputs(1, given) + " " + COMPUTE)
            book.add(form.text(), form.inputs(2, given) + " " + COMPUTE + " exec=" + PARTIAL)
        book.add(form.text(), form.inputs(1, {1: "exponent"}) + " " + COMPUTE + " exec=0")
        book.add(form.text(), form.inputs(1, {1: "exponent"}) + " mode=300")
        book.add(form.text(), form.inputs(1, {1: "exponent"}) + " mode=3ff")
        book.add(Form(name).replace_src(0, "-|%s|" % form.src[0]).text("clamp"),
                 form.inputs(1, {1: "small_int"}) + " " + COMPUTE)


def division(book):
    book.file("valu_division")
    for kind in ("f32", "f64"):
        # As compilers use it: denominator first, then numerator first.
        for which in (0, 1, 2):
            for first in (1, 2):
                form = Form("v_div_scale_" + kind)
                form.src[0] = form.src[first]
                book.add(form.text(), form.inputs(which) + " " + COMPUTE)
        for first in (1, 2):
            form = Form("v_div_scale_" + kind)
            form.src[0] = form.src[first]
            given = {1: "%s_den" % kind, 2: "%s_num" % kind}
            book.add(form.text(), form.inputs(2, given) + " " + COMPUTE)
            form.dst[1] = "%s22"
            book.add(form.text(), form.inputs(2, given) + " " + COMPUTE + " exec=" + PARTIAL)
            book.add(form.text(), form.inputs(2, given) + " " + COMPUTE + " exec=0")
    for kind in ("f32", "f64", "f16"):
        if kind != "f16":
            form = Form("v_div_fmas_" + kind)
            for which in (0, 1, 2):
                book.add(form.text(), form.inputs(which) + " vcc=5a3c0ff0a5c3f00f " + COMPUTE)
            book.add(form.text(), form.inputs(2) + " vcc=5a3c0ff0a5c3f00f %s exec=%s" % (
                COMPUTE, PARTIAL))
            book.add(form.text(), form.inputs(2) + " vcc=5a3c0ff0a5c3f00f %s exec=0" % COMPUTE)
        form = Form("v_div_fixup_" + kind)
        for which in (1, 2):
            book.add(form.text(), form.inputs(which) + " " + COMPUTE)
            book.add(form.text(), form.inputs(which) + " " + COMPUTE + " exec=" + PARTIAL)
        given = {1: "%s_a" % kind, 2: "%s_b" % kind}
        book.add(form.text(), form.inputs(2, given) + " " + COMPUTE)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE + " exec=0")
    form = Form("v_div_fixup_legacy_f16")
    book.add(form.text(), form.inputs(1) + " " + COMPUTE)


# Whole divisions, as compilers write them: the result must be the correctly rounded quotient.
DIVISION = {
    "f32": """v_div_scale_f32 v20, %s4, v6, v6, v2; v_div_scale_f32 v22, %vcc, v2, v6, v2
        v_rcp_f32 v24, v20; v_fma_f32 v26, -v20, v24, 1.0; v_fma_f32 v24, v26, v24, v24
        v_mul_f32 v28, v22, v24; v_fma_f32 v30, -v20, v28, v22; v_fma_f32 v28, v30, v24, v28
        v_fma_f32 v20, -v20, v28, v22; v_div_fmas_f32 v20, v20, v24, v28
        v_div_fixup_f32 v40, v20, v6, v2""",
    "f64": """v_div_scale_f64 v[20:21], %s4, v[6:7], v[6:7], v[2:3]; v_rcp_f64 v[24:25], v[20:21]
        v_fma_f64 v[26:27], -v[20:21], v[24:25], 1.0
        v_fma_f64 v[24:25], v[24:25], v[26:27], v[24:25]
        v_fma_f64 v[26:27], -v[20:21], v[24:25], 1.0
        v_fma_f64 v[24:25], v[24:25], v[26:27], v[24:25]
        v_div_scale_f64 v[22:23], %vcc, v[2:3], v[6:7], v[2:3]
        v_mul_f64 v[28:29], v[22:23], v[24:25]
        v_fma_f64 v[20:21], -v[20:21], v[28:29], v[22:23]
        v_div_fmas_f64 v[20:21], v[20:21], v[24:25], v[28:29]
        v_div_fixup_f64 v[40:41], v[20:21], v[6:7], v[2:3]""",
}


def quotient(fmt, n, d):
    sign = fmt.sign_bit if fmt.sign(n) ^ fmt.sign(d) else 0
    if fmt.is_nan(n) or fmt.is_nan(d) or (fmt.is_inf(n) and fmt.is_inf(d)) or (
            fmt.is_zero(n) and fmt.is_zero(d)):
        return fmt.nan()
    if fmt.is_inf(n) or fmt.is_zero(d):
        return fmt.inf | sign
    if fmt.is_inf(d) or fmt.is_zero(n):
        return sign
    return fmt.round(fmt.value(n) / fmt.value(d))


def whole_division(fmt):
    """Only the quotient in v40 counts; the temporaries hold whatever the steps left."""

    def expect(wave):
        dwords = fmt.width // 32
        for lane in wave.active():
            n, d = (sum(wave.read_vector("v", first + k, lane) << 32 * k for k in range(dwords))
                    for first in (2, 6))
            text = softfloat.nibbles(quotient(fmt, n, d), fmt.width)
            for k in range(dwords):
                part = text[len(text) - 8 * k - 8:len(text) - 8 * k]
                wave.write_vector("v", 40 + k, lane, softfloat.from_nibbles(part))
            for temporary in (20, 22, 24, 26, 28, 30):
                for k in range(dwords):
                    wave.write_vector("v", temporary + k, lane, softfloat.unknown(32))
        for index in (4, 5, 106, 107):
            wave.masks[index] = 0

    return expect


def divisions(book):
    book.file("division_whole")
    for kind, fmt in (("f32", softfloat.F32), ("f64", softfloat.F64)):
        text = DIVISION[kind].replace("\n", ";")
        for n, d in (("a", "b"), ("c", "d"), ("d", "c"), ("x", "y"), ("num", "den"), ("den", "num"),
                     ("e", "num"), ("num", "e")):
            parts = ("lo", "hi") if kind == "f64" else ("",)
            inputs = " ".join("v%d=%s_%s%s" % (2 + k, kind, n, p) for k, p in enumerate(parts))
            inputs += " " + " ".join("v%d=%s_%s%s" % (6 + k, kind, d, p)
                                     for k, p in enumerate(parts))
            book.add(text, inputs + " " + COMPUTE, expect=whole_division(fmt),
                     name="division_" + kind)


CONVERT = """v_cvt_i32_f32 v_cvt_u32_f32 v_cvt_i32_f64 v_cvt_u32_f64 v_cvt_i16_f16 v_cvt_u16_f16
v_cvt_flr_i32_f32 v_cvt_rpi_i32_f32 v_cvt_f32_i32 v_cvt_f32_u32 v_cvt_f64_i32 v_cvt_f64_u32
v_cvt_f16_i16 v_cvt_f16_u16 v_cvt_f32_ubyte0 v_cvt_f32_ubyte1 v_cvt_f32_ubyte2 v_cvt_f32_ubyte3
v_cvt_off_f32_i4 v_cvt_f16_f32 v_cvt_f32_f16 v_cvt_f32_f64 v_cvt_f64_f32 v_sat_pk_u8_i16""".split()


def conversions(book):
    book.file("valu_convert")
    for name in CONVERT:
        basic(book, name, COMPUTE, sets=(1, 0))
        form = Form(name)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE)
        if family(form.row.src[0]) != "int":
            book.add(Form(name).replace_src(0, "-|%s|" % form.src[0]).text(),
                     form.inputs(1) + " " + COMPUTE)
        if form.row.dst[0] in ("f16", "f32"):
            book.add(form.text("clamp"), form.inputs(1) + " " + COMPUTE, optional=True)
        if name in ("v_cvt_f16_f32", "v_cvt_f32_i32", "v_cvt_f32_u32", "v_cvt_f16_i16",
                    "v_cvt_f16_u16", "v_cvt_f32_f64"):
            for mode in ("3f5", "3fa", "3ff"):
                book.add(form.text(), form.inputs(1) + " mode=" + mode)
        if name in ("v_cvt_f16_f32", "v_cvt_f32_f16", "v_cvt_f32_f64", "v_cvt_f64_f32"):
            book.add(form.text(), form.inputs(1) + " mode=300")
    for value in ("f16_edge",):
        book.add("v_cvt_f16_f32 v20, v2", "v2=%s %s" % (value, COMPUTE))
        book.add("v_cvt_f16_f32 v20, v2", "v2=%s mode=3ff" % value)
    book.file("valu_convert_pack")
    for name in ("v_cvt_pkrtz_f16_f32", "v_cvt_pknorm_i16_f32", "v_cvt_pknorm_u16_f32",
                 "v_cvt_pknorm_i16_f16", "v_cvt_pknorm_u16_f16", "v_pack_b32_f16"):
        basic(book, name, COMPUTE)
        form = Form(name)
        book.add(form.text(), form.inputs(2) + " " + COMPUTE)
        if "norm" in name:
            unit = "unit_f32" if name.endswith("f32") else "unit_f16"
            book.add(form.text(), form.inputs(2, {0: unit, 1: unit}) + " " + COMPUTE)
        negated = Form(name)
        negated.src = ["-" + negated.src[0], "|%s|" % negated.src[1]]
        book.add(negated.text(), negated.inputs(2) + " " + COMPUTE)
    book.add("v_cvt_pkrtz_f16_f32 v20, v2, v6", "v2=f16_edge v6=f32_x " + COMPUTE)
    for select in ("1,0,0", "0,1,0", "1,1,0"):
        book.add("v_pack_b32_f16 v20, v2, v6 op_sel:[%s]" % select,
                 "v2=f16_x v6=f16_y " + COMPUTE)
    for name in ("v_cvt_norm_i16_f16", "v_cvt_norm_u16_f16"):
        basic(book, name, COMPUTE, sets=(1, 0), suffixes=())
        book.add("%s v20, v2" % name, "v2=unit_f16 " + COMPUTE)
    for position in range(4):
        book.add("v_cvt_pk_u8_f32 v20, v2, %d, v10" % position,
                 "v2=bytes_f32 v10=int_a %s exec=%s" % (COMPUTE, PARTIAL))
    book.add("v_cvt_pk_u8_f32 v20, v2, v6, v10", "v2=f32_c v6=lane v10=int_b " + COMPUTE)
    book.add("v_cvt_pk_u8_f32 v20, v2, v6, v10", "v2=f32_c v6=lane v10=int_b exec=0")
    book.file("valu_fp8")
    for kind in ("fp8", "bf8"):
        for base in (0, 0x40404040, 0x80808080, 0xC0C0C0C0):
            values = "iota(%x,1010101)" % base
            book.add("v_cvt_f32_%s v20, v2" % kind, "v2=%s %s" % (values, COMPUTE))
        book.add("v_cvt_f32_%s v20, v2" % kind, "v2=int_a exec=" + PARTIAL)
        book.add("v_cvt_f32_%s v20, v2" % kind, "v2=int_a exec=0")
        for select in ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3"):
            book.add("v_cvt_f32_%s_sdwa v20, v2 src0_sel:%s" % (kind, select), "v2=int_a")
        for select in ("WORD_0", "WORD_1"):
            book.add("v_cvt_pk_f32_%s_sdwa v[20:21], v2 src0_sel:%s" % (kind, select), "v2=int_b")
        book.add("v_cvt_pk_f32_%s v[20:21], v2" % kind, "v2=int_c exec=" + PARTIAL)
        for tail in ("", " op_sel:[0,0,1]"):
            for a, b in (("f32_c", "f32_x"), ("small_f32", "f32_y")):
                book.add("v_cvt_pk_%s_f32 v20, v2, v6%s" % (kind, tail),
                         "v2=%s v6=%s %s exec=%s" % (a, b, COMPUTE, PARTIAL))
        book.add("v_cvt_pk_%s_f32 v20, v2, v6" % kind, "v2=f32_c v6=f32_x exec=0")
        for select in ("0,0,0,0", "0,0,1,0", "0,0,0,1", "0,0,1,1"):
            book.add("v_cvt_sr_%s_f32 v20, v2, v6 op_sel:[%s]" % (kind, select),
                     "v2=small_f32 v6=all(0) %s exec=%s" % (COMPUTE, PARTIAL))
