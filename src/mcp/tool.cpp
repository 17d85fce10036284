// SPDX-License-Identifier: MIT
#include "mcp/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "mcp/page.h"

namespace rochound::mcp {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using Kind = Parameter::Kind;

constexpr const char* kMostRows = "--limit=1000";  // of a table; SQL can ask for others

const std::vector<std::string> kFloats = {"float", "double", "half", "bf16"};

Parameter Program(bool required) {
  return {"program", Kind::kProgram, "The program and its arguments, one text each", "--",
          required};
}

Parameter SoftwareGpu() {
  return {"softgpu", Kind::kText,
          "Run on this software GPU (mi250x, mi300x, mi355x, rx6800xt, rx7900xtx, rx9070xt), not "
          "on the machine's GPU",
          "--softgpu"};
}

Parameter KernelPattern() {
  return {"kernel", Kind::kText,
          "Only kernels whose symbol or C++ name has a match of this regular expression",
          "--kernel"};
}

std::vector<Tool> AllTools(const std::vector<std::string>& questions) {
  return {
      {"explain",
       "Explain a trace",
       "Answers a question about recorded traces: what costs most time (findings), why the GPU was "
       "idle, the critical "
       "path, top kernels, what differs between runs, and others.",
       false,
       true,
       {{"question", Kind::kChoice, "What to ask (default: findings)", "", false, questions},
        {"traces", Kind::kPaths,
         "Traces: .rpd, flight logs, rocpd .db, Chrome .json[.gz], Parquet folders; several are "
         "one, each a node",
         "", true},
        {"steps", Kind::kText, "Regular expression of the ranges that are steps", "--steps"},
        {"against", Kind::kPaths, "diff: traces of runs after the change", "--against"}},
       {"--json", kMostRows}},
      {"query",
       "Ask a trace in SQL",
       "Runs one read-only SQL query (DuckDB) over traces, whose tables and views are RPD's: api, "
       "op, kernel, copy, "
       "top, busy, rocpd_* and rochound_*; at most 1000 rows are kept.",
       false,
       true,
       {{"traces", Kind::kPaths, "Traces, as for explain", "", true},
        {"sql", Kind::kText, "The query, for example: select * from top", "", true}},
       {"--json", kMostRows}},
      {"show",
       "Show kernels or a captured launch",
       "Shows the kernels in a code object, program or library (arguments, registers, LDS, "
       "occupancy, instructions), or "
       "a launch that capture has kept.",
       false,
       false,
       {{"path", Kind::kPath, "A bundle, code object, offload bundle, program or library", "",
         true},
        {"kernel", Kind::kText, "A file: show kernels whose name contains this, in full",
         "--kernel"},
        {"target", Kind::kText, "A file: only code that runs on this, such as gfx942", "--target"},
        {"workgroup", Kind::kCount, "A file: work-items per workgroup, for occupancy",
         "--workgroup"},
        {"dynamic_lds",
         Kind::kCount,
         "A file: bytes of LDS that a launch adds",
         "--dynamic-lds",
         false,
         {},
         0},
        {"disassembly", Kind::kFlag, "Also the instructions", "--disassembly"},
        {"all", Kind::kFlag, "Every region and hidden argument; of a file, also its variables",
         "--all"}},
       {"--json"}},
      {"doctor",
       "Say what is wrong with this machine",
       "Says what this machine's AMD GPUs are and what is wrong around them (driver, rights, "
       "libraries, variables), why a "
       "recorded GPU fault happened, or whether a recorded run used the GPU.",
       false,
       false,
       {{"ran", Kind::kPath, "Say whether the run of this trace used the GPU", "--ran"},
        {"fault", Kind::kPath, "Explain this folder TRACE.fault, which run kept when a GPU failed",
         "--fault"},
        {"root", Kind::kPath, "Look at a copy of another machine's files in this folder", "--root"},
        {"files_only", Kind::kFlag, "Start no other program and load no GPU runtime",
         "--files-only"},
        {"program", Kind::kPath,
         "Also say whether this program, which is not started, fits the machine", "--"}},
       {"--json"}},
      {"run",
       "Record a program",
       "Runs a program and records its kernels, copies and HIP calls into a trace, which explain "
       "and query read.",
       true,
       false,
       {{"output", Kind::kNewPath, "The trace (default: trace.rpd); one that is there is renamed",
         "--output"},
        {"hsa", Kind::kFlag, "Record HSA calls, too", "--hsa"},
        {"stacks", Kind::kFlag, "Record who called, for every call", "--stacks"},
        {"last", Kind::kText, "Keep only the last part, such as 30s or 64MiB", "--last"},
        {"range", Kind::kText, "Record only inside roctx ranges of this name", "--range"},
        {"kernel_cache", Kind::kPath, "Swap kernels of the program for those in this folder",
         "--kernel-cache"},
        KernelPattern(),
        SoftwareGpu(),
        Program(true)},
       {"--findings"}},
      {"capture",
       "Capture one kernel launch",
       "Runs a program and keeps one kernel launch with its memory as a bundle, which show, "
       "replay, profile and judge "
       "take.",
       true,
       false,
       {{"kernel", Kind::kText, "The kernel: a regular expression of its symbol or C++ name",
         "--kernel"},
        {"nth", Kind::kCount, "Which of the launches that match (default: the first)", "--nth"},
        {"dispatch", Kind::kCount,
         "Which of all the process's launches, from 1, in the place of kernel", "--dispatch"},
        {"shape", Kind::kText, "Only launches of that shape: grid=1024x1x1,workgroup=256",
         "--shape"},
        {"memory",
         Kind::kChoice,
         "Which memory to keep (default: reachable)",
         "--memory",
         false,
         {"reachable", "all"}},
        {"output", Kind::kNewPath,
         "The bundle, a folder that is not there yet (default: kernel.bundle)", "--output"},
        SoftwareGpu(),
        Program(true)},
       {}},
      {"replay",
       "Replay a captured launch",
       "Runs a captured launch again at its own addresses and compares the result, or compares "
       "other builds of its kernel "
       "with it.",
       true,
       false,
       {{"action",
         Kind::kChoice,
         "check: can its addresses be had; run; compare with `builds`; export a project",
         "",
         true,
         {"check", "run", "compare", "export"}},
        {"bundle", Kind::kPath, "What capture made", "", true},
        {"builds", Kind::kPaths, "compare: other builds of the kernel", ""},
        {"hsaco", Kind::kPath, "run: another build of the kernel", "--hsaco"},
        {"iterations", Kind::kCount, "How often (default: run once, compare 20 rounds)",
         "--iterations"},
        {"verify", Kind::kText, "exact, none, tol=REL or tol=REL,ABS (default: exact)", "--verify"},
        {"as", Kind::kChoice, "What memory holds where no argument tells", "--as", false, kFloats},
        {"vary", Kind::kCount, "compare: try so many other inputs, too", "--vary"},
        {"count", Kind::kFlag, "compare: count what each build does, on a software GPU", "--count"},
        {"output", Kind::kNewPath, "export: the project's folder", "--output"},
        SoftwareGpu()},
       {"--json"}},
      {"probe",
       "See accesses to memory",
       "Builds a program with probes (build), runs it and says what an analyzer finds in its "
       "accesses to memory (run), or "
       "asks about kept messages again (read).",
       true,
       false,
       {{"action",
         Kind::kChoice,
         "build: `program` is hipcc with its arguments; run; read `folder`",
         "",
         true,
         {"build", "run", "read"}},
        {"folder", Kind::kPath, "read: what `keep` kept", ""},
        {"analyzer",
         Kind::kChoice,
         "What to make of the messages (default: messages, all of them)",
         "--analyzer",
         false,
         {"messages", "memory", "blocks", "races", "bounds", "uninit", "heatmap"}},
        {"dispatches", Kind::kText, "all, first, a number, or random:0.1", "--dispatches"},
        {"lanes", Kind::kText, "Only these lanes; a hexadecimal mask", "--lanes"},
        {"blocks", Kind::kFlag, "build: probes of basic blocks, for the analyzer blocks",
         "--blocks"},
        {"keep", Kind::kNewPath, "run: keep the messages in this folder", "--keep"},
        KernelPattern(),
        SoftwareGpu(),
        Program(false)},
       {}},
      {"profile",
       "Profile kernels",
       "Counts what each kernel does on a software GPU and says what limits it and what it is "
       "worth end to end: of a "
       "program, a captured launch, or (worth alone) a trace.",
       true,
       false,
       {{"replay", Kind::kPath, "Profile this captured launch", "--replay"},
        {"trace", Kind::kPath, "Say what kernels are worth in this trace", "--trace"},
        {"gpu", Kind::kText, "The software GPU (default: mi300x, or the captured one's target)",
         "--gpu"},
        {"output", Kind::kNewPath, "Keep all files in this folder (docs/formats/profile.md)",
         "--output"},
        {"thread_trace", Kind::kFlag,
         "Also what each instruction and line costs, into thread_trace.json of `output`",
         "--thread-trace"},
        KernelPattern(),
        Program(false)},
       {}},
      {"judge",
       "Judge another kernel",
       "Says whether a candidate is proved equal to a captured kernel on all its bundles and from "
       "other inputs, and "
       "faster.",
       true,
       false,
       {{"bundles", Kind::kPaths, "Captured launches of one kernel", "", true},
        {"candidate", Kind::kPath, "A code object, or HIP source that is built twice",
         "--candidate", true},
        {"source", Kind::kPath, "What a code object was built from", "--source"},
        {"flags", Kind::kText, "For the compiler (default: -O3)", "--flags"},
        {"verify", Kind::kText, "exact, or tol=... as for replay", "--verify"},
        {"as", Kind::kChoice, "What memory holds where no argument tells", "--as", false, kFloats},
        {"validate", Kind::kText, "A shell command that is asked about both results", "--validate"},
        {"margin", Kind::kNumber, "How many percent faster it has to be (default: 2)", "--margin"},
        {"rounds", Kind::kCount, "Launches of each by turns (default: 5)", "--rounds"},
        {"on_gpu", Kind::kFlag, "Measure on this machine's GPU, too", "--on-gpu"},
        SoftwareGpu()},
       {"--json"}},
  };
}

Json SchemaOf(const Parameter& parameter) {
  Json schema;
  switch (parameter.kind) {
    case Kind::kFlag:
      schema["type"] = "boolean";
      break;
    case Kind::kCount:
      schema["type"] = "integer";
      schema["minimum"] = parameter.least;
      break;
    case Kind::kNumber:
      schema["type"] = "number";
      schema["minimum"] = 0;
      break;
    case Kind::kPaths:
    case Kind::kProgram:
      schema["type"] = "array";
      schema["items"] = {{"type", "string"}, {"minLength", 1}};
      if (parameter.kind == Kind::kProgram) schema["items"].erase("minLength");
      schema["minItems"] = 1;
      break;
    default:
      schema["type"] = "string";
      schema["minLength"] = 1;
      if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
  }
  schema["description"] = parameter.about;
  return schema;
}

// What every call may have besides: which page of the answer.
const std::vector<Parameter>& PageParameters() {
  static const std::vector<Parameter> parameters = {
      {"limit", Kind::kCount,
       "How many entries of each list to return at once (default: 50, at most 500)", ""},
      {"cursor", Kind::kText,
       "nextCursor of the page before: the next page of the same answer. Repeat the other "
       "arguments; nothing is run again",
       ""}};
  return parameters;
}

Result<std::string> Text(const std::string& name, const Json& value) {
  if (!value.is_string()) return Error{fmt::format("{}: not a text", name)};
  const auto& text = value.get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) return Error{fmt::format("{}: has a zero byte", name)};
  return text;
}

