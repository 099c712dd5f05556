// Which tensors and items of a dump a question is about: the filters that report, list, diff and check share.
//
// A tensor is selected by what it is itself. An item (accounting.h) is selected by its owner: the oldest tensor for
// dtype, shape and class, the one that speaks for its storage (holders.h) for category, name, holder, module and
// gradients, the allocation for place, thread, age and size. A view that passes a filter which
// its storage's owner does not pass is counted, with 0 bytes. Values of one filter are alternatives; different filters
// must all pass.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/accounting.h"
#include "model/category.h"
#include "model/dump.h"
#include "model/holders.h"
#include "model/places.h"

namespace tensorscope::model {

struct Filter {
  std::vector<std::string> dtypes{}, devices{}, shapes{}, threads{}, categories{}, classes{};
  std::vector<std::string> names{}, holders{};     // any of a tensor's
  std::vector<std::string> modules{};              // that it belongs to
  std::vector<std::string> functions{}, lines{};   // of the place
  std::vector<std::string> stacks{};               // POSIX extended regular expressions, on any frame of the stack
  std::optional<uint64_t> min_size{}, max_size{};  // bytes of the storage or block
  std::optional<uint64_t> min_age_ns{}, max_age_ns{};
  bool leaf = false, with_grad = false, requires_grad = false;

  bool empty() const;
};

// A filter value that means nothing: one line for a person.
class BadFilter : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Selection {
 public:
  // Throws BadFilter.
  Selection(const Dump& dump, const Accounts& accounts, const Holders& holders, Places& places, const Filter& filter);

  bool tensor(uint32_t index) const { return tensors_[index]; }
  bool item(uint32_t index) const { return items_[index]; }
  uint64_t tensor_count() const;
  uint64_t bytes(const Accounts& accounts) const;

 private:
  std::vector<bool> tensors_, items_;
};

// The site a tensor counts for: its storage's, where that is the same place in other words (the allocation is made a
// few native frames further in than the tensor, and a parameter is wrapped right after it was made), else its own.
uint32_t effective_site(const Dump& dump, const Accounts& accounts, Places& places, uint32_t tensor);

// Single values, as the filters compare them.
bool name_matches(const std::string& pattern, const std::string& name);  // glob if it has * ? [, else a part of it
// As name_matches; brackets are indexes, not a set of characters: 'losses[3]', 'losses[*]'.
bool label_matches(const std::string& pattern, const std::string& label);
bool path_matches(const std::string& pattern, const std::string& path);  // whole, its end from a '/' on, or a glob
bool shape_matches(const std::string& pattern, const std::vector<int64_t>& sizes);  // "64,*", "[64, ..., 3]"

}  // namespace tensorscope::model
