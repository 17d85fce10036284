# SPDX-License-Identifier: MIT
"""Start, stop and mark the recording of this process by rochound.

    import rochound

    with rochound.Tracer():          # rochound run --start-off -- python3 train.py
        train_one_epoch()

Where nobody records, everything of that does nothing. Traces can be asked, too:

    rochound.open("trace.rpd").explain("idle")["causes"].df()
    rochound.open("trace.rpd").query("select * from top")

rochound.rpdTracerControl is for programs that were written for
RPD's module of that name.
"""

from rochound.trace import Answer, Table, Trace, TraceError, open
from rochound.tracer import Tracer


def _version() -> str:
    """Written down when a package is made; a checkout has it in VERSION."""
    try:
        from rochound._version import VERSION
    except ImportError:
        import pathlib

        return (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
    return VERSION


__version__ = _version()
__all__ = ["Answer", "Table", "Trace", "TraceError", "Tracer", "open"]
