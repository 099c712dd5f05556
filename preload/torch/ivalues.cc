// SPDX-License-Identifier: Apache-2.0
#include "torch/ivalues.h"

#include <string.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "live/tensor_serial.h"
#include "torch/graph/node_layout.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

// In words.
constexpr size_t kMaxBase = 3, kVector = 3, kIValue = 2;
constexpr uint64_t kTensorTag = 1, kIntTag = 5;  // the same since torch 1.9
constexpr uint64_t kMaxIValues = uint64_t{1} << 22, kChunk = uint64_t{1} << 15;
constexpr size_t kMaxText = 64;

uint64_t low_half(uint64_t word) { return word & 0xffffffff; }

// The size of an intrusive_ptr_target: its vtable and its counts (c10/util/intrusive_ptr.h), of strong and of weak
// references. They share a word in newer torch, where the upper half is the weak one, of at least 1.
size_t base_of(const std::vector<uint64_t>& words) { return words[1] >> 32 != 0 ? 2 : 3; }

VectorWords vector_of(const uint64_t* words) { return {words[0], words[1], words[2]}; }

bool is_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c != 127; });
}

std::string slot_step(size_t number) { return ".<slot " + std::to_string(number) + ">"; }

}  // namespace

IValues::Kind IValues::kind_of(uint64_t vtable) {
  const char* const name = vtable == 0 ? "" : classes_.by_vtable(vtable);
  if (strcmp(name, "N3c106detail8ListImplE") == 0) return Kind::list;
  if (strcmp(name, "N3c106detail8DictImplE") == 0) return Kind::dict;
  if (strcmp(name, "N3c106ivalue5TupleE") == 0) return Kind::tuple;
  if (strcmp(name, "N3c106ivalue6ObjectE") == 0) return Kind::object;
  if (strcmp(name, "N3c106ivalue6FutureE") == 0) return Kind::future;
  return Kind::none;
}

// False: not all of it is there.
bool IValues::read(uint64_t address, size_t size, std::vector<uint64_t>& words) {
  words.clear();
  if (address == 0 || !can_be_pointer(address)) return false;
  SafeReads reads;
  reads.add(address, size * sizeof(uint64_t));
  allowed_ = allowed_ && reads.run();
  if (!allowed_ || !reads.ok(0)) return false;
  words.resize(size);
  memcpy(words.data(), reads.bytes(0), size * sizeof(uint64_t));
  return true;
}

// 0 for what cannot be an address.
bool IValues::vtables_of(const std::vector<uint64_t>& addresses, std::vector<uint64_t>& vtables) {
  std::vector<uint64_t> readable = addresses;
  for (uint64_t& address : readable) {
    if (!can_be_pointer(address)) address = 0;
  }
  vtables.assign(readable.size(), 0);
  allowed_ = allowed_ && read_words_safely(readable.data(), vtables.data(), readable.size());
  return allowed_;
}

// As many of an object's first words as can be read.
void IValues::read_head(uint64_t object, std::vector<uint64_t>& words) {
  for (size_t size = 4; size > 0 && !read(object, size, words); size /= 2) {
  }
}

uint64_t IValues::tensor_in(uint64_t object) {
  std::vector<uint64_t> words;
  read_head(object, words);
  const auto lives = [](uint64_t word) { return live::tensor_serial(reinterpret_cast<const void*>(word)) != 0; };
  const auto found = std::ranges::find_if(words, lives);
  return found == words.end() ? 0 : *found;
}

uint64_t IValues::container_in(uint64_t object) {
  std::vector<uint64_t> words, vtables;
  read_head(object, words);
  if (!vtables_of(words, vtables)) return 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (kind_of(vtables[i]) != Kind::none) return words[i];
  }
  return 0;
}

bool IValues::walk(uint64_t container, FunctionRef<bool()> go_on, FunctionRef<void(const Held&)> each_held) {
  std::vector<uint64_t> vtables;
  if (!met_.insert(container).second) return true;
  if (!vtables_of({container}, vtables)) return false;
  std::vector<Open> open = {{container, kind_of(vtables[0]), ""}};
  std::vector<Element> elements;
  for (size_t next = 0; next < open.size(); ++next) {
    const Open now = std::move(open[next]);
    if (!go_on()) return false;
    elements.clear();
    read_elements(now, elements);
    std::vector<uint64_t> others;
    for (const Element& each : elements) others.push_back(low_half(each.tag) <= kTensorTag ? 0 : each.payload);
    if (!vtables_of(others, vtables)) return false;
    for (size_t i = 0; i < elements.size(); ++i) {
      const Element& each = elements[i];
      std::string text = now.text + each.step;
      const bool tensor =
          low_half(each.tag) == kTensorTag && live::tensor_serial(reinterpret_cast<const void*>(each.payload)) != 0;
      if (tensor) each_held({each.payload, text, now.kind, each.role});
      const Kind kind = others[i] == 0 ? Kind::none : kind_of(vtables[i]);
      if (kind == Kind::none || !met_.insert(each.payload).second) continue;
      open.push_back({each.payload, kind, std::move(text)});
    }
  }
  return allowed_;
}

