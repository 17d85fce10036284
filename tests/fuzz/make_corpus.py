# SPDX-License-Identifier: MIT
"""Makes the seeds of the trace readers' fuzzers, tests/fuzz/corpus/NAME, from the inputs of tests/store.

  make_corpus.py ROCHOUND

They are kept in the tree, so this runs only when the inputs or the Parquet layout change. What fuzzing found is added
by hand, as finding-...; this leaves it alone.
"""

import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "store"))

import inputs  # noqa: E402

# The order of TraceTables() in src/store/trace_tables.cpp: a Parquet seed's first byte says which table it is.
TABLES = ["rocpd_metadata", "rocpd_string", "rocpd_ustring", "rocpd_api", "rocpd_copyapi", "rocpd_kernelapi", "rocpd_op",
          "rocpd_api_ops", "rocpd_monitor", "rocpd_counter", "rocpd_stackframe", "rochound_process", "rochound_agent",
          "rochound_queue", "rochound_kernel", "rochound_dispatch", "rochound_copy", "rochound_allocation",
          "rochound_lost"]


def write(fuzzer, name, data):
    folder = HERE / "corpus" / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def small(path):
    """The same database in the smallest pages."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("VACUUM")
    db.close()
    return path.read_bytes()


def main(rochound):
    chance = random.Random(4)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        inputs.write_all(folder)
        write("kineto", "trace.json", (folder / "kineto.json").read_bytes())
        write("kineto", "trace.json.gz", (folder / "kineto.json.gz").read_bytes())
        for i, event in enumerate(inputs.kineto_events()):
            write("kineto", f"event-{i:02}", json.dumps([event]).encode())
        # The first byte chooses how the rest is read: as the file, or as rows of one.
        write("rpd", "file-v2", b"\0" + small(folder / "v2.rpd"))
        write("rpd", "file-v3", b"\0" + small(folder / "v3.rpd"))
        subprocess.run([rochound, "convert", folder / "v3.rpd", "-o", folder / "ours.rpd"], check=True)
        write("rpd", "file-ours", b"\0" + small(folder / "ours.rpd"))
        write("rocpd", "file", b"\0" + small(folder / "rocpd.db"))
        for choice in 1, 2, 3:
            for i in range(3):
                write("rpd", f"rows-{choice}-{i}", bytes([choice]) + chance.randbytes(400))
        for choice in 1, 2:
            for i in range(3):
                write("rocpd", f"rows-{choice}-{i}", bytes([choice]) + chance.randbytes(600))
        subprocess.run([rochound, "convert", folder / "rocpd.db", "-o", folder / "out.parquet"], check=True)
        for number, table in enumerate(TABLES):
            file, = (folder / "out.parquet" / table).rglob("*.parquet")
            write("parquet", table, bytes([number]) + file.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
