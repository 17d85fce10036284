# SPDX-License-Identifier: MIT
"""The class Tracer: what a program tells its recorder."""

import contextlib
import warnings

from rochound import agent

_warned = False


class Tracer:
    """Starts, stops and marks. Starts and stops of all tracers of the process, and of C code, are counted together: it
    records until each start was answered by a stop. As a context manager it records inside the block.

    warn=True says once in the process, as a Python warning, that nobody records.
    """

    def __init__(self, warn=False):
        self._warn = warn

    @property
    def available(self):
        """Whether there is a recorder in this process, recording or not."""
        return agent.find() is not None

    @property
    def recording(self):
        library = agent.find()
        return library is not None and library.rochound_is_recording() == 1

    def start(self):
        self._call("start")

    def stop(self):
        self._call("stop")

    def flush(self):
        """Brings what the GPU has finished into the log; waits up to 0.2 s for work under way."""
        self._call("flush")

    def range_push(self, name):
        """Opens a range on this thread; ranges nest."""
        self._call("range_push", _text(name))

    def range_pop(self):
        self._call("range_pop")

    @contextlib.contextmanager
    def range(self, name):
        """with tracer.range("epoch 3"): ..."""
        self.range_push(name)
        try:
            yield
        finally:
            self.range_pop()

    def mark(self, text):
        """Marks this instant."""
        self._call("mark", _text(text))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def _call(self, name, *arguments):
        library = agent.find()
        if library is not None:
            getattr(library, "rochound_" + name)(*arguments)
        elif self._warn:
            _warn_once()


def _text(text):
    return str(text).encode("utf-8", "replace").replace(b"\0", b" ")


def _warn_once():
    global _warned
    if not _warned:
        _warned = True
        warnings.warn("this process is not recorded; start it with: rochound run -- python3 ...", stacklevel=4)
