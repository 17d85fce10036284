# SPDX-License-Identifier: MIT
"""Faults in the histograms that hosts send and that are merged."""

NAME = "fleet/sketch"
TESTS = ["fleet_sketch_test"]
CODE = ["src/fleet/sketch/histogram.cpp"]

FAULTS = [
    ("a bucket has its lower bound instead of its upper one", "src/fleet/sketch/histogram.cpp",
     "std::«lower_bound»(bounds.begin(), bounds.end(), mantissa);", "upper_bound"),
    ("buckets are one too high", "src/fleet/sketch/histogram.cpp",
     "static_cast<int32_t>(next - bounds.begin())« - 1»;", ""),
    ("coarser indices are rounded towards zero", "src/fleet/sketch/histogram.cpp",
     "return «index >> steps»;", "index / (1 << steps)"),
    ("a histogram has one bucket too many", "src/fleet/sketch/histogram.cpp",
     "- Shift(first, steps)) «>=» kMostBuckets) ++steps;", ">"),
    ("values below the first bucket do not move the others", "src/fleet/sketch/histogram.cpp",
     "buckets_.insert(buckets_.begin(), «static_cast<size_t>(offset_ - first)», 0);",
     "static_cast<size_t>(offset_ - first) - 1"),
    ("the last bucket is not made", "src/fleet/sketch/histogram.cpp",
     "static_cast<size_t>(last - offset_)« + 1»;", ""),
    ("the least value is that of the empty histogram", "src/fleet/sketch/histogram.cpp",
     "min_ = «count_ == 0 ? value : std::min(min_, value)»;", "std::min(min_, value)"),
    ("a value that comes several times is summed once", "src/fleet/sketch/histogram.cpp",
     "sum_ += «value * times»;", "value"),
    ("zeros are counted once however often they come", "src/fleet/sketch/histogram.cpp", "zeros_ += «times»;", "1"),
    ("a value that comes several times is in its bucket once", "src/fleet/sketch/histogram.cpp",
     "buckets_[static_cast<size_t>(index - offset_)] += «times»;", "1"),
    ("a value keeps its old bucket when the scale changes", "src/fleet/sketch/histogram.cpp",
     "Reach(index, index);\n    «index = Index(value, scale_);»", ""),
    ("coarsening replaces counts instead of adding them", "src/fleet/sketch/histogram.cpp",
     "steps) - first)] «+=»\n        buckets_[i];", "="),
    ("coarsening keeps the first index", "src/fleet/sketch/histogram.cpp",
     "«offset_ = first;»\n  buckets_ = std::move(coarse);", ""),
    ("merging with an empty coarse one keeps the fine scale", "src/fleet/sketch/histogram.cpp",
     "if (other.count_ == 0) {\n    «Coarsen(other.scale_);»", ""),
    ("merging does not add buckets at their place", "src/fleet/sketch/histogram.cpp",
     "buckets_[«static_cast<size_t>(theirs.offset_ - offset_) + i»] +=", "i"),
    ("the other's scale is not followed again after reaching for its buckets", "src/fleet/sketch/histogram.cpp",
     "- 1);\n    «theirs.Coarsen(scale_);»", ""),
    ("merging loses the other's zeros", "src/fleet/sketch/histogram.cpp", "«zeros_ += theirs.zeros_;»", ""),
    ("merging keeps the larger of both least values", "src/fleet/sketch/histogram.cpp",
     "min_ = count_ == 0 ? theirs.min_ : std::«min»(min_, theirs.min_);", "max"),
    ("zeros do not count for quantiles", "src/fleet/sketch/histogram.cpp",
     "uint64_t below = «zeros_»;", "0"),
    ("a quantile is its bucket's lower bound", "src/fleet/sketch/histogram.cpp",
     "static_cast<double>(i) + «0.5») *\n                                    std::exp2(-scale_));\n"
     "    return std::clamp", "0.0"),
    ("a quantile may be above the largest value", "src/fleet/sketch/histogram.cpp",
     "return «std::clamp(middle, static_cast<double>(min_), static_cast<double>(max_))»;", "middle"),
    ("the usual mean has values of up to eight times the median", "src/fleet/sketch/histogram.cpp",
     "const double limit = «2» * Quantile(0.5);", "8"),
    ("the stated error is half of what it is", "src/fleet/sketch/histogram.cpp",
     "return std::exp2(«0.5» * std::exp2(-scale_)) - 1;", "0.25"),
    ("a histogram with an empty last bucket is restored", "src/fleet/sketch/histogram.cpp",
     "(buckets.front() == 0« || buckets.back() == 0»)", ""),
    ("a restored histogram's count leaves out zeros", "src/fleet/sketch/histogram.cpp",
     "count_ = «zeros»;\n  for", "0"),
]

SURVIVORS = {}
