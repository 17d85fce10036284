# SPDX-License-Identifier: MIT
"""Faults in how messages become rows of the lake, and how its files are read and merged."""

NAME = "fleet/lake"
TESTS = ["fleet_test"]
CODE = ["src/fleet/lake/*.cpp"]

LAKE = "src/fleet/lake/lake.cpp"
ROWS = "src/fleet/lake/lake_rows.cpp"
SKETCH = "src/fleet/lake/sketch_rows.cpp"
COMPACT = "src/fleet/lake/compact.cpp"
FAULTS = [
    ("a file's name has its last message before its first", LAKE,
     "stretch.shard, stretch.created, «stretch.first, stretch.last»);", "stretch.last, stretch.first"),
    ("a file of another kind is read", LAKE, "return «rest == \".parquet\"»;", "true"),
    ("of files that begin at one place the shortest counts", LAKE,
     "«UINT64_MAX - a.stretch.last,\n                      a.path) < std::tuple(b.stretch.tenant, "
     "b.stretch.shard, b.stretch.created,\n                                           b.stretch.first, "
     "UINT64_MAX - b.stretch.last», b.path);",
     "a.stretch.last, a.path) < std::tuple(b.stretch.tenant, b.stretch.shard, b.stretch.created, b.stretch.first, "
     "b.stretch.last"),
    ("a file that was merged counts again", LAKE,
     "file.stretch.last «<=» live.back().stretch.last;", "<"),
    ("a file of another shard is taken for merged", LAKE,
     "const bool covered = !live.empty() && live.back().stretch.tenant == file.stretch.tenant &&\n"
     "                         «live.back().stretch.shard == file.stretch.shard» &&", "true"),
    ("a file of a stream that was made anew is taken for merged", LAKE,
     "«live.back().stretch.created == file.stretch.created» &&\n                         file.stretch.last", "true"),
    ("of an overlap one message counts twice", LAKE,
     "std::max(file.stretch.first, live.back().stretch.last« + 1»)", ""),
    ("an overlap is not looked at", LAKE, "file.from =\n        «overlaps» ?", "false"),
    ("rows of an overlap begin after the first that counts", LAKE, "WHERE sequence «>=» {}\",", ">"),
    ("files of other tenants are read", LAKE, "tenant.empty() ? \"*\" : «tenant»);", "\"*\""),
    ("a merged file's name ends with the first file's last message", LAKE,
     "merged.stretch.last = files.«back»().stretch.last;", "front"),
    ("rows that a merge lost are not noticed", LAKE,
     "if («after.front() != static_cast<uint64_t>(before)»)", "false"),
    ("leftovers are removed however young they are", LAKE,
     "fs::file_time_type::clock::now()« - age» && !inner)", ""),
    ("a code object's upper hex digits are lost", LAKE,
     "digit(text[2 * i]) << «4» | digit(text[2 * i + 1]));", "0"),
    ("of several code objects with this beginning the first is taken", LAKE, "if (found.size() > «1»)", "2"),
    ("a name that is no hash is a code object", LAKE, "if («IsHash(hash)») hashes.push_back", "true"),
    ("a text may have any length", ROWS,
     "value.is_string()« && value.get_ref<const std::string&>().size() <= kLongestText»;", ""),
    ("a number that no column holds is taken", ROWS,
     "value.get<int64_t>() <= «INT32_MAX»;", "INT64_MAX"),
    ("buckets of more launches than there were are taken", ROWS,
     "row->at(\"untimed\").get<uint64_t>() «!=» row->at", "<"),
    ("launches without a time are not counted among launches", ROWS,
     "sketch.count()« + row->at(\"untimed\").get<uint64_t>()» !=", ""),
    ("a loss has the count of none", ROWS, "row[\"lost\"] = row[«\"count\"»];", "\"rank\""),
    ("a row does not say which message it is from", ROWS, "json common = {{\"sequence\", «sequence»}};", "0"),
    ("a sketch's numbers are added with each stretch of buckets", SKETCH, "part->added = «true»;", "false"),
    ("the first bucket of each row is one too high", SKETCH,
     "first + generate_subscripts(buckets, 1)« - 1» AS bucket", ""),
    ("a stretch of buckets is one too long", SKETCH,
     "bucket - first «<» static_cast<int32_t>(Histogram::kMostBuckets);", "<="),
    ("sketches without buckets are left out", SKETCH, "if («!part.added») ROCHOUND_CHECK", "false"),
    ("the time of the first launch is that of the last row", SKETCH,
     "one.first_ns = «std::min(one.first_ns, number(4))»;", "number(4)"),
    ("files of two days are merged", COMPACT,
     "return std::tie(stretch.tenant, stretch.shard, stretch.created«, stretch.day»);", ""),
    ("today's files are merged however few there are", COMPACT,
     "const bool over = «!group.empty() && group.front().stretch.day < options.today»;", "true"),
    ("files that are large already are merged again", COMPACT,
     "const bool large = «rows[i] >= options.rows / 2»;", "false"),
    ("merged files may be twice as large", COMPACT, "group_rows + rows[i] > «options.rows»)", "2 * options.rows"),
    ("merged files are never removed", COMPACT, "«ROCHOUND_CHECK(lake.Remove(file));»", ""),
]

SURVIVORS = {
    "rows that a merge lost are not noticed": "It takes a DuckDB that loses rows, and there is none.",
}
