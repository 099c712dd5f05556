// SPDX-License-Identifier: Apache-2.0
#include "dump/type_names.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer {

namespace {

// As the C shim numbers them (torch/csrc/inductor/aoti_torch/shim_common.cpp); 7 is at::kJagged.
constexpr const char* kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "mkldnn",
                                    "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};

// c10::DeviceType (torch/headeronly/core/DeviceType.h in 2.13), names of DeviceTypeName (c10/core/DeviceType.cpp).
constexpr const char* kDevices[] = {"cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
                                    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
                                    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};

template <size_t N>
std::string look_up(const char* const (&names)[N], int code, const char* what) {
  if (code < 0) return "unknown";
  if (size_t(code) < N) return names[code];
  return std::string(what) + " " + std::to_string(code);
}

constexpr size_t kMaxMangled = 1024, kMaxName = 512;
// Each back reference can at most double the output of the demangler.
constexpr int kMaxBackReferences = 8;

// N <length name>* E, or one <length name>: most class names, and no work that grows faster than the text.
std::optional<std::string> plain_nested_name(std::string_view mangled) {
  bool nested = mangled.starts_with('N');
  if (nested) {
    if (!mangled.ends_with('E')) return std::nullopt;
    mangled = mangled.substr(1, mangled.size() - 2);
  }
  std::string out;
  while (!mangled.empty()) {
    size_t digits = 0, length = 0;
    while (digits < mangled.size() && digits < 4 && isdigit(static_cast<unsigned char>(mangled[digits]))) {
      length = length * 10 + size_t(mangled[digits++] - '0');
    }
    if (digits == 0 || length == 0 || length > mangled.size() - digits) return std::nullopt;
    std::string_view part = mangled.substr(digits, length);
    if (!out.empty()) out += "::";
    out += part.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : part;
    mangled.remove_prefix(digits + length);
    if (!nested && !mangled.empty()) return std::nullopt;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

std::string dtype_name(int dtype) {
  const char* const known = rules::dtype_name(dtype);
  return *known ? known : dtype < 0 ? "unknown" : "dtype " + std::to_string(dtype);
}
std::string layout_name(int layout) { return look_up(kLayouts, layout, "layout"); }
std::string device_type_name(int type) { return look_up(kDevices, type, "device type"); }

std::string class_name_of(std::string_view mangled) {
  if (mangled.starts_with('*')) mangled.remove_prefix(1);  // GCC's mark of a type that is local to its object
  if (mangled.size() <= kMaxMangled) {
    if (auto plain = plain_nested_name(mangled)) return plain->substr(0, kMaxName);
    int back_references = 0;
    for (char c : mangled) back_references += c == 'S' || c == 'T';
    bool type_like =
        !mangled.empty() && (mangled[0] == 'N' || mangled[0] == 'S' || isdigit(static_cast<unsigned char>(mangled[0])));
    if (type_like && back_references <= kMaxBackReferences) {
      int status = 0;
      char* text = abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status);
      std::string out = text && status == 0 ? text : "";
      std::free(text);
      if (!out.empty()) return out.substr(0, kMaxName);
    }
  }
  return std::string(mangled.substr(0, kMaxName));
}

std::string last_component(std::string_view name) {
  int depth = 0;
  for (size_t i = name.size(); i-- > 1;) {
    if (name[i] == '>' || name[i] == ')') depth++;
    if (name[i] == '<' || name[i] == '(') depth--;
    if (depth == 0 && name[i] == ':' && name[i - 1] == ':') return std::string(name.substr(i + 1));
  }
  return std::string(name);
}

}  // namespace tensorscope::analyzer
