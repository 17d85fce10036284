#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the sources of ROCr or HIP into those of a release that is newer than rochound's headers.

usage: amd_ahead.py rocr|hip FOLDER

What it has, as later releases may: functions between known ones and at the end of every table, one of them without a name;
a table more; queues that HIP creates by a new function; packets of new kinds; other versions. tests/amd/ahead.hip calls all
of it, and everything else works as before. tools/amd_runtimes.sh calls it on sources that it has built, and builds on: few
files change. A place that is not there exactly once is an error.
"""

import pathlib
import re
import sys

# Both are what the file's name says; programs are linked by the library's major version, which stays.
ROCR_VERSION = "2.0.0"
HIP_VERSION = "10.0.0"


class Source:
    """A file. All are written when all changes are made, so that a failed run can be repeated."""

    changed = []

    def __init__(self, folder, name):
        self.path = pathlib.Path(folder, name)
        self.text = self.path.read_text()
        self.changed.append(self)

    def replace(self, old, new):
        if self.text.count(old) != 1:
            sys.exit(f"{self.path}: {self.text.count(old)} times instead of once: {old}")
        self.text = self.text.replace(old, new)

    def before(self, place, new):
        self.replace(place, new + place)

    def after(self, place, new):
        self.replace(place, place + new)

    def cut(self, first, last):
        """Removes what is from one place to the next other one, both included."""
        start = self.text.index(first)
        self.text = self.text[:start] + self.text[self.text.index(last, start) + len(last):]


# --- ROCr: name, table, before which function of it it stands (None: at the end), parameters, body
ROCR_FUNCTIONS = [
    # Two functions follow it: nearly all of the table is where it was.
    ("hsa_ahead_between", "core", "hsa_executable_iterate_agent_symbols", "uint32_t value, uint32_t* twice", "*twice = 2 * value;"),
    ("hsa_ahead_end", "core", None, "uint64_t* queues", "*queues = ahead_queues.load();"),
    # Most of the table follows it.
    ("hsa_amd_ahead_between", "amd_ext", "hsa_amd_memory_pool_allocate", "uint64_t a, double b, uint64_t c, uint64_t d, uint64_t e, "
     "uint64_t f, uint64_t g, uint64_t* sum", "*sum = a + static_cast<uint64_t>(b) + c + d + e + f + g;"),
    ("hsa_amd_ahead_queue_create", "amd_ext", None, "hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, "
     "void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, hsa_queue_t** queue",
     "++ahead_queues; if (HSA::hsa_queue_create(agent, size, type, callback, data, UINT32_MAX, UINT32_MAX, queue) != HSA_STATUS_SUCCESS) "
     "return HSA_STATUS_ERROR;"),
    ("hsa_ahead_of_new_table", "ahead", None, "uint32_t* answer", "*answer = 42;"),
]
TABLES = {"core": ("CoreApiTable", "core_api", "coreApiTable", "HSA"), "amd_ext": ("AmdExtTable", "amd_ext_api", "amdExtTable", "AMD"),
          "ahead": ("AheadTable", "ahead_api", "hsaApiTable->ahead_", "HSA")}

# The GPU gets a barrier in place of a packet that it does not know.
PACKETS = """  const uint64_t first = LoadReadIndexRelaxed();
  for (uint64_t at = first; at <= uint64_t(value) && at - first < amd_queue_.hsa_queue.size; ++at) {
    auto* const packet = static_cast<uint32_t*>(amd_queue_.hsa_queue.base_address) +
                         (at % amd_queue_.hsa_queue.size) * 16;
    const uint32_t word = atomic::Load(packet, std::memory_order_acquire);
    const uint32_t type = word & 0xff, format = word >> 16 & 0xff;
    if (type == 9 || (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC && format == 7))
      atomic::Store(packet, (word & 0xff00) | HSA_PACKET_TYPE_BARRIER_AND, std::memory_order_release);
  }
