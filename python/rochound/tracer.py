# SPDX-License-Identifier: MIT
"""The class Tracer: what a program tells its recorder."""

import contextlib
import warnings
from typing import Iterator

from rochound import agent

_warned = False


class Tracer:
    """Starts, stops and marks. Starts and stops of all tracers of the process, and of C code, are counted together: it
    records until each start was answered by a stop. As a context manager it records inside the block.

    warn=True says once in the process, as a Python warning, that nobody records.
    """

    def __init__(self, warn: bool = False) -> None:
        self._warn = warn

    @property
    def available(self) -> bool:
        """Whether there is a recorder in this process, recording or not."""
        return agent.find() is not None

    @property
    def recording(self) -> bool:
        library = agent.find()
        return library is not None and bool(library.rochound_is_recording() == 1)

    def start(self) -> None:
        self._call("start")

    def stop(self) -> None:
        self._call("stop")

    def flush(self) -> None:
        """Brings what the GPU has finished into the log; waits up to 0.2 s for work in flight."""
        self._call("flush")

    def range_push(self, name: object) -> None:
        """Opens a range on this thread; ranges nest."""
        self._call("range_push", _text(name))

    def range_pop(self) -> None:
        self._call("range_pop")

    @contextlib.contextmanager
    def range(self, name: object) -> Iterator[None]:
        """with tracer.range("epoch 3"): ..."""
        self.range_push(name)
        try:
            yield
        finally:
            self.range_pop()

    def mark(self, text: object) -> None:
        """Marks this instant."""
        self._call("mark", _text(text))

    def __enter__(self) -> "Tracer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _call(self, name: str, *arguments: bytes) -> None:
        library = agent.find()
        if library is not None:
            getattr(library, "rochound_" + name)(*arguments)
        elif self._warn:
            _warn_once()


def _text(text: object) -> bytes:
    return str(text).encode("utf-8", "replace").replace(b"\0", b" ")


def _warn_once() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn("this process is not recorded; start it with: rochound run -- python3 ...", stacklevel=4)
