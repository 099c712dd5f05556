// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/saved_slots.h"

#include <algorithm>
#include <cstring>

#include "tensorscope/rules/plain_tensor.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

constexpr uint32_t kMaxOutputs = 1 << 16;
constexpr char kSavedVariableHooks[] = "N5torch8autograd18SavedVariableHooksE";
constexpr size_t kElementsLookedAt = 4;

// Nearly all: a node that dies while it is read may say anything.
bool nearly_all(size_t some, size_t all) { return some > 0 && (all - some) * 8 <= all; }

}  // namespace

bool read_saved(const SavedLayout& layout, const unsigned char* bytes, uint64_t undefined, SavedFields& out) {
  const uint64_t tensor = word_at(bytes, 0);
  if (tensor == 0 || !can_be_pointer(tensor)) return false;
  for (size_t at = 8; at < layout.versions(); at += 8) {
    if (!can_be_pointer(word_at(bytes, at))) return false;
  }
  for (size_t at = layout.hooks(); at + 8 < layout.size(); at += 8) {
    if (!can_be_pointer(word_at(bytes, at))) return false;
  }
  if (word_at(bytes, layout.versions()) >> 32 >= kMaxOutputs || bytes[layout.size() - 8] > 1) return false;
  // was_default_constructed_, is_inplace_on_view_, saved_original_, is_leaf_, is_output_
  const unsigned char* flags = bytes + layout.flags();
  if (std::any_of(flags, flags + 5, [](unsigned char flag) { return flag > 1; })) return false;
  const bool unused = flags[0] != 0, in_place = flags[1] != 0, original = flags[2] != 0;
  const bool leaf = flags[3] != 0, output = flags[4] != 0;

  const bool empty = tensor == undefined;
  out.tensor = empty ? 0 : tensor;
  out.hooks = word_at(bytes, layout.hooks());
  out.output = output && !original;
  out.original = original;
  if (unused) return empty && out.hooks == 0 && !in_place && !original && !leaf && !output;
  // Only an output that is no leaf is not kept itself; hooks keep something in the tensor's place.
  return empty || (out.hooks == 0 && (original || (output && !leaf)));
}

SlotFinder::SlotFinder(const NodeLayout& layout, const AddressMap& tensors, uint64_t undefined, ObjectClasses& classes)
    : tensors_(tensors), undefined_(undefined), classes_(classes) {
  layout_.pointer_bytes = layout.pointer_words() * 8;
}

bool SlotFinder::find_layout(const std::vector<NodeSample>& samples) {
  size_t votes[std::size(kExtraBytes)] = {};
  std::vector<uint64_t> hooks[std::size(kExtraBytes)];
  for (const NodeSample& sample : samples) {
    for (size_t at = 0; at + 8 <= sample.size; at += 8) {
      if (!known_tensor(word_at(sample.bytes, at))) continue;
      for (size_t i = 0; i < std::size(kExtraBytes); ++i) {
        use_layout(kExtraBytes[i]);
        SavedFields fields;
        if (at + layout_.size() > sample.size || !read_saved(layout_, sample.bytes + at, undefined_, fields)) continue;
        // What was never used fits other fields too.
        if (fields.hooks == 0) votes[i] += fields.original || fields.output;
        if (fields.hooks != 0) hooks[i].push_back(fields.hooks);
      }
    }
  }
  for (size_t i = 0; i < std::size(kExtraBytes); ++i) {
    std::vector<uint64_t> vtables(hooks[i].size(), 0);
    if (!read_words_safely(hooks[i].data(), vtables.data(), vtables.size())) return false;
    for (uint64_t vtable : vtables) votes[i] += classes_.derives_from(vtable, kSavedVariableHooks);
  }
  use_layout(votes[1] > votes[0] ? kExtraBytes[1] : kExtraBytes[0]);
  return votes[0] != votes[1];
}

// Adds those words to the known tensors that are addresses of tensors by their class.
bool SlotFinder::learn_tensors(const std::vector<uint64_t>& words) {
  std::vector<uint64_t> vtables(words.size(), 0);
  if (!read_words_safely(words.data(), vtables.data(), words.size())) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (classes_.derives_from(vtables[i], rules::kPlainTensorClass)) more_tensors_.set(words[i], 0);
  }
  return true;
}

// What one word of the samples could be the begin of.
struct SlotFinder::Candidates {
  struct Entry {
    size_t count = 0;
    size_t piece = 0;
    bool nothing = false;  // no vector, or one without elements
    bool cleared = false;  // it had elements: what they were is still in its memory
    bool wrong = false;    // a vector, but of something else
  };
  explicit Candidates(const std::vector<NodeSample>& of) : samples(of) {
    for (const NodeSample& sample : samples) size = std::min(size, sample.size);
    words = size / 8;
    entries.resize(samples.size() * words);
  }
  Entry& entry(size_t sample, size_t offset) { return entries[sample * words + offset / 8]; }
  const Entry& entry(size_t sample, size_t offset) const { return entries[sample * words + offset / 8]; }