"""


def names_of(parameters):
    return ", ".join(re.findall(r"\(\*(\w+)\)", one)[0] if "(*" in one else one.split()[-1].lstrip("*")
                     for one in re.split(r", (?![^(]*\))", parameters))


def change_rocr(folder):
    runtime = pathlib.Path(folder, "runtime/hsa-runtime")
    header = Source(runtime, "inc/hsa_api_trace.h")
    declarations = "".join(f"hsa_status_t HSA_API {name}({parameters});\n" for name, _, _, parameters, _ in ROCR_FUNCTIONS)
    header.before("// Structure of Version used to identify an instance of Api table\n", f'extern "C" {{\n{declarations}}}\n\n')
    for name, table, place, _, _ in ROCR_FUNCTIONS:
        if place:
            found = re.search(rf"  decltype\({place}\)\*\s+{place}_fn;\n", header.text).group()
            header.before(found, f"  decltype({name})* {name}_fn;\n")
        elif table != "ahead":
            start = header.text.index(f"struct {TABLES[table][0]} {{")
            end = header.text.index("};\n", start)
            header.text = header.text[:end] + f"  decltype({name})* {name}_fn;\n" + header.text[end:]
    fields = "".join(f"  decltype({name})* {name}_fn;\n" for name, table, *_ in ROCR_FUNCTIONS if table == "ahead")
    header.before("// Table to export HSA Apis from Core Runtime, Amd Extensions\n",
                  f"struct AheadTable {{\n  ApiTableVersion version;\n{fields}}};\n\n")
    header.after("  PcSamplingExtTable* pc_sampling_ext_;\n", "  AheadTable* ahead_;\n")
    versions = Source(runtime, "inc/hsa_api_trace_version.h")
    for table, major, step in (("CORE", 2, 0), ("AMD_EXT", 2, 5)):
        versions.text, changes = re.subn(rf"(HSA_{table}_API_TABLE_MAJOR_VERSION +)0x0{major}\n", rf"\g<1>0x0{major + 1}\n", versions.text)
        versions.text, more = re.subn(rf"(HSA_{table}_API_TABLE_STEP_VERSION +)0x0{step}\n", rf"\g<1>0x0{step + 1}\n", versions.text)
        if (changes, more) != (1, 1):
            sys.exit(f"{versions.path}: the versions of {table} are others")
    tables = Source(runtime, "core/inc/hsa_api_trace_int.h")
    tables.after("    ::PcSamplingExtTable pcs_api;\n", "    ::AheadTable ahead_api;\n")
    fill = Source(runtime, "core/runtime/hsa_api_trace.cpp")
    fill.replace("expected_core_api_table_size = 1016", f"expected_core_api_table_size = {1016 + 2 * 8}")
    fill.replace("expected_amd_ext_table_size = 592", f"expected_amd_ext_table_size = {592 + 2 * 8}")
    bodies = ""
    for name, table, _, parameters, body in ROCR_FUNCTIONS:
        bodies += (f"namespace {TABLES[table][3]} {{\nstatic hsa_status_t {name}({parameters}) {{ {body} return HSA_STATUS_SUCCESS; }}\n}}\n")
    fill.replace("namespace core {\n\nHsaApiTable& hsa_api_table() {", "static std::atomic<uint64_t> ahead_queues{0};\n" + bodies +
                 "namespace core {\n\nHsaApiTable& hsa_api_table() {")
    for table in TABLES:
        lines = "".join(f"  {TABLES[table][1]}.{name}_fn = {TABLES[table][3]}::{name};\n" for name, of, *_ in ROCR_FUNCTIONS if of == table)
        if table == "ahead":
            fill.after("  hsa_api.tools_ = &tools_api;\n",
                       "\n  ahead_api.version = {1, sizeof(::AheadTable), 0, 0};\n" + lines + "  hsa_api.ahead_ = &ahead_api;\n")
        else:
            version = {"core": "CORE", "amd_ext": "AMD_EXT"}[table]
            fill.after(f"  {TABLES[table][1]}.version.step_id = HSA_{version}_API_TABLE_STEP_VERSION;\n", lines)
    exported = Source(runtime, "core/common/hsa_table_interface.cpp")
    exported.text += "\n" + "".join(
        f"hsa_status_t HSA_API {name}({parameters}) {{\n  return {TABLES[table][2]}->{name}_fn({names_of(parameters)});\n}}\n"
        for name, table, _, parameters, _ in ROCR_FUNCTIONS)
    symbols = Source(runtime, "hsacore.so.def")
    symbols.after("\thsa_amd_signal_wait_all;\n", "".join(f"\t{name};\n" for name, *_ in ROCR_FUNCTIONS))
    queue = Source(runtime, "core/runtime/amd_aql_queue.cpp")
    queue.after("void AqlQueue::StoreRelaxed(hsa_signal_value_t value) {\n", PACKETS)
    build = Source(runtime, "CMakeLists.txt")
    build.replace('PROPERTY VERSION "${SO_VERSION_STRING}"', f'PROPERTY VERSION "{ROCR_VERSION}"')


# --- HIP: name, result, parameters
BETWEEN = ("hipAheadBetween", "long", "int a, double b, const char* c, long d, long e, long f, long g, dim3 h")
HIDDEN = ("hipAheadHidden", "void", "")  # in the table only
TWICE = ("hipAheadLaunchTwice", "hipError_t",
         "const void* function_address, dim3 numBlocks, dim3 dimBlocks, void** args, size_t sharedMemBytes, hipStream_t stream")
CONFIGURE = ("__hipAheadConfigure", "int", "int value")
HIP_FUNCTIONS = (BETWEEN, HIDDEN, TWICE, CONFIGURE)

HIP_BODIES = """
const HipDispatchTable* GetHipDispatchTable();
static long hipAheadBetween(int a, double b, const char* c, long d, long e, long f, long g, dim3 h) {
  return a + static_cast<long>(b) + c[0] + d + e + f + g + h.x + h.y + h.z;
}
static void hipAheadHidden() {}
static hipError_t hipAheadLaunchTwice(const void* function_address, dim3 numBlocks, dim3 dimBlocks, void** args,
                                      size_t sharedMemBytes, hipStream_t stream) {
  GetHipDispatchTable()->hipAheadHidden_fn();
  const hipError_t first = hip::hipLaunchKernel(function_address, numBlocks, dimBlocks, args, sharedMemBytes, stream);
  return first != hipSuccess ? first : hip::hipLaunchKernel(function_address, numBlocks, dimBlocks, args, sharedMemBytes, stream);
}
static int __hipAheadConfigure(int value) { return value + 1; }
"""


def change_hip(folder):
    hip = pathlib.Path(folder, "hipamd")
    header = Source(hip, "include/hip/amd_detail/hip_api_trace.hpp")
    types = "".join(f"typedef {result} (*t_{name})({parameters});\n" for name, result, parameters in HIP_FUNCTIONS)
    header.before("// HIP runtime dispatch functions\n", types)
    header.after("  t_hipApiName hipApiName_fn;\n", "  t_hipAheadBetween hipAheadBetween_fn;\n")
    header.after("  t_hipEventRecordWithFlags hipEventRecordWithFlags_fn;\n",
                 "  t_hipAheadHidden hipAheadHidden_fn;\n  t_hipAheadLaunchTwice hipAheadLaunchTwice_fn;\n")
    header.after("  t___hipPopCallConfiguration __hipPopCallConfiguration_fn;\n", "  t___hipAheadConfigure __hipAheadConfigure_fn;\n")
    header.replace("#define HIP_RUNTIME_API_TABLE_STEP_VERSION 10\n", "#define HIP_RUNTIME_API_TABLE_STEP_VERSION 11\n")
    header.replace("#define HIP_COMPILER_API_TABLE_STEP_VERSION 0\n", "#define HIP_COMPILER_API_TABLE_STEP_VERSION 1\n")
    fill = Source(hip, "src/hip_api_trace.cpp")
    fill.after("hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);\n", HIP_BODIES)
    fill.after("  ptrDispatchTable->hipEventRecordWithFlags_fn = hip::hipEventRecordWithFlags;\n",
               "".join(f"  ptrDispatchTable->{name}_fn = hip::{name};\n" for name, *_ in (BETWEEN, HIDDEN, TWICE)))
    fill.after("  ptrCompilerDispatchTable->__hipPopCallConfiguration_fn = hip::__hipPopCallConfiguration;\n",
               "  ptrCompilerDispatchTable->__hipAheadConfigure_fn = hip::__hipAheadConfigure;\n")
    # What is asserted about the order of the tables is no longer so.
    fill.cut("#if !defined(_WIN32)\nconstexpr auto ComputeTableOffset", "pointers and then update this check so it is true\");\n#endif")
    fill.cut("  ROCPROFILER_REGISTER_COMPUTE_VERSION_3(HIP_ROCP_REG_VERSION_MAJOR", "HIP_ROCP_REG_VERSION_PATCH)\n")
    fill.text, changes = re.subn(r"(#define HIP_ROCP_REG_VERSION +)\\\n",
                                 rf"\1ROCPROFILER_REGISTER_COMPUTE_VERSION_3({HIP_VERSION.replace('.', ', ')})\n", fill.text)
    if changes != 1:
        sys.exit(f"{fill.path}: no version to register with")
    exported = Source(hip, "src/hip_table_interface.cpp")
    for (name, result, parameters), table in ((BETWEEN, ""), (TWICE, ""), (CONFIGURE, "Compiler")):
        exported.text += (f'\nextern "C" {result} {name}({parameters}) {{\n'
                          f"  return hip::GetHip{table}DispatchTable()->{name}_fn({names_of(parameters)});\n}}\n")
    symbols = Source(hip, "src/hip_hcc.map.in")
    names = "".join(f"    {name};\n" for name, *_ in (BETWEEN, TWICE, CONFIGURE))
    symbols.text += f"\nhip_10.0 {{\nglobal:\n{names}local:\n    *;\n}} hip_6.4;\n"
    build = Source(hip, "src/CMakeLists.txt")
    build.replace("VERSION ${HIP_LIB_VERSION_STRING}", f"VERSION {HIP_VERSION}")
    device = Source(folder, "rocclr/device/rocm/rocdevice.cpp")
    device.replace("  while (hsa_queue_create(bkendDevice_, queue_size, queue_type, callbackQueue, this,\n"
                   "                          std::numeric_limits<uint>::max(), std::numeric_limits<uint>::max(),\n"
                   "                          &queue)",
                   "  while (hsa_amd_ahead_queue_create(bkendDevice_, queue_size, queue_type, callbackQueue, this, &queue)")
    name, _, _, parameters, _ = ROCR_FUNCTIONS[3]
    device.before('#include "device/rocm/rocdevice.hpp"\n', f'#include <hsa/hsa.h>\nextern "C" hsa_status_t {name}({parameters});\n')


if __name__ == "__main__":
    {"rocr": change_rocr, "hip": change_hip}[sys.argv[1]](sys.argv[2])
    for source in Source.changed:
        source.path.write_text(source.text)
