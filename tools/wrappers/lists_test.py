# SPDX-License-Identifier: MIT
"""The lists of functions that are generated from ROCm's headers, from headers small enough to see through."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import headers  # noqa: E402
import hip_lists  # noqa: E402
import hsa_lists  # noqa: E402

HSA_TRACE = """
#include "hsa.h"  // not followed
struct ToolsApiTable { ApiTableVersion version; hsa_amd_tool_event event_fn; };
struct CoreApiTable {
  ApiTableVersion version;
  decltype(hsa_init)* hsa_init_fn;
  decltype(hsa_queue_create)*
      hsa_queue_create_fn;  /* on two lines */
};
struct AmdExtTable { ApiTableVersion version; decltype(::hsa_amd_wait)* hsa_amd_wait_fn; };
struct ImageExtTable { ApiTableVersion version; decltype(hsa_ext_x)* hsa_ext_x_fn; };
struct HsaApiTable {
  ApiTableVersion version;
  CoreApiTable* core_;
\tAmdExtTable* amd_ext_;
  ImageExtTable* image_ext_;
  ToolsApiTable* tools_;
};
"""

HSA = """
/** calls hsa_init(this is a comment); */
hsa_status_t HSA_API hsa_init();
typedef hsa_status_t (*hsa_queue_create_t)(int);
hsa_status_t HSA_API hsa_queue_create(hsa_agent_t agent, uint32_t size,
    void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data), void *data,
    hsa_queue_t **queue);
uint32_t HSA_API hsa_amd_wait(uint32_t count, hsa_signal_t* signals, hsa_signal_value_t* value);
hsa_status_t HSA_API hsa_ext_x(void);
"""

HIP_TABLES = """
typedef hipError_t (*t___hipPush)(dim3 grid, size_t bytes);
typedef void (*t___hipRegisterVar)(void** modules, char* name);
typedef const char* (*t_hipName)(uint32_t id);
typedef hipError_t (*t_hipMalloc)(void** ptr,
                                  size_t size);
