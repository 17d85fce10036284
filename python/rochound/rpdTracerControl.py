# SPDX-License-Identifier: MIT
"""For programs written for RPD's module of this name; only the import changes:

    from rochound.rpdTracerControl import rpdTracerControl

Under `rochound run` the trace goes where that command says. Otherwise, as with RPD, the program needs no launcher: the
first instance tells the HSA runtime to load the recorder, which must come before the first GPU call, and at the end of
the main process the log of it and its children becomes the trace file.
"""

import atexit
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import warnings
from typing import Optional

from rochound import agent, command
from rochound.tracer import Tracer


class rpdTracerControl:  # the name is RPD's, and so are its methods'
    _filename = "trace.rpd"
    _create = True  # an existing file is replaced
    _active = True
    _log: Optional[str] = None  # what this process has set up itself: the log's folder
    _known = False

    @classmethod
    def setFilename(cls, name: str, append: bool = False) -> None:
        """Where the trace goes; before the first instance, in the main process. append: see skipCreate."""
        given = os.environ.get("RPDT_FILENAME")
        if given is not None and given != name:
            warnings.warn(f"RPDT_FILENAME is set: the trace goes to {given}", stacklevel=2)
            return
        if cls._log is not None:
            raise RuntimeError("the name of the trace cannot be changed once there is an rpdTracerControl")
        if multiprocessing.parent_process() is not None:
            raise RuntimeError("the name of the trace can be changed only in the main process")
        cls._filename = name
        if append:
            cls.skipCreate()

    @classmethod
    def skipCreate(cls) -> None:
        """An existing trace file is kept: this one gets a number in its name, since traces are not mixed."""
        cls._create = False

    @classmethod
    def skipLoad(cls) -> None:
        """Where the recorder is not there already, everything is to do nothing."""
        if not agent.announced() and agent.find() is None:
            cls._active = False

    def __init__(self) -> None:
        self._tracer = Tracer()
        if self._active and not rpdTracerControl._known:
            rpdTracerControl._known = True
            self._set_up()

    def start(self) -> None:
        if self._active:
            self._tracer.start()

    def stop(self) -> None:
        if self._active:
            self._tracer.stop()

    def flush(self) -> None:
        if self._active:
            self._tracer.flush()

    def rangePush(self, domain: str, apiName: str, args: object) -> None:
        if self._active:
            self._tracer.range_push(_label(domain, apiName, args))

    def rangePop(self) -> None:
        if self._active:
            self._tracer.range_pop()

    def setPythonTrace(self, doTrace: bool) -> None:
        """Every call of a Python function as a range, or no longer. Threads that run already: since Python 3.12."""
        profile = _PythonTrace(self) if doTrace and self._active else None
        sys.setprofile(None)  # what follows is not the program's
        if hasattr(threading, "setprofile_all_threads"):
            threading.setprofile_all_threads(profile)
        else:
            threading.setprofile(profile)
        sys.setprofile(profile)
        _PythonTrace.close_ranges(self)

    def __enter__(self) -> "rpdTracerControl":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @classmethod
    def _set_up(cls) -> None:
        """Without a launcher: what `rochound run --start-off` would do."""
        if agent.announced() or agent.find() is not None:
            return
        library = agent.find_installed()
        if library is None:
            warnings.warn("nothing is recorded: the rochound command is not on the PATH", stacklevel=4)
            return
        cls._filename = os.environ.get("RPDT_FILENAME", cls._filename)
        if not cls._create:
            cls._filename = _unused(cls._filename)
        cls._log = os.path.abspath(cls._filename) + ".log"
        shutil.rmtree(cls._log, ignore_errors=True)
        os.environ["ROCHOUND_LOG_DIR"] = cls._log
        os.environ["ROCHOUND_START"] = "off"
        agent.announce(library)
        atexit.register(cls._write_trace, os.getpid())

    @classmethod
    def _write_trace(cls, process: int) -> None:
        if os.getpid() != process or not os.path.isdir(cls._log):
            return
        Tracer().flush()
        environment = {name: value for name, value in os.environ.items() if name not in ("HSA_TOOLS_LIB", "LD_PRELOAD")}
        done = subprocess.run([command.find(), "log", "recover", cls._log, "-o", cls._filename], env=environment,
                              stdout=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            shutil.rmtree(cls._log, ignore_errors=True)
        else:
            print(f"rochound: the log is kept: rochound log recover {cls._log} -o {cls._filename}", file=sys.stderr)


class _PythonTrace:
    """A profile function (sys.setprofile) that counts per thread, so that it closes only what it has opened."""

    _counts = threading.local()

    def __init__(self, control):
        self._control = control

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if code.co_filename.startswith(_HERE) or code.co_name.startswith("__"):
            return
        if event == "call":
            self._counts.open = getattr(self._counts, "open", 0) + 1
            self._control.rangePush("python", code.co_name, f"{code.co_filename}:{code.co_firstlineno}")
        elif event == "return" and getattr(self._counts, "open", 0) > 0:
            self._counts.open -= 1
            self._control.rangePop()

    @classmethod
    def close_ranges(cls, control):
        for _ in range(getattr(cls._counts, "open", 0)):
            control.rangePop()
        cls._counts.open = 0


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _label(domain, name, args):
    """One text from RPD's three: "domain: name args"."""
    words = " ".join(str(word) for word in (name, args) if word)
    return f"{domain}: {words}" if domain else words


def _unused(filename):
    stem, ending = os.path.splitext(filename)
    number = 1
    while os.path.exists(filename):
        number += 1
        filename = f"{stem}-{number}{ending}"
    return filename
