// SPDX-License-Identifier: Apache-2.0
// Which tensors and items of a dump a question is about: the filters that report, list, diff and check share.
//
// A filter chooses tensors, and totals follow: memory is selected with the tensors that lie in it. Filters of a tensor
// (dtype, shape, class, category, name, holder, module, gradients) ask each tensor itself; an item (accounting.h)
// passes them if one of its tensors does. Filters of memory (device, place, thread, age, size) ask a tensor for its own
// and an item for its allocation's; a tensor with another place than its memory (a view) is counted, with 0 bytes. The
// oldest tensor of a selected item that passes the filters of a tensor is selected too, so no memory is without a
// tensor. Values of one filter are alternatives; different filters must all pass.
//
// Memory that a selected and another storage share counts for the selected one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/dump.h"
#include "memory/accounting.h"
#include "ownership/category.h"
#include "ownership/holders.h"
#include "support/error.h"
#include "symbols/places.h"

namespace tensorscope::analyzer {

struct Filter {
  std::vector<std::string> dtypes{}, devices{}, shapes{}, threads{}, categories{}, classes{};
  std::vector<std::string> names{}, holders{};     // any of a tensor's
  std::vector<std::string> modules{};              // that it belongs to
  std::vector<std::string> functions{}, lines{};   // of the place
  std::vector<std::string> stacks{};               // POSIX extended regular expressions, on any frame of the stack
  std::optional<uint64_t> min_size{}, max_size{};  // bytes of the storage or block
  std::optional<uint64_t> min_age_ns{}, max_age_ns{};
  bool leaf = false, with_grad = false, requires_grad = false;
  bool not_in_optimizer = false;  // a leaf that requires grad and that no optimizer trains

  bool empty() const;
};

enum class FilterField : uint8_t {
  dtype,
  device,
  shape,
  thread,
  category,
  class_name,
  name,
  holder,
  module,
  function,
  line,
  stack,
  min_size,
  max_size,
  min_age,
  max_age,
  leaf,
  with_grad,
  requires_grad,
  not_in_optimizer
};

// A filter value that can match nothing; text/filter_words.h has the sentence.
struct FilterMistake {
  enum class Reason : uint8_t {
    unknown,       // no dump can have it, or, of a file, these dumps do not
    malformed,     // no shape, no regular expression
    not_recorded,  // the dumps do not have what it needs
  };
  FilterField field;
  Reason reason = Reason::unknown;
  std::string value;                   // of a line its file
  std::vector<std::string> near{};     // values that were probably meant
  std::vector<std::string> present{};  // what the dumps have, the most frequent first; of a category all there are
  std::string detail{};                // what the C library says of a regular expression
};

// A value of a filter that can match nothing; text/dump has the sentence. Exit status 2.
class BadFilter : public Error {
 public:
  explicit BadFilter(FilterMistake what_is_wrong)
      : Error("a filter value that can match nothing"), mistake(std::move(what_is_wrong)) {}
  const FilterMistake mistake;
};

class Selection {
 public:
  // `earlier`: of a dump of the same run. Memory that several tensors share stays with the one it counted for there.
  // Throws BadFilter.
  Selection(const Dump& dump, const Accounts& accounts, const Holders& holders, Places& places, const Filter& filter,
            const Selection* earlier = nullptr);

  bool tensor(uint32_t index) const { return tensors_[index]; }
  bool item(uint32_t index) const { return items_[index]; }
  uint64_t tensor_count() const;
  uint64_t bytes() const;  // of all selected items
  uint64_t item_bytes(uint32_t item) const { return items_[item] ? item_bytes_[item] : 0; }
  // Of the selected tensors of an item: the oldest, which stands for its dtype, shape and class, and the one that says
  // what its memory is (holders.h). kNone for a block in no tensor.
  uint32_t owner(uint32_t item) const { return owners_[item]; }
  uint32_t representative(uint32_t item) const { return representatives_[item]; }

 private:
  struct Earlier;
  void choose(const Holders& holders, Places& places, const Filter& filter);
  void count_bytes(bool filtered, const Earlier& earlier);
  void choose_speakers(const Holders& holders, const Earlier& earlier);
  uint32_t first_named(const Item& item, const Holders& holders) const;
  template <typename Visit>
  void each_tensor(const Item& item, Visit visit) const;

  const Dump* dump_;
  const Accounts* accounts_;
  std::vector<bool> tensors_, items_;
  std::vector<uint64_t> item_bytes_;
  std::vector<uint32_t> owners_, representatives_;
};

// The site a tensor counts for: its storage's, where that is the same place in other words (the allocation is made a
// few native frames further in than the tensor, and a parameter is wrapped right after it was made), else its own.
uint32_t effective_site(const Dump& dump, const Accounts& accounts, Places& places, uint32_t tensor);

// Single values, as the filters compare them.
bool name_matches(const std::string& pattern, const std::string& name);  // glob if it has * ? [, else a part of it
// As name_matches; brackets are indexes, not a set of characters: 'losses[3]', 'losses[*]'. A pattern may also leave
// out the scope: 'tup*' is "train.py: tup[0]" and "tup (local of step)".
bool label_matches(const std::string& pattern, const std::string& label);
// "train.py: losses[3]" -> "losses[3]", "h (local of Block.forward)" -> "h".
std::string_view without_scope(std::string_view label);
bool path_matches(const std::string& pattern, const std::string& path);  // whole, its end from a '/' on, or a glob
bool shape_matches(const std::string& pattern, std::span<const int64_t> sizes);  // "64,*", "[64, ..., 3]"
bool is_shape(const std::string& pattern);
// "model.py:88" -> "model.py" and "88"; without a line "".
std::pair<std::string, std::string> file_and_line(const std::string& pattern);
bool line_matches(const std::string& pattern, const Place& place);  // "train.py", "model.py:88"

}  // namespace tensorscope::analyzer