void IValues::read_elements(const Open& container, std::vector<Element>& elements) {
  std::vector<uint64_t> words;
  switch (container.kind) {
    case Kind::list:
      if (read(container.address, kMaxBase + kVector, words)) read_vector(&words[base_of(words)], elements);
      break;
    case Kind::tuple:
      return read_tuple(container.address, elements);
    case Kind::dict:
      return read_dict(container.address, elements);
    case Kind::object:
      return read_object(container.address, elements);
    case Kind::future:
      return read_future(container.address, elements);
    case Kind::none:
      break;
  }
}

// It has few elements within it.
void IValues::read_tuple(uint64_t address, std::vector<Element>& elements) {
  constexpr size_t kInline = 3;
  std::vector<uint64_t> words;
  if (!read(address, kMaxBase + 1 + kVector, words)) return;
  const size_t base = base_of(words);
  const uint64_t count = words[base];
  if (count > kInline) return;
  if (count == 0) return read_vector(&words[base + 1], elements);
  read_array(address + (base + 1) * sizeof(uint64_t), count, elements);
}

void IValues::read_vector(const uint64_t* words, std::vector<Element>& elements) {
  const VectorWords vector = vector_of(words);
  constexpr uint64_t kBytes = kIValue * sizeof(uint64_t);
  if (!vector.plausible() || vector.bytes() % kBytes != 0) return;
  read_array(vector.begin, vector.bytes() / kBytes, elements);
}

// As far as it can be read.
void IValues::read_array(uint64_t begin, uint64_t count, std::vector<Element>& elements) {
  std::vector<uint64_t> words;
  for (uint64_t done = 0; done < std::min(count, kMaxIValues); done += kChunk) {
    const uint64_t some = std::min(count - done, kChunk);
    if (!read(begin + done * kIValue * sizeof(uint64_t), some * kIValue, words)) return;
    for (uint64_t i = 0; i < some; ++i) {
      elements.push_back({words[i * kIValue], words[i * kIValue + 1], "[" + std::to_string(done + i) + "]"});
    }
  }
}

// The table of entries, of which the last only ends it, and among them as many with a value as the dict has.
void IValues::read_dict(uint64_t address, std::vector<Element>& elements) {
  struct Words {
    uint64_t table, slots_minus_one, small, count, sentinel, same_sentinel;
  };
  constexpr size_t kEntry = 7, kKey = 3, kValue = 5;  // previous, next, distance, key, value
  std::vector<uint64_t> words;
  if (!read(address, kMaxBase + sizeof(Words) / sizeof(uint64_t), words)) return;
  Words dict;
  memcpy(&dict, &words[base_of(words)], sizeof dict);
  const auto lookups = uint8_t(dict.small >> 8);  // after the shift of the hash's policy
  const uint64_t entries = dict.slots_minus_one + lookups;
  if (dict.sentinel == 0 || dict.sentinel != dict.same_sentinel || dict.count == 0) return;
  if (dict.slots_minus_one >= kMaxIValues || entries < dict.count) return;
  if (!read(dict.table, size_t(entries * kEntry), words)) return;
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t* const entry = &words[i * kEntry];
    if (int8_t(entry[2] & 0xff) < 0) continue;
    keys.push_back(entry[kKey]);
    keys.push_back(entry[kKey + 1]);
    elements.push_back({entry[kValue], entry[kValue + 1], ""});
  }
  if (elements.size() == dict.count) return name_keys(keys, elements);
  elements.clear();
}

// Texts and numbers; other keys are told by their place alone.
void IValues::name_keys(const std::vector<uint64_t>& keys, std::vector<Element>& elements) {
  std::vector<uint64_t> payloads, vtables;
  for (size_t i = 0; i < elements.size(); ++i) payloads.push_back(keys[i * kIValue]);
  if (!vtables_of(payloads, vtables)) return elements.clear();
  for (size_t i = 0; i < elements.size(); ++i) {
    std::string text;
    const bool is_string =
        vtables[i] != 0 && strcmp(classes_.by_vtable(vtables[i]), "N3c106ivalue14ConstantStringE") == 0;
    std::vector<uint64_t> head;
    if (is_string && read(payloads[i], 2, head) && read_text(payloads[i] + base_of(head) * sizeof(uint64_t), text)) {
      elements[i].step = "['" + text.substr(0, kMaxText) + "']";
    } else if (low_half(keys[i * kIValue + 1]) == kIntTag) {
      elements[i].step = "[" + std::to_string(int64_t(payloads[i])) + "]";
    } else {
      elements[i].step = "[<entry " + std::to_string(i) + ">]";
    }
  }
}

