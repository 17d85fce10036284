// SPDX-License-Identifier: MIT
#include "store/convert/names.h"

#include <gtest/gtest.h>

namespace rochound::store {
namespace {

TEST(Names, TellTheRuntimesKernelsFromThePrograms) {
  EXPECT_EQ(OperationOfKernel("_Z3addPii"), "KernelExecution");
  EXPECT_EQ(OperationOfKernel("my__amd_rocclr_copy"), "KernelExecution");
  EXPECT_EQ(OperationOfKernel("__amd_rocclr_copyBuffer"), "CopyDeviceToDevice");
  EXPECT_EQ(OperationOfKernel("__amd_rocclr_copyBufferRectAligned"), "CopyDeviceToDevice");
  EXPECT_EQ(OperationOfKernel("__amd_rocclr_fillBufferAligned"), "FillBuffer");
  EXPECT_EQ(OperationOfKernel("__amd_rocclr_initHeap"), "RuntimeKernel");
}

TEST(Names, SortCallsByKind) {
  const auto category = [](const std::string& domain, const std::string& name) {
    return CategoryOf(Function(domain, name, "enum", ""));
  };
  EXPECT_EQ(category("hip", "hipLaunchKernel"), "launch");
  EXPECT_EQ(category("hip", "hipGraphLaunch"), "launch");
  EXPECT_EQ(category("hip", "hipGraphAddKernelNode"), "graph");
  EXPECT_EQ(category("hip", "hipMemcpyAsync"), "copy");
  EXPECT_EQ(category("hip", "hipMemsetD32"), "fill");
  EXPECT_EQ(category("hip", "hipMemGetInfo"), "memory");
  EXPECT_EQ(category("hip", "hipStreamSynchronize"), "synchronize");
  EXPECT_EQ(category("hip", "hipStreamCreate"), "stream");
  EXPECT_EQ(category("hip", "hipFuncGetAttributes"), "");
  EXPECT_EQ(category("hsa", "hsa_amd_memory_async_copy"), "copy");
  EXPECT_EQ(category("hsa", "hsa_signal_wait_scacquire"), "synchronize");
  EXPECT_EQ(category("hsa", "hsa_queue_create"), "queue");
  EXPECT_EQ(category("roctx", "hipMemcpy"), "");
}

TEST(Names, FindThePartsOfACopyCall) {
  CopyCall call = CopyCallOf(Function("hip", "hipMemcpyAsync", "enum",
                                      "dst:ptr,src:ptr,sizeBytes:u64,kind:enum,stream:ptr"));
  EXPECT_TRUE(call.is_copy);
  EXPECT_FALSE(call.sync);
  EXPECT_EQ(call.destination, 0);
  EXPECT_EQ(call.source, 1);
  EXPECT_EQ(call.size, 2);
  EXPECT_EQ(call.kind, 3);
  EXPECT_EQ(call.stream, 4);
  EXPECT_EQ(call.width, -1);

  call = CopyCallOf(Function("hip", "hipMemcpyDtoH", "enum", "dst:ptr,src:ptr,sizeBytes:u64"));
  EXPECT_TRUE(call.sync);
  EXPECT_EQ(call.kind, -1);
  EXPECT_EQ(call.fixed_kind, 2);

  EXPECT_FALSE(CopyCallOf(Function("hip", "hipMemset", "enum", "dst:ptr,value:i32")).is_copy);
  EXPECT_FALSE(CopyCallOf(Function("hsa", "hipMemcpy", "enum", "dst:ptr")).is_copy);
}

}  // namespace
}  // namespace rochound::store