  const std::vector<NodeSample>& samples;
  size_t size = SIZE_MAX;  // of the smallest sample
  size_t words = 0;        // of a sample
  SafeReads reads;         // the first elements of everything that could be a list
  std::vector<Entry> entries;
  std::vector<uint64_t> strangers;  // what could be tensors that are not known
};

void SlotFinder::note_stranger(const unsigned char* bytes, Candidates& candidates) const {
  SavedFields fields;
  if (read_saved(layout_, bytes, undefined_, fields) && fields.tensor != 0 && !known_tensor(fields.tensor)) {
    candidates.strangers.push_back(fields.tensor);
  }
}

void SlotFinder::look_at(size_t sample, size_t at, Candidates& candidates) const {
  const size_t stride = layout_.size();
  const unsigned char* bytes = candidates.samples[sample].bytes;
  if (at + stride <= candidates.size) note_stranger(bytes + at, candidates);
  Candidates::Entry& entry = candidates.entry(sample, at);
  const VectorWords v = vector_at(bytes, at);
  const uint64_t room = v.capacity - v.begin;
  entry.nothing = v.plausible() && v.bytes() == 0;
  entry.wrong = !entry.nothing && (!v.plausible() || !can_be_pointer(v.begin) || v.bytes() % stride != 0 ||
                                   room % stride != 0 || v.bytes() / stride > kMaxOutputs);
  entry.cleared = entry.nothing && can_be_pointer(v.begin) && room != 0 && room % stride == 0;
  if (entry.wrong || (entry.nothing && !entry.cleared)) return;
  entry.count = entry.cleared ? 1 : std::min<size_t>(v.bytes() / stride, kElementsLookedAt);
  entry.piece = candidates.reads.add(v.begin, entry.count * stride);
}

bool SlotFinder::is_single(const Candidates& candidates, size_t sample, size_t offset) const {
  SavedFields fields;
  if (offset + layout_.size() > candidates.size ||
      !read_saved(layout_, candidates.samples[sample].bytes + offset, undefined_, fields)) {
    return false;
  }
  return fields.tensor == 0 || is_tensor(fields.tensor);
}

bool SlotFinder::is_list(const Candidates& candidates, size_t sample, size_t offset) const {
  const Candidates::Entry& entry = candidates.entry(sample, offset);
  if (entry.count == 0 || !candidates.reads.ok(entry.piece)) return false;
  for (size_t i = 0; i < entry.count; ++i) {
    SavedFields fields;
    if (!read_saved(layout_, candidates.reads.bytes(entry.piece) + i * layout_.size(), undefined_, fields))
      return false;
    if (!entry.cleared && fields.tensor != 0 && !is_tensor(fields.tensor)) return false;
  }
  return true;
}

bool SlotFinder::read_candidates(Candidates& candidates) {
  for (size_t s = 0; s < candidates.samples.size(); ++s) {
    for (size_t at = 0; at + 24 <= candidates.size; at += 8) look_at(s, at, candidates);
  }
  if (!candidates.reads.run()) return false;
  for (const Candidates::Entry& entry : candidates.entries) {
    if (entry.count == 0 || entry.cleared || !candidates.reads.ok(entry.piece)) continue;
    for (size_t i = 0; i < entry.count; ++i) {
      note_stranger(candidates.reads.bytes(entry.piece) + i * layout_.size(), candidates);
    }
  }
  return learn_tensors(candidates.strangers);
}

bool SlotFinder::find_slots(const std::vector<NodeSample>& samples, std::vector<SlotPlace>& out) {
  out.clear();
  if (samples.empty()) return true;
  Candidates candidates(samples);
  if (!read_candidates(candidates)) return false;
  for (size_t at = 0; at + 24 <= candidates.size;) {
    size_t single = 0, list = 0, no_list = 0;
    for (size_t s = 0; s < samples.size(); ++s) {
      single += is_single(candidates, s, at);
      if (is_list(candidates, s, at)) {
        ++list;
      } else if (!candidates.entry(s, at).nothing) {
        ++no_list;
      }
    }
    if (nearly_all(single, samples.size())) {
      out.push_back({uint32_t(at), false});
      at += layout_.size();
    } else if (list > 0 && no_list * 8 <= samples.size()) {
      out.push_back({uint32_t(at), true});
      at += 24;
    } else {
      at += 8;
    }
  }
  return true;
}

}  // namespace tensorscope::torch
