// SPDX-License-Identifier: MIT
//
// llama.cpp, a whole model: the same prompt through the HIP backend and through the CPU backend.
// The tokens must be the same and the scores they were chosen by close. The model is made by
// make_tiny_model.py. With SECONDS, it goes on for so long, and each answer must be that of before.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "library_test.h"

using library_test::Compare;
using library_test::Fail;

namespace {

constexpr int kPrompt = 20;  // more than the eight up to which other kernels are used
constexpr int kGenerated = 12;

struct Answer {
  std::vector<double> tokens;
  std::vector<double> scores;  // of all tokens, at each step
};

Answer Generate(const char* file, bool is_f32, bool on_gpu) {
  llama_model_params model_params = llama_model_default_params();
  ggml_backend_dev_t none[] = {nullptr};
  if (!on_gpu) model_params.devices = none;
  model_params.n_gpu_layers = on_gpu ? 99 : 0;
  llama_model* model = llama_model_load_from_file(file, model_params);
  if (model == nullptr) Fail(std::string("the model cannot be loaded: ") + file);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 64;
  params.n_batch = params.n_ubatch = 32;
  params.n_threads = params.n_threads_batch = 1;
  if (is_f32) {
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.type_k = params.type_v = GGML_TYPE_F32;
  }
  params.offload_kqv = params.op_offload = on_gpu;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) Fail("no context");
  int count = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<llama_token> next;
  for (int i = 0; i < kPrompt; ++i) next.push_back((i * 37 + 11) % count);
  Answer answer;
  for (int step = 0; step < kGenerated; ++step) {
    EXPECT_OK(
        llama_decode(context, llama_batch_get_one(next.data(), static_cast<int>(next.size()))), 0);
    const float* scores = llama_get_logits_ith(context, -1);
    if (scores == nullptr) Fail("no scores");
    answer.scores.insert(answer.scores.end(), scores, scores + count);
    next = {static_cast<llama_token>(std::max_element(scores, scores + count) - scores)};
    answer.tokens.push_back(next[0]);
  }
  llama_free(context);
  llama_model_free(model);
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) Fail("usage: tiny_model FILE mixed|f32 [SECONDS]");
  bool is_f32 = std::strcmp(argv[2], "f32") == 0;
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all();
  llama_backend_init();
  ggml_backend_dev_t gpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
  if (gpu == nullptr) Fail("llama.cpp found no GPU");
  std::printf("GPU: %s, %s\n", ggml_backend_dev_name(gpu), ggml_backend_dev_description(gpu));
  Answer on_cpu = Generate(argv[1], is_f32, false);
  Answer on_gpu = Generate(argv[1], is_f32, true);
  std::printf("tokens:");
  for (double token : on_gpu.tokens) std::printf(" %d", static_cast<int>(token));
  std::printf("\n");
  Compare("tokens", on_gpu.tokens, on_cpu.tokens);
  double largest = 0, apart = 0;
  for (size_t i = 0; i < on_cpu.scores.size(); ++i) {
    largest = std::max(largest, std::fabs(on_cpu.scores[i]));
    apart = std::max(apart, std::fabs(on_cpu.scores[i] - on_gpu.scores[i]));
  }
  std::printf("scores up to %.3f, at most %.5f apart\n", largest, apart);
  // Halves and eight-bit integers are rounded at other places on the two.
  Compare("scores", on_gpu.scores, on_cpu.scores, (is_f32 ? 1e-4 : 0.03) * largest);
  if (on_cpu.tokens.front() == on_cpu.tokens.back() &&
      std::count(on_cpu.tokens.begin(), on_cpu.tokens.end(), on_cpu.tokens[0]) == kGenerated)
    Fail("the model says one token only: nothing is shown by that");
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(argc == 4 ? std::atoi(argv[3]) : 0);
  int answers = 1;
  for (; Clock::now() < end; ++answers)
    Compare("tokens", Generate(argv[1], is_f32, true).tokens, on_gpu.tokens);
  if (argc == 4) std::printf("elapsed: %d answers\n", answers);
  return library_test::Finish("tiny_model");
}
