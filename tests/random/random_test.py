#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the makers of random kernels, without a compiler: what CI's kernels contain, and that shrinking shrinks."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kernels  # noqa: E402
import render  # noqa: E402
import run_random  # noqa: E402

CI_SEEDS = range(60)


class Kernels(unittest.TestCase):
    def test_a_seed_is_a_kernel(self):
        for seed in (0, 7, 1999):
            self.assertEqual(render.source([kernels.make(seed)]), render.source([kernels.make(seed)]))

    def test_what_ci_runs(self):
        text = render.source([kernels.make(seed) for seed in CI_SEEDS])
        wanted = [name for names in kernels.SPECIAL.values() for name, _ in names]
        wanted += [name + "<" for name in set(kernels.BINARY + kernels.UNARY + kernels.TERNARY + kernels.REAL_UNARY)]
        wanted += ["Dpp<", "RowOperation<", "Swizzle<", "Shuffle(", "ShuffleXor(", "ShuffleUp(", "ShuffleDown(", "Send(",
                   "ReadLane(", "WriteLane(", "FirstLane(", "Ballot(", "Any(", "All(", "CountBelow(", "AtomicPair<",
                   "AtomicReal<kAdd, f32>", "AtomicReal<kAdd, f64>", "AtomicAnywhere<", "Choose<", "switch (", "break;",
                   "continue;", "return r;", "left - 1", "Turn<", "LoadVector<", "StoreVector<", "IsClass<", "AddOverflows<",
                   "lds.own", "LoadAnywhere<", "StoreAnywhere<"]
        wanted += [f"Atomic<{kind}, " for kind in ("kAdd", "kSub", "kMin", "kMax", "kAnd", "kOr", "kXor", "kExchange", "kCas",
                                                   "kInc", "kDec")]
        self.assertEqual([name for name in wanted if name not in text], [])

    def test_shapes_of_ci(self):
        sizes = {x * y * z for x, y, z in (kernels.make(seed).shape for seed in CI_SEEDS)}
        self.assertLessEqual({32, 64, 96, 256, 1024}, sizes)
        self.assertTrue(any(kernels.make(seed).shape[1] > 1 for seed in CI_SEEDS))


class Searcher(run_random.Runner):
    """Says that those kernels fail that have a text in them."""

    def __init__(self, text):  # pylint: disable=super-init-not-called
        self.text = text

    def try_candidates(self, batch, level, gpu, folder):
        return [run_random.Failure(0, i, "difference", "") for i, kernel in enumerate(batch)
                if self.text in render.source([kernel])]


class Shrinking(unittest.TestCase):
    def test_only_the_guilty_remains(self):
        for text in ("ReadLane(", "Mul24(", "AtomicPair<", "Turn<"):
            seed = next(seed for seed in range(500) if text in render.source([kernels.make(seed)]))
            kernel = kernels.make(seed)
            small, tried = Searcher(text).shrink(kernel, "1", "mi300x", "difference", 60)
            source = render.source([small])
            self.assertIn(text, source)
            self.assertGreater(tried, 0)
            self.assertEqual(len(small.statements), 1, source)
            self.assertLess(render.size(small), 1000, source)
            self.assertLessEqual(sum(t is not None for t in small.variables), 1, source)


class State(unittest.TestCase):
    def test_goes_on_where_it_was_cut_off(self):
        versions = {"kernels": "a", "interpreter": "i", "compiler": "c"}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.jsonl")
            results = run_random.Results(path, versions)
            results.add(range(0, 50), "mi300x", "1", [])
            results.add(range(0, 50), "mi300x", "3", [["7", "difference"]])
            with open(path, "a", encoding="utf-8") as out:
                out.write('{"seeds": [50, 99]')  # killed while writing
            again = run_random.Results(path, versions)
            self.assertTrue(again.done(range(0, 50), "mi300x", "1"))
            self.assertFalse(again.done(range(0, 50), "mi300x", "3"))  # failed: once more
            self.assertFalse(again.done(range(50, 100), "mi300x", "1"))
            again.add(range(50, 100), "mi300x", "1", [])
            self.assertTrue(run_random.Results(path, versions).done(range(50, 100), "mi300x", "1"))
            self.assertFalse(run_random.Results(path, dict(versions, kernels="b")).done(range(0, 50), "mi300x", "1"))

    def test_the_page_keeps_its_other_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            run_random.write(path, "a\n<!-- full run: begin -->\nold\n<!-- full run: end -->\nb\n")
            run_random.replace_section(path, "full run", "new")
            with open(path, encoding="utf-8") as page:
                self.assertEqual(page.read(), "a\n<!-- full run: begin -->\nnew\n<!-- full run: end -->\nb\n")


if __name__ == "__main__":
    unittest.main()
