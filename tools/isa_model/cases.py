# SPDX-License-Identifier: MIT
"""Which cases there are."""

import cases_ds
import cases_float
import cases_gfx11
import cases_gfx950
import cases_lane
import cases_memory
import cases_mfma
import cases_salu
import cases_valu


def add_all(book):
    for module in (cases_salu, cases_valu, cases_float, cases_lane, cases_ds, cases_memory,
                   cases_mfma, cases_gfx950, cases_gfx11):
        module.add(book)
