# SPDX-License-Identifier: MIT
"""Start, stop and mark the recording of this process by rochound.

    import rochound

    with rochound.Tracer():          # rochound run --start-off -- python3 train.py
        train_one_epoch()

Where nobody records, everything here does nothing. rochound.rpdTracerControl is for programs that were written for
RPD's module of that name.
"""

from rochound.tracer import Tracer

__all__ = ["Tracer"]