Result<std::string> FullText(const std::string& name, const Json& value) {
  ROCHOUND_TRY(std::string text, Text(name, value));
  if (text.empty()) return Error{fmt::format("{}: empty", name)};
  return text;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The words of the command line that a value becomes.
Result<std::vector<std::string>> Words(const Parameter& parameter, const Json& value,
                                       const Folders& folders) {
  const std::string name = parameter.name;
  const std::string option = parameter.option;
  const auto word = [&](const std::string& text) {
    return std::vector<std::string>{option.empty() ? text : option + "=" + text};
  };
  switch (parameter.kind) {
    case Kind::kText: {
      ROCHOUND_TRY(const std::string text, FullText(name, value));
      // Alone it must not look like an option or a list, however it begins.
      return option.empty() ? std::vector<std::string>{"\n" + text} : word(text);
    }
    case Kind::kChoice: {
      ROCHOUND_TRY(const std::string text, FullText(name, value));
      if (std::find(parameter.choices.begin(), parameter.choices.end(), text) ==
          parameter.choices.end())
        return Error{fmt::format("{}: '{}' is none of {}", name, text, Joined(parameter.choices))};
      return word(text);
    }
    case Kind::kCount: {
      const bool fits = value.is_number_integer() && value <= std::numeric_limits<int>::max() &&
                        value >= parameter.least;
      if (!fits)
        return Error{fmt::format("{}: not an integer of at least {}", name, parameter.least)};
      return word(std::to_string(value.get<int>()));
    }
    case Kind::kNumber:
      if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > 1e9)
        return Error{fmt::format("{}: not a number from 0 to 1e9", name)};
      return word(fmt::format("{}", value.get<double>()));
    case Kind::kFlag:
      if (!value.is_boolean()) return Error{fmt::format("{}: neither true nor false", name)};
      return value.get<bool>() ? std::vector{option} : std::vector<std::string>{};
    case Kind::kPath: {
      ROCHOUND_TRY(const std::string text, FullText(name, value));
      ROCHOUND_TRY(const fs::path path, folders.Existing(text));
      return option == "--" ? std::vector{option, path.string()} : word(path.string());
    }
    case Kind::kNewPath: {
      ROCHOUND_TRY(const std::string text, FullText(name, value));
      ROCHOUND_TRY(const fs::path path, folders.New(text));
      return word(path.string());
    }
    case Kind::kPaths:
    case Kind::kProgram: {
      if (!value.is_array() || value.empty())
        return Error{fmt::format("{}: not an array of texts, at least one", name)};
      std::vector<std::string> words;
      if (!option.empty()) words.push_back(option);
      for (const Json& one : value) {
        if (parameter.kind == Kind::kProgram) {
          ROCHOUND_TRY(std::string text, Text(name, one));
          if (words.size() == 1 && text.empty()) return Error{"program: its name is empty"};
          words.push_back(std::move(text));
        } else {
          ROCHOUND_TRY(const std::string text, FullText(name, one));
          ROCHOUND_TRY(const fs::path path, folders.Existing(text));
          words.push_back(path.string());
        }
      }
      return words;
    }
  }
  return Error{"unknown kind"};
}

