#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One rank of stuck.hip, in Python: reduces as often as the others, then stays in Python."""

import ctypes
import os
import pathlib
import sys
import time

COUNT, TURNS = 4096, 3
FLOAT, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def checked(status):
    if status != 0:
        sys.exit(f"status {status}")


def main():
    hip, rccl = ctypes.CDLL("libamdhip64.so"), ctypes.CDLL("librccl.so.1")
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    checked(hip.hipSetDevice(rank))
    path = pathlib.Path(os.environ["RANKS_FOLDER"]) / "id"
    while not path.exists():
        time.sleep(0.01)
    unique_id = UniqueId.from_buffer_copy(path.read_bytes())
    communicator, data, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    rccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    checked(rccl.ncclCommInitRank(ctypes.byref(communicator), ranks, unique_id, rank))
    checked(hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1))
    checked(hip.hipMalloc(ctypes.byref(data), ctypes.c_size_t(COUNT * 4)))
    for _ in range(TURNS):
        checked(rccl.ncclAllReduce(data, data, ctypes.c_size_t(COUNT), FLOAT, SUM, communicator, stream))
        checked(hip.hipStreamSynchronize(stream))
    os.write(1, f"ready {rank}\n".encode())
    while True:
        time.sleep(1)


main()