// Its type is the one ClassType among its first words, and its slots follow the two words of that pointer.
void IValues::read_object(uint64_t address, std::vector<Element>& elements) {
  constexpr size_t kUnit = 6;  // that compiled the type
  std::vector<uint64_t> words, vtables;
  if (!read(address, 2, words)) return;
  const size_t base = base_of(words), size = base + kUnit + 2 + kVector;
  if (!read(address, size, words) || !vtables_of(words, vtables)) return;
  for (size_t i = base; i + 2 + kVector <= size; ++i) {
    if (vtables[i] == 0 || strcmp(classes_.by_vtable(vtables[i]), "N3c109ClassTypeE") != 0) continue;
    read_vector(&words[i + 2], elements);
    return name_slots(words[i], elements);
  }
}

// An attribute has a kind, a type and a name: a text of libstdc++'s newer or older kind.
void IValues::name_slots(uint64_t type, std::vector<Element>& elements) {
  constexpr size_t kTypeWords = 96;
  constexpr size_t kAttribute = 3, kNewText = 4, kOldText = 1;
  for (size_t i = 0; i < elements.size(); ++i) elements[i].step = slot_step(i);
  std::vector<uint64_t> words;
  for (size_t size = kTypeWords; size > 0 && !read(type, size, words); size /= 2) {
  }
  if (elements.empty() || name_slots(words, kAttribute + kNewText, elements)) return;
  name_slots(words, kAttribute + kOldText, elements);
}

bool IValues::name_slots(const std::vector<uint64_t>& type, size_t attribute_words, std::vector<Element>& elements) {
  constexpr size_t kName = 3;  // in an attribute
  std::vector<uint64_t> attributes;
  for (size_t i = 0; i + kVector <= type.size(); ++i) {
    const VectorWords vector = vector_of(&type[i]);
    const size_t bytes = elements.size() * attribute_words * sizeof(uint64_t);
    if (vector.begin == 0 || !vector.plausible() || vector.bytes() != bytes) continue;
    if (!read(vector.begin, elements.size() * attribute_words, attributes)) continue;
    std::vector<std::string> names(elements.size());
    const auto name_of = [&](size_t slot) {
      return vector.begin + (slot * attribute_words + kName) * sizeof(uint64_t);
    };
    size_t known = 0;
    while (known < names.size() && read_text(name_of(known), names[known])) ++known;
    if (known < names.size()) continue;
    for (size_t slot = 0; slot < names.size(); ++slot) {
      const uint64_t kind = low_half(attributes[slot * attribute_words]);  // BUFFER, PARAMETER, REGULAR_ATTRIBUTE
      elements[slot].role = kind == 0 ? Role::buffer : kind == 1 ? Role::parameter : Role::plain;
      elements[slot].step = "." + names[slot].substr(0, kMaxText);
    }
    return true;
  }
  return false;
}

// libstdc++'s std::string: of the newer kind begin, length and a place for short ones; of the older kind the begin
// alone, before which length and capacity stand.
bool IValues::read_text(uint64_t string, std::string& text) {
  constexpr uint64_t kShort = 16;
  std::vector<uint64_t> words;
  if (!read(string, 1, words)) return false;
  const uint64_t begin = words[0];
  if (read(string, 3, words)) {
    const bool is_short = begin == string + kShort;
    if ((is_short ? words[1] < kShort : words[2] >= words[1]) && read_characters(begin, words[1], text)) return true;
  }
  return begin % 8 == 0 && read(begin - 24, 2, words) && words[1] >= words[0] && read_characters(begin, words[0], text);
}

// False: it is no text that ends there.
bool IValues::read_characters(uint64_t begin, uint64_t length, std::string& text) {
  constexpr uint64_t kMax = 4096;
  if (length == 0 || length > kMax) return false;
  SafeReads reads;
  reads.add(begin, size_t(length) + 1);
  allowed_ = allowed_ && reads.run();
  if (!allowed_ || !reads.ok(0)) return false;
  text.assign(reinterpret_cast<const char*>(reads.bytes(0)), size_t(length));
  return reads.bytes(0)[length] == 0 && is_text(text);
}

// The value is there if one of the words after the locks is a tensor or a container with its tag.
void IValues::read_future(uint64_t address, std::vector<Element>& elements) {
  constexpr size_t kWords = 19;  // the locks have 12
  std::vector<uint64_t> words, vtables;
  if (!read(address, kWords, words) || !vtables_of(words, vtables)) return;
  for (size_t i = base_of(words); i + 1 < words.size(); ++i) {
    const bool tensor =
        low_half(words[i + 1]) == kTensorTag && live::tensor_serial(reinterpret_cast<const void*>(words[i])) != 0;
    if (!tensor && kind_of(vtables[i]) == Kind::none) continue;
    elements.push_back({words[i], words[i + 1], ".value()"});
    return;
  }
}

}  // namespace tensorscope::torch