typedef hipError_t (*t_hipHost)(hipStream_t, void (*fn)(void*), const char* label, int devices[2]);
struct HipCompilerDispatchTable {
  size_t size;
  t___hipPush __hipPush_fn;
  t___hipRegisterVar __hipRegisterVar_fn;
};
struct HipDispatchTable {
  // version 0
  size_t size;
  t_hipName hipName_fn;
  t_hipMalloc
      hipMalloc_fn;
  t_hipHost hipHost_fn;
};
"""

HIP_TRACED = "enum hip_api_id_t {\n  HIP_API_ID_NONE = 0,\n  HIP_API_ID_FIRST = 1,\n" + "".join(
    f"  HIP_API_ID_hipF{number} = {number},\n" for number in range(1, 121)) + """
  HIP_API_ID_RESERVED_121 = 121,
  HIP_API_ID_hipMalloc = 122,
  HIP_API_ID_LAST = 122,
  HIP_API_ID_hipOld = HIP_API_ID_NONE,
};
typedef struct hip_api_data_s {
  uint64_t correlation_id;
  union {
    struct {
      void** ptr;
      void* ptr__val;
      size_t size;
    } hipMalloc;
    struct {
      const char* name;
      char name__val;
    } hipF2;
  } args;
} hip_api_data_t;
"""


class HeadersTest(unittest.TestCase):
    def test_argument_names(self):
        names = ["ptr", "callback", "arg2", "arg3", "sizes", "value", "arg6", "flags"]
        texts = ["void **ptr", "void (*callback)(int, void*)", "hipStream_t", "unsigned int", "int sizes[4]",
                 "const hsa_pitched_ptr_t* value", "const void *", "unsigned int flags = 0"]
        self.assertEqual([headers.argument_name(text, index) for index, text in enumerate(texts)], names)

    def test_single_values_that_the_function_fills_in(self):
        for declaration in ("void** ptr", "int* count", "size_t* numNodes", "hsa_signal_t *signal",
                            "unsigned int* flags", "const char** errorString", "void** address"):
            name = headers.argument_name(declaration, 0)
            self.assertTrue(headers.is_out(declaration, name), declaration)

    def test_whatever_may_be_something_else_is_not_read(self):
        for declaration in ("void* dst", "const int* value", "char* name", "void** args", "void** kernelParams",
                            "hipGraphNode_t* nodes", "void (*callback)(void*)", "int values[3]", "void** extra",
                            "hipGraphNode_t nodeArray[]", "size_t size"):
            name = headers.argument_name(declaration, 0)
            self.assertFalse(headers.is_out(declaration, name), declaration)

    def test_commas_inside_brackets_do_not_separate(self):
        self.assertEqual(headers.split_arguments("int a, void (*f)(int, int), map<int, int> b"),
                         ["int a", "void (*f)(int, int)", "map<int, int> b"])
        self.assertEqual(headers.split_arguments("void"), [])
        self.assertEqual(headers.split_arguments(" "), [])


class HsaListsTest(unittest.TestCase):
    def generate(self, trace=HSA_TRACE, hsa=HSA):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder)
            (include / "hsa").mkdir()
            (include / "hsa" / "hsa_api_trace.h").write_text(trace)
            (include / "hsa" / "hsa.h").write_text(hsa)
            return hsa_lists.generate(include)

    def test_every_entry_of_every_table_in_order(self):
        self.assertEqual(self.generate().splitlines(), [
            'ROCHOUND_HSA_FUNCTION(CoreApiTable, core_, hsa_init, "", 0x0)',
            'ROCHOUND_HSA_FUNCTION(CoreApiTable, core_, hsa_queue_create, "agent,size,callback,data,queue", 0x10)',
            'ROCHOUND_HSA_FUNCTION(AmdExtTable, amd_ext_, hsa_amd_wait, "count,signals,value", 0x4)',
            'ROCHOUND_HSA_FUNCTION(ImageExtTable, image_ext_, hsa_ext_x, "", 0x0)'])

    def test_a_function_without_prototype_is_an_error(self):
        with self.assertRaisesRegex(headers.HeaderError, "hsa_amd_wait of AmdExtTable"):
            self.generate(hsa=HSA.replace("hsa_amd_wait(", "hsa_amd_other("))

    def test_a_member_with_another_name_is_an_error(self):
        with self.assertRaisesRegex(headers.HeaderError, "hsa_init is called init_fn"):
            self.generate(trace=HSA_TRACE.replace("hsa_init_fn", "init_fn"))


class HipListsTest(unittest.TestCase):
    def write(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".h", delete=False)
        self.addCleanup(pathlib.Path(file.name).unlink)
        with file:
            file.write(text)
        return pathlib.Path(file.name)

    def test_tables(self):
        self.assertEqual(hip_lists.tables(self.write(HIP_TABLES)).splitlines(), [
            'ROCHOUND_HIP_FUNCTION(HipCompilerDispatchTable, __hipPush, "grid,bytes", 0x0)',
            'ROCHOUND_HIP_FUNCTION(HipDispatchTable, hipName, "id", 0x0)',
            'ROCHOUND_HIP_FUNCTION(HipDispatchTable, hipMalloc, "ptr,size", 0x1)',
            'ROCHOUND_HIP_FUNCTION(HipDispatchTable, hipHost, "arg0,fn,label,devices", 0x0)'])

    def test_a_release_without_tables_has_none(self):
        self.assertEqual(hip_lists.tables(pathlib.Path("/nonexistent/hip_api_trace.hpp")), "")

    def test_an_entry_of_another_type_is_an_error(self):
        with self.assertRaisesRegex(headers.HeaderError, "hipMalloc_fn of HipDispatchTable"):
            hip_lists.tables(self.write(HIP_TABLES.replace("t_hipMalloc\n", "t_hipHost\n")))

    def test_traced_functions_by_their_numbers(self):
        lines = hip_lists.traced(self.write(HIP_TRACED)).splitlines()
        self.assertEqual(len(lines), 121)
        self.assertEqual(lines[0], 'ROCHOUND_HIP_TRACED(hipF1, 1, "", 0x0)')
        self.assertEqual(lines[1], 'ROCHOUND_HIP_TRACED(hipF2, 2, "name", 0x0, args.name)')
        self.assertEqual(lines[-1], 'ROCHOUND_HIP_TRACED(hipMalloc, 122, "ptr,size", 0x1, args.ptr, args.size)')

    def test_a_header_without_functions_is_an_error(self):
        with self.assertRaisesRegex(headers.HeaderError, "ids"):
            hip_lists.traced(self.write("enum hip_api_id_t { HIP_API_ID_NONE = 0, };"))


if __name__ == "__main__":
    unittest.main()