bool Has(const Json& arguments, const char* name) { return arguments.contains(name); }

std::string Choice(const Json& arguments, const char* name) {
  return Has(arguments, name) && arguments[name].is_string() ? arguments[name].get<std::string>()
                                                             : "";
}

// The place that the output goes to: the client's, or this.
Result<fs::path> Output(const Json& arguments, const Folders& folders, const fs::path& otherwise,
                        std::vector<std::string>* options) {
  if (Has(arguments, "output")) return folders.New(Choice(arguments, "output"));
  options->push_back("--output=" + otherwise.string());
  return otherwise;
}

// What is particular to one tool: defaults, and where the answer will be.
Result<Invocation> Answering(const Tool& tool, const Json& arguments, const Folders& folders,
                             const fs::path& scratch, std::vector<std::string>* options) {
  using Answer = Invocation::Answer;
  const std::string name = tool.name;
  const std::string action = Choice(arguments, "action");
  Invocation invocation;
  if (name == "explain" && !Has(arguments, "question"))
    invocation.arguments.emplace_back("findings");
  if (name == "run" || name == "capture") {
    const bool run = name == "run";
    ROCHOUND_TRY(const fs::path otherwise, folders.New(run ? "trace.rpd" : "kernel.bundle"));
    ROCHOUND_TRY(invocation.file, Output(arguments, folders, otherwise, options));
    invocation.answer = Answer::kMade;
    invocation.made = run ? "trace" : "bundle";
  }
  if (name == "probe") {
    if (action != "read" && !Has(arguments, "program"))
      return Error{fmt::format("probe {} needs program", action)};
    if (action == "read" && !Has(arguments, "folder")) return Error{"probe read needs folder"};
    if (action == "read" && Has(arguments, "program")) return Error{"probe read starts no program"};
    if (action != "read" && Has(arguments, "folder"))
      return Error{"folder goes with the action read"};
    invocation.answer = action == "build" ? Answer::kMade : Answer::kLines;
    if (action != "build") {
      invocation.file = scratch / "answer.jsonl";
      options->insert(options->end(), {"--json", "--output=" + invocation.file.string()});
    }
  }
  if (name == "profile") {
    if (Has(arguments, "program") + Has(arguments, "replay") + Has(arguments, "trace") != 1)
      return Error{"profile needs one of program, replay and trace"};
    ROCHOUND_TRY(const fs::path folder, Output(arguments, folders, scratch / "profile", options));
    invocation.answer = Answer::kFile;
    invocation.file = folder / (Has(arguments, "trace") ? "dag.json" : "analysis.json");
  }
  if (name == "capture" && !Has(arguments, "kernel") && !Has(arguments, "dispatch"))
    return Error{"capture needs kernel or dispatch; the kernel . is the first of all"};
  return invocation;
}

}  // namespace

