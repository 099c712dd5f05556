#include "support/coverage.h"

namespace tensorscope {

namespace {
CoverageEntry g_entries[size_t(Subject::count_)];
constexpr const char* kNames[size_t(Subject::count_)] = {
    "tensors",
    "CPU memory",
    "mapped memory",
    "CUDA memory",
    "CUDA runtime calls",
    "device memory",
    "tensor metadata",
    "autograd",
    "autograd graph",
    "driver memory",
    "kernels and copies",
    "native stacks",
    "Python stacks",
    "module paths",
    "module outputs",
    "signal dumps",
    "exit dumps",
    "out of memory",
    "fork",
    "memory limits",
};
}  // namespace

CoverageEntry& coverage(Subject subject) { return g_entries[size_t(subject)]; }
const char* subject_name(Subject subject) { return kNames[size_t(subject)]; }

}  // namespace tensorscope
