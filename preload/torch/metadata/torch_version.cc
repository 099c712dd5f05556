// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/torch_version.h"

#include <string.h>

#include "support/small_file.h"

namespace tensorscope::torch {

namespace {

constexpr char kTorchLibrary[] = "/libtorch_cpu.so";

std::string first_line(const char* text) { return std::string(text, strcspn(text, "\r\n")); }

}  // namespace

std::string version_in_python_file(const char* text) {
  const char* line = strstr(text, "__version__ =");
  if (line == nullptr) return {};
  const char* begin = line + strcspn(line, "'\"\n");
  if (*begin == 0 || *begin == '\n') return {};
  return std::string(begin + 1, strcspn(begin + 1, "'\"\n"));
}

std::string torch_version(const SharedObjectMap& objects, const TorchFunctions& torch) {
  char text[4096];
  std::string suffix;
  for (const MappedObject& object : objects.objects()) {
    const size_t at = object.path.rfind(kTorchLibrary);
    if (at == std::string::npos) continue;
    const std::string folder = object.path.substr(0, at);  // .../torch/lib
    read_small_file((folder + "/../version.py").c_str(), text, sizeof(text));
    if (std::string version = version_in_python_file(text); !version.empty()) return version;
    if (read_small_file((folder + "/../build-version").c_str(), text, sizeof(text)) != 0) return first_line(text);
    suffix = object.path.substr(at + sizeof(kTorchLibrary) - 1);  // ".2.6" in distributions
  }
  if (torch.abi_version != nullptr) {  // major, minor, patch in the upper bytes
    const uint64_t version = torch.abi_version();
    return std::to_string(version >> 56) + "." + std::to_string(version >> 48 & 255) + "." +
           std::to_string(version >> 40 & 255);
  }
  return suffix.size() > 1 && suffix[0] == '.' ? suffix.substr(1) : std::string();
}

}  // namespace tensorscope::torch