std::vector<Tool> MakeTools(const std::vector<std::string>& questions, bool allow_run) {
  std::vector<Tool> tools = AllTools(questions);
  std::erase_if(tools, [&](const Tool& tool) {
    return (tool.runs && !allow_run) || (tool.needs_traces && questions.empty());
  });
  return tools;
}

Json ToolJson(const Tool& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const std::vector<Parameter>* list : {&tool.parameters, &PageParameters()})
    for (const Parameter& parameter : *list) {
      properties[parameter.name] = SchemaOf(parameter);
      if (parameter.required) required.push_back(parameter.name);
    }
  Json input = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) input["required"] = std::move(required);
  input["additionalProperties"] = false;
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.about},
          {"inputSchema", std::move(input)},
          {"outputSchema", PageSchema()},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", !tool.runs},
            {"destructiveHint", tool.runs},
            {"idempotentHint", !tool.runs},
            {"openWorldHint", tool.runs}}}};
}

Result<Invocation> MakeInvocation(const Tool& tool, const Json& arguments, const Folders& folders,
                                  const fs::path& scratch) {
  for (const auto& [name, value] : arguments.items()) {
    const auto is_named = [&](const Parameter& parameter) { return name == parameter.name; };
    if (std::none_of(tool.parameters.begin(), tool.parameters.end(), is_named) &&
        std::none_of(PageParameters().begin(), PageParameters().end(), is_named))
      return Error{fmt::format("{} has no parameter '{}'", tool.name, name)};
  }
  std::vector<std::string> alone, options, program;
  for (const Parameter& parameter : tool.parameters) {
    if (!arguments.contains(parameter.name)) {
      if (parameter.required) return Error{fmt::format("{} needs {}", tool.name, parameter.name)};
      continue;
    }
    ROCHOUND_TRY(std::vector<std::string> words,
                 Words(parameter, arguments[parameter.name], folders));
    const std::string option = parameter.option;
    auto& place = option == "--" ? program : option.empty() ? alone : options;
    place.insert(place.end(), std::make_move_iterator(words.begin()),
                 std::make_move_iterator(words.end()));
  }
  ROCHOUND_TRY(Invocation invocation, Answering(tool, arguments, folders, scratch, &options));
  std::vector<std::string> all = {tool.name};
  const auto add = [&](const std::vector<std::string>& words) {
    all.insert(all.end(), words.begin(), words.end());
  };
  // With probes, running is what happens without an action.
  if (!alone.empty() && std::string_view(tool.name) == "probe" && alone.front() == "run")
    alone.erase(alone.begin());
  add(tool.fixed);
  add(invocation.arguments);
  add(alone);
  add(options);  // last, since one of them may take several values
  add(program);
  invocation.arguments = std::move(all);
  return invocation;
}

}  // namespace rochound::mcp
