# SPDX-License-Identifier: MIT
"""Faults in how a replay's memory is compared with what was captured."""

NAME = "replay/differences"
TESTS = ["replay_test"]
CODE = ["src/capture/replay/differences.cpp", "src/capture/replay/statistics.cpp"]

FILE = "src/capture/replay/differences.cpp"
FAULTS = [
    ("half of all speed-ups are outside of their interval, not 5%", "src/capture/replay/statistics.cpp",
     "speedup.low = Quantile(ratios, «0.025»);", "0.25"),
    ("an argument's memory ends one byte late", FILE, "return address «<» span.end ? &span : nullptr;", "<="),
    ("memory is typed by the argument after it", FILE, "const TypedSpan& span = *«(above - 1)»;",
     "(above == rules.spans.end() ? above - 1 : above)"),
    ("memory that no argument points to is never typed", FILE,
     "if (type == Element::kUnknown) «type = rules.untyped»;", "type = Element::kUnknown"),
    ("elements are counted from the region's start", FILE,
     "const uint64_t from = «span != nullptr ? span->base : region_base»;", "region_base"),
    ("elements that do not start here are compared whole", FILE,
     "if («(address + at - from) % SizeOf(type) != 0 ||» at + SizeOf(type) > size)", ""),
    ("elements past the page's end are compared whole", FILE,
     "SizeOf(type) != 0« || at + SizeOf(type) > size»)", ""),
    ("an element's index is its offset in bytes", FILE,
     "difference.index = (place.address - place.from)« / SizeOf(place.type)»;", ""),
    ("runs are joined across the end of a region", FILE, "if (!joined.empty()« && run.base < limit») {", ""),
    ("runs that are close are not joined", FILE, "if (run.base <= end« + kGap») {", ""),
    ("a run inside of another one makes that shorter", FILE,
     "last.size = «std::max(end, run.base + run.size)» - last.base;", "run.base + run.size"),
    ("only the first page is compared", FILE,
     "if (memcmp(wanted.data(), page.data(), size) == 0) {\n"
     "      if (spread_ != nullptr) spread_->Add(region, region_base, address + at, wanted, page);\n      «continue;»",
     "break;"),
    ("a page that differs within the tolerance is not restored", FILE, "«pages_.Add(address + at, size);»", ""),
    ("an image's moved address counts as a difference", FILE,
     "if («captured && memcmp(wanted.data() + word, &*captured, sizeof(*captured)) == 0»)", "false"),
    ("words of the image are looked for at even addresses only", FILE,
     "size_t word = «(8 - (address + at) % 8) % 8»; word + 8 <= size;", "0"),
    ("the fingerprint does not depend on where a page is", FILE,
     "«fingerprint_ = fingerprint_ * 31 + (address + at);»", ""),
    ("one difference too many is shown", FILE, "if (first_.size() «<» rules_.show)", "<="),
    ("the worst error is the last one", FILE, "if (!std::isfinite(value)« || value <= worst->error») return;", ""),
    ("an infinite error is the worst one", FILE, "if («!std::isfinite(value) ||» value <= worst->error) return;", ""),
    ("a relative error is that of what was found", FILE,
     "keep(error / std::abs(«wanted»), &worst_relative_);", "ValueOf(place.type, other)"),
    ("kinds of NaN print alike", FILE, "if («difference.expected == difference.got») {", "false"),
    ("what the captured launch did not write is not told", FILE,
     "if («poison_->CapturedKept(place.address, size)»)", "false"),
    ("a page that differs in a later run has no value of the earlier ones", FILE,
     "const std::span<const std::byte> first = «runs_ > 0 ? expected : got»;", "got"),
    ("a spread keeps its first highest value", FILE,
     "if («Less(place.type, high, value)») memcpy(high, value, size);", "false"),
    ("the room is that of the narrowest element", FILE, "known = std::«max»(known, range);", "min"),
    ("a candidate may miss the original by ten times the room", FILE,
     "missed <= «room->second») return;", "10 * room->second"),
    ("results above the original's are never outside", FILE, "if («!above && »!below) return;", ""),
    ("results outside are within the tolerance by what is farthest", FILE,
     "const std::byte* const nearest = above ? «our_low : our_high»;", "our_high : our_low"),
]

SURVIVORS = {}
