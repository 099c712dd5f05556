// SPDX-License-Identifier: Apache-2.0
// What texts of references have in common: "losses[3]['loss']" is "losses[*][*]".
//
// Context: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

// "losses[3]['loss']" is "losses[*][*]", "head.next.next" is "head.next*": what is the same for all members of a
// container.
std::string without_indexes(const std::string& text);

// "pool.workers[*].seen['a']" of "pool.workers[1].seen['a']": without the numbers that are indexes; keys stay.
std::string with_any_index(const std::string& text);

// "serve.py, thread *" of "serve.py, thread worker 3": the scope of what a threading.local keeps for any thread.
std::string without_thread(const std::string& scope);

// "Writer.close.__self__*.events" of "Writer.close.__self__.events", the form of what atexit keeps: any number of its
// handlers may be of one function, and all of them are named alike.
std::string with_any_handler(const std::string& form);

// Whether a text names one tensor at the most, as an index or an attribute does. Keys of a dict, members of a set and
// fields of objects of C are all written alike.
bool names_one(const std::string& text);

// "cache[", "head.next": what forms of references into one container have in common, before the first index.
std::string container_of(const std::string& form);

// "cache", "head", "memory": that object itself, however its entries are reached ("cache (key)", "cache[*]",
// "cache.*").
std::string owner_of(const std::string& form);

// "timeline.top_node" of "timeline.top_node.left.items{Interval}", "transform" of "closure of closure of transform:
// inner: noise": what a variable is or its object has, on the way.
std::string nearest_to_root(std::string_view text);

// "jobs[3]" of "closure of jobs[3]: batch" and of "default of jobs[3]: batch": the function that has the variable.
// Other texts as they are.
std::string without_variable_of_function(const std::string& text);
// Whether a text is that of an object, or of what it leads to by a key, an attribute or an index.
bool leads_from(const std::string& owner, const std::string& text);

// Whether a form is that of the pattern, in whose parts "*" is any text.
bool fits(const std::string& form, const std::string& pattern);

// "bank.image_*" and "layers.*.weight" of "bank.image_21" and "layers.3.weight": without the numbers in names, but for
// the variable's own.
std::string without_numbers(const std::string& form);
// "image_*" of "image_21".
std::string without_digits(std::string_view name);

// "layers.3.adapters.de.weight" is "layers.*.adapters.*.weight" for the part of this number; numbers are always "*".
std::string with_any_name(const std::vector<std::string_view>& parts, size_t number);
std::string with_any_number(const std::string& form);
// "blocks.0.heads.3.weight" is "blocks.0.heads.*.weight" for part 3.
std::string with_any(const std::vector<std::string_view>& parts, size_t number);

// Of "memory[*].state" and "memory[*].reward" "memory[*]", of "lora_A.*" and "lora_B.*" "lora_*".
std::string in_common(const std::string& a, const std::string& b);

// "history[3].state" is "history[3]": the entry, without what it holds.
std::string entry_of(const std::string& text);

// Of "state['outputs'][3]['mask']" and "state['outputs'][4]['mask']" "state['outputs'][*]['mask']", where the form of
// all is "state[*][*][*]": with the indexes that are the same in all.
class CommonIndexes {
 public:
  explicit CommonIndexes(std::string form) : form_(std::move(form)) {}
  void add(const std::string& text);
  std::string text() const;

 private:
  std::string form_;
  std::vector<std::string> common_;
  bool any_ = false, alike_ = true;
};

}  // namespace tensorscope::analyzer
