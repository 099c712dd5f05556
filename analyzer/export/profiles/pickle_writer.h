// SPDX-License-Identifier: Apache-2.0
// Writes a pickle from numbers, texts, lists and dictionaries, without anything that a reader would have to run. Only
// opcodes that PyTorch's memory viewer knows (torch/utils/viz/MemoryViz.js, function unpickle): no frames,
// elements appended one by one because the viewer spreads a batch over the arguments of one call, integers of at most
// eight bytes. Python reads it as protocol 4.
//
//   PickleWriter pickle(out);
//   pickle.begin_dict();
//   pickle.text("blocks"), pickle.begin_list(), pickle.number(1), pickle.end_list();
//   pickle.end_dict();
//   pickle.finish();
//
// Streams; what it keeps in memory are the texts that may come again. Not thread-safe.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensorscope::exports {

class PickleWriter {
 public:
  // A number that stands for a list or dictionary, so that many places can refer to the one object.
  using Reference = uint32_t;

  explicit PickleWriter(std::ostream& out);

  // In a dictionary keys and values alternate; in a list each value is an element.
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  // The same, to be referred to later, also before it has ended.
  Reference begin_shared_dict();
  Reference begin_shared_list();
  void refer(Reference reference);

  void number(uint64_t value);
  void boolean(bool value);
  void pair(uint64_t first, uint64_t second);  // a tuple
  // Must be UTF-8. Equal texts are one object; `once` is for those that hardly come again: they are not remembered.
  void text(std::string_view value);
  void text_once(std::string_view value);

  void finish();

 private:
  Reference memoize();
  void get(Reference reference);
  void little_endian(uint64_t value, int bytes);
  void characters(std::string_view value);
  void ended();  // one value is complete

  std::ostream& out_;
  std::vector<bool> open_;  // true: a list, false: a dictionary
  uint32_t memoized_ = 0;
  std::unordered_map<std::string, Reference> texts_;
};

}  // namespace tensorscope::exports
