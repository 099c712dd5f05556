// What would have to go for a request to fit: each remedy has its rule here, and says nothing where its rule does not
// hold.
#pragma once

#include <string>
#include <vector>

#include "model/out_of_memory/balance.h"
#include "model/out_of_memory/free_memory.h"

namespace tensorscope::model::oom {

struct RemedyCase {
  const std::vector<View>& views;  // of one run in order of time, everything selected
  Device device;
  const FreeMemory& cached;
  const Part& balance;
  uint64_t request = 0;  // 0: nothing was asked for in vain
};

// The most bytes first.
std::vector<Remedy> find_remedies(const RemedyCase& about);

// Where PyTorch reads the allocator's settings: PYTORCH_CUDA_ALLOC_CONF, or PYTORCH_ALLOC_CONF from 2.12 on.
const char* settings_variable(const std::string& torch_version);

}  // namespace tensorscope::model::oom
