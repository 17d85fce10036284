# SPDX-License-Identifier: MIT
"""Finds the recorder in this process, as include/rochound/rochound.h does for C, and can bring it in."""

import ctypes
import os
import re
import shutil
from typing import Any, List, Optional

from rochound import command

LIBRARY = "librochound_agent.so"

_agent: Any = None


def find() -> Any:
    """The recorder, or None where nobody records. It is looked for until it is there: Python can wait that long."""
    global _agent
    if _agent is None:
        _agent = _loaded() or _listed()
    return _agent


def find_installed() -> Optional[str]:
    """The path of the recorder's library beside the rochound command, or None."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.join(command.HOME, "lib")]
    program = shutil.which("rochound")
    if program:
        folders.append(os.path.join(os.path.dirname(os.path.realpath(program)), "..", "lib"))
    # From lib/python3/site-packages/rochound of the same installation.
    folders.append(os.path.join(here, "..", "..", ".."))
    for folder in folders:
        path = os.path.normpath(os.path.join(folder, LIBRARY))
        if os.path.exists(path):
            return path
    return None


def announced() -> bool:
    """Whether the environment tells the HSA runtime to load the recorder."""
    return bool(_paths())


def announce(path: str) -> None:
    """Tells the HSA runtime of this process, and those of its children, to load it. Before the first GPU call."""
    others = os.environ.get("HSA_TOOLS_LIB", "")
    word = re.sub(r'([ "\\])', r"\\\1", path)
    os.environ["HSA_TOOLS_LIB"] = f"{others} {word}".strip()


def _loaded() -> Any:
    try:
        return _typed(ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY))
    except OSError:
        return None


def _listed() -> Any:
    """Loads it from where the runtime is going to load it from, so that a start before the first GPU call counts."""
    for path in _paths():
        try:
            return _typed(ctypes.CDLL(path))
        except OSError:
            pass
    return None


def _paths() -> List[str]:
    """What the environment tells the runtimes to load: HSA_TOOLS_LIB is a list with spaces, as a shell reads them."""
    words = re.findall(r"(?:\\.|[^ \\])+", os.environ.get("HSA_TOOLS_LIB", ""))
    paths = [re.sub(r"\\(.)", r"\1", word) for word in words]
    paths.append(os.environ.get("ROCPROFILER_REGISTER_LIBRARY", ""))
    return [path for path in paths if os.path.basename(path) == LIBRARY]


def _typed(library: Any) -> Any:
    for name in ("start", "stop", "flush", "range_pop"):
        getattr(library, "rochound_" + name).restype = None
    for name in ("range_push", "mark"):
        function = getattr(library, "rochound_" + name)
        function.restype = None
        function.argtypes = [ctypes.c_char_p]
    return library
