// SPDX-License-Identifier: Apache-2.0
// show: everything about single tensors: what they are, whose memory they use, who made them, with the whole stack.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "autograd/graph_freed.h"
#include "autograd/graph_walk.h"
#include "cli/dump_options.h"
#include "cli/graph_subject.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "dump_generated.h"
#include "text/dump/tensor_phrases.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::Frame;
using analyzer::kNone;
using analyzer::Tensor;
using format::TensorFlag;
using format::TensorKnown;

struct ShowOptions {
  std::string dump;
  std::vector<std::string> tensors;
  bool full = false;
  analyzer::SymbolOptions symbols;
};

constexpr size_t kMaxLines = 12;     // of names or holders
constexpr size_t kMaxOfOneName = 5;  // tensors that are shown for it
constexpr int kLabel = 9;            // width of the column of names

bool known(const Tensor& tensor, TensorKnown what) { return (tensor.known & uint32_t(what)) != 0; }
bool flag(const Tensor& tensor, TensorFlag what) { return (tensor.flags & uint32_t(what)) != 0; }

std::string numbers(std::span<const int64_t> values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

bool contiguous(const Tensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.sizes[i];
  }
  return true;
}

std::string gradient_words(const Tensor& tensor) {
  if (!known(tensor, TensorKnown::requires_grad)) return "";
  if (!flag(tensor, TensorFlag::requires_grad)) return "no grad";
  if (!known(tensor, TensorKnown::leaf)) return "requires grad";
  return flag(tensor, TensorFlag::leaf) ? "requires grad, a leaf" : "requires grad, not a leaf";
}

// Of a sparse tensor what its indices and values take: the dense size is many times that.
std::string byte_words(const Tensor& tensor) {
  if (!tensor.is_sparse()) return tensor.nbytes > 0 ? text::bytes(tensor.nbytes) : "";
  const std::string taken = tensor.parts > 0 ? text::bytes(tensor.nbytes) : "unknown bytes";
  const std::string dense =
      tensor.dense_nbytes > 0 ? fmt::format(" ({} if dense)", text::bytes(tensor.dense_nbytes)) : "";
  return taken + " in indices and values" + dense;
}

std::string first_line(const Tensor& tensor) {
  std::string line = fmt::format("tensor #{}  {} {}", tensor.serial, tensor.dtype_text(), tensor.shape_text());
  auto add = [&](const std::string& words) {
    if (!words.empty()) line += "  " + words;
  };
  add(byte_words(tensor));
  add(tensor.device.text());
  if (tensor.layout > 0) add(tensor.layout_text());
  if (known(tensor, TensorKnown::strides) && tensor.strides.size() == tensor.sizes.size()) {
    add(contiguous(tensor) ? "contiguous" : "strides " + numbers(tensor.strides));
  }
  add(gradient_words(tensor));
  return line;
}

std::string storage_words(const analyzer::OpenedDump& opened, uint32_t index) {
  const Tensor& tensor = opened.dump.tensors[index];
  if (tensor.storage == kNone) return known(tensor, TensorKnown::storage) ? "none" : "unknown";
  const analyzer::Storage& storage = opened.dump.storages[tensor.storage];
  const std::string offset = tensor.knows_offset() ? text::count(uint64_t(tensor.storage_offset)) : "unknown";
  std::string text =
      fmt::format("#{}, {} at {:#x}, offset {}", storage.id, text::bytes(storage.nbytes), storage.data_ptr, offset);
  if (storage.kind != analyzer::StorageKind::allocator) text += fmt::format(", {}", analyzer::text(storage.kind));
  return text;
}

std::string other_tensors(const analyzer::OpenedDump& opened, uint32_t index) {
  constexpr size_t kMax = 8;
  const Tensor& tensor = opened.dump.tensors[index];
  if (tensor.storage == kNone) return "";
  std::string text;
  size_t others = 0;
  for (uint32_t other : opened.dump.storages[tensor.storage].tensors) {
    if (other == index || ++others > kMax) continue;
    const Tensor& entry = opened.dump.tensors[other];
    text += fmt::format("{}#{} {}{}", text.empty() ? "" : ", ", entry.serial,
                        flag(entry, TensorFlag::view) ? "view " : "", entry.shape_text());
  }
  if (others > kMax) text += fmt::format(" and {} more", text::count(others - kMax));
  return text;
}

std::string thread_words(const analyzer::Dump& dump, uint32_t index) {
  if (index == 0 || index >= dump.threads.size()) return "an unknown thread";
  const analyzer::Thread& thread = dump.threads[index];
  return fmt::format("thread {} \"{}\"{}", thread.tid, thread.name, thread.alive ? "" : " (ended)");
}

std::string made_words(const analyzer::Dump& dump, const Tensor& tensor) {
  std::string text = thread_words(dump, tensor.thread);
  if (tensor.created_ns > 0 && tensor.created_ns <= dump.process.dump_ns) {
    text = fmt::format("{} before the dump, {}", text::duration(dump.process.dump_ns - tensor.created_ns), text);
  }
  if (flag(tensor, TensorFlag::inherited)) text += ", before the fork";
  return text;
}

const analyzer::Node* node_at(const analyzer::Dump& dump, uint64_t address) {
  for (const analyzer::Node& node : dump.nodes) {
    if (node.alive && node.address == address) return &node;
  }
  return nullptr;
}

// "#12 (model.fc1.weight)"
std::string labelled(const analyzer::OpenedDump& opened, uint32_t tensor) {
  const std::string name = opened.holders.name(tensor);
  return fmt::format("#{}{}", opened.dump.tensors[tensor].serial, name.empty() ? "" : " (" + name + ")");
}

std::string tensor_at(const analyzer::OpenedDump& opened, uint64_t address) {
  const uint32_t tensor = opened.tensor_at(address);
  return tensor != kNone ? labelled(opened, tensor) : fmt::format("at {:#x}", address);
}

// The stack in two blocks of one list: frames in order, each under the language it is in.
void add_stack(text::Table& table, analyzer::OpenedDump& opened, const std::vector<Frame>& frames) {
  Frame::Language last = Frame::Language::native;
  bool first = true;
  for (const Frame& frame : frames) {
    bool python = frame.language == Frame::Language::python;
    std::string label = first || frame.language != last ? (python ? "Python" : "native") : "";
    first = false;
    last = frame.language;
    const analyzer::Place place = opened.places.shown(frame);
    if (python) {
      table.row({label, place.line, place.function, opened.symbols.source_line(frame)});
    } else {
      // Native names are long: they run on, and Python's columns keep their own width.
      std::string name = place.function + (frame.inlined ? " (inlined)" : "");
      if (!place.file.empty() && !frame.object.empty()) name += "  " + frame.object;
      table.row({label, place.line, name});
    }
  }
  if (frames.empty()) table.row({"stack", "not recorded"});
}

std::string stack_table(analyzer::OpenedDump& opened, uint32_t site, bool full, const text::Terminal& terminal) {
  text::Table table({{.title = "", .wide = kLabel},
                     {.title = "", .least = 16, .cut = text::Cut::start},
                     {.title = "", .least = 24, .cut = text::Cut::middle, .spills = true},
                     {.title = "", .least = 40}});
  std::vector<Frame> frames;
  if (site != 0 && site < opened.dump.sites.size()) frames = opened.symbols.merged(opened.dump.sites[site], full);
  add_stack(table, opened, frames);
  return table.text(terminal, false);
}

// Label once, further lines below it; beyond `most` only how many there are.
void add_lines(text::Table& facts, const char* label, const std::vector<std::string>& lines, uint64_t count,
               size_t most) {
  for (size_t i = 0; i < std::min(lines.size(), most); ++i) facts.row({i == 0 ? label : "", lines[i]});
  const uint64_t shown = std::min(lines.size(), most);
  if (shown > 0 && count > shown) facts.row({"", fmt::format("and {} more", text::count(count - shown))});
}

// "saves self #12 (model.fc1.out[0]), mat2 #7 (model.fc1.weight)"
std::vector<std::string> slots_of(const analyzer::OpenedDump& opened, uint32_t node) {
  const analyzer::Graph& graph = opened.dump.graph;
  std::vector<std::string> lines;
  for (const analyzer::SavedSlot& slot : graph.saved_of(node)) {
    std::string what = "freed";
    if (format::SlotState(slot.state) == format::SlotState::packed) {
      what = "packed by saved-tensor hooks";
    } else if (format::SlotState(slot.state) == format::SlotState::held) {
      what = slot.tensor == kNone ? "a tensor not in this dump" : labelled(opened, slot.tensor);
      if (slot.output) what += ", its own output";
    }
    lines.push_back(fmt::format("saves {}: {}", graph.slot_name(node, slot), what));
  }
  return lines;
}

void add_meaning(text::Table& facts, const analyzer::OpenedDump& opened, uint32_t index, bool full) {
  const size_t most = full ? SIZE_MAX : kMaxLines;
  const Tensor& tensor = opened.dump.tensors[index];
  const analyzer::Holders& holders = opened.holders;
  if (holders.category(index) != analyzer::Category::unknown) {
    const std::string& evidence = holders.evidence(index);
    facts.row({"category", analyzer::text(holders.category(index)) + (evidence.empty() ? "" : ": " + evidence)});
  }
  if (opened.dump.references.present && opened.dump.references.tensors[index].known) {
    const std::string& type = opened.dump.references.tensors[index].type_name;
    if (!type.empty() && type != "Tensor") facts.row({"type", type});
    const uint64_t id = opened.dump.references.tensors[index].id;
    if (id != 0) facts.row({"id()", std::to_string(id)});
  }
  add_lines(facts, "names", holders.names(index), holders.names(index).size(), most);
  std::vector<std::string> held;
  for (const analyzer::Holder& holder : holders.holders(index)) held.push_back(holder.text);
  add_lines(facts, "held by", held, std::max<uint64_t>(holders.holder_count(index), held.size()), most);
  if (tensor.grad_fn_name.empty()) return;
  facts.row({"grad_fn", tensor.grad_fn_name});
  const analyzer::Graph& graph = opened.dump.graph;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].address != tensor.grad_fn) continue;
    const std::vector<std::string> lines = slots_of(opened, node);
    add_lines(facts, "", lines, lines.size(), kMaxLines);
    break;
  }
}

// Where the memory of an alias was allocated: `x.detach()` makes a tensor, and no memory.
std::string maker_words(analyzer::OpenedDump& opened, const Tensor& tensor) {
  if (tensor.storage == kNone) return "";
  const uint32_t block = opened.dump.storages[tensor.storage].allocation;
  const uint32_t maker = block == kNone ? 0 : opened.dump.allocations[block].site;
  if (maker == 0 || opened.places.at(maker).where == opened.places.at(tensor.site).where) return "";
  const std::string source = opened.places.source_line(maker);
  return opened.places.at(maker).where + (source.empty() ? "" : "  " + source);
}

// How often the gradient of a leaf that no optimizer steps was accumulated.
std::string accumulated_words(const analyzer::OpenedDump& opened, uint32_t index) {
  const analyzer::Dump& dump = opened.dump;
  const uint32_t gradient = opened.tensor_at(dump.tensors[index].grad);
  const bool stepped = dump.references.present && dump.references.tensors[index].optimized;
  if (stepped || gradient == kNone || dump.tensors[gradient].version == kNone) return "";
  const uint32_t changes = dump.tensors[gradient].version;
  if (changes == 0) return ", accumulated once";
  // Where the first gradient had to be copied, that counted, too.
  return fmt::format(", accumulated at most {} times (changed in place {}; zero_(), clipping and copies also count)",
                     text::count(uint64_t{changes} + 1), text::counted(changes, "time"));
}

// What became of the saved tensors of the operation that made it.
std::string freed_words(analyzer::OpenedDump& opened, const Tensor& tensor) {
  const analyzer::Graph& graph = opened.dump.graph;
  for (uint32_t node = 0; tensor.grad_fn != 0 && node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].address != tensor.grad_fn || !analyzer::buffers_freed(graph, node)) continue;
    const std::string where = analyzer::freed_at(opened.dump, opened.places, node);
    return "buffers of " + graph.class_name(node) + " freed, by " +
           (where.empty() ? "a backward pass whose line was not recorded" : "the backward pass at " + where);
  }
  return "";
}

void show_one(analyzer::OpenedDump& opened, uint32_t index, bool full, Invocation& invocation) {
  const analyzer::Dump& dump = opened.dump;
  const Tensor& tensor = dump.tensors[index];
  const text::Terminal& terminal = invocation.terminal;
  text::Table facts({{.title = "", .wide = kLabel}, {.title = "", .least = 20}});
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.row({name, value});
  };
  if (tensor.site != 0) {
    std::string source = opened.places.source_line(tensor.site);
    add("where", opened.places.at(tensor.site).where + (source.empty() ? "" : "  " + source));
  }
  add("class", tensor.class_name);
  add("address", fmt::format("{:#x}", tensor.address));
  add("storage", storage_words(opened, index));
  add("allocated", maker_words(opened, tensor));
  add("shared by", other_tensors(opened, index));
  add_meaning(facts, opened, index, full);
  if (tensor.grad != 0) add("grad", tensor_at(opened, tensor.grad) + accumulated_words(opened, index));
  add("graph", freed_words(opened, tensor));
  add("module", opened.holders.module(index));
  if (flag(tensor, TensorFlag::released)) add("state", "released: only weak references keep the object");
  if (flag(tensor, TensorFlag::freed_during_dump)) add("state", "freed while the dump was written");
  add("note", tensor.note);
  add("made", made_words(dump, tensor));

  const std::string line = text::wrap(text::clean(first_line(tensor)), terminal.width, 2);
  invocation.out += terminal.styled(text::Style::bold, line) + "\n" + facts.text(terminal, false);
  invocation.out += stack_table(opened, tensor.site, full, terminal);

  if (tensor.storage == kNone) return;
  uint32_t block = dump.storages[tensor.storage].allocation;
  uint32_t maker = block == kNone ? 0 : dump.allocations[block].site;
  if (maker != 0 && opened.places.at(maker).where != opened.places.at(tensor.site).where) {
    const analyzer::Allocation& allocation = dump.allocations[block];
    invocation.out += text::clean(fmt::format("  its memory ({}) was allocated elsewhere, by {}",
                                              text::bytes(allocation.nbytes), thread_words(dump, allocation.thread))) +
                      "\n" + stack_table(opened, maker, full, terminal);
  }
  if (block != kNone && dump.allocations[block].node != 0) {
    uint64_t serial = dump.allocations[block].node;
    for (const analyzer::Node& node : dump.nodes) {
      if (node.serial != serial) continue;
      std::string name = node.class_name.empty() ? "an autograd node" : node.class_name;
      invocation.out += text::clean(fmt::format("  allocated in the backward of {}, whose forward was", name)) + "\n" +
                        stack_table(opened, node.site, full, terminal);
    }
  }
  if (const analyzer::Node* node = tensor.grad_fn == 0 ? nullptr : node_at(dump, tensor.grad_fn);
      node != nullptr && node->site != 0 && opened.places.at(node->site).where != opened.places.at(tensor.site).where) {
    invocation.out += text::clean(fmt::format("  its grad_fn {} was made at", tensor.grad_fn_name)) + "\n" +
                      stack_table(opened, node->site, full, terminal);
  }
}

// As find_tensors(); of a name that many tensors have, their ids instead.
std::vector<uint32_t> asked_for(const analyzer::OpenedDump& opened, const ShowOptions& options, const std::string& text,
                                Invocation& invocation) {
  auto names = [&opened](uint32_t tensor) -> const auto& { return opened.holders.names(tensor); };
  const std::vector<uint32_t> found = find_tensors(opened.dump, names, options.dump, text, invocation);
  if (found.size() <= kMaxOfOneName) return found;
  std::string list;
  for (size_t i = 0; i < kMaxOfOneName; ++i) {
    list += fmt::format("{}#{}", i == 0 ? "" : ", ", opened.dump.tensors[found[i]].serial);
  }
  invocation.say(fmt::format("{1} tensors are named '{0}': {2} and {3} more; give an id.", text,
                             text::count(found.size()), list, text::count(found.size() - kMaxOfOneName)));
  return {};
}

int show(const ShowOptions& options, Invocation& invocation) {
  analyzer::OpenedDump opened(options.dump, options.symbols);
  std::vector<uint32_t> tensors;
  int status = kOk;
  for (const std::string& text : options.tensors) {
    const std::vector<uint32_t> found = asked_for(opened, options, text, invocation);
    if (found.empty()) status = kBadInput;
    tensors.insert(tensors.end(), found.begin(), found.end());
  }
  std::vector<uint32_t> sites;
  for (uint32_t tensor : tensors) sites.push_back(opened.dump.tensors[tensor].site);
  opened.places.prefetch(sites, true);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > 0) invocation.out += "\n";
    show_one(opened, tensors[i], options.full, invocation);
  }
  for (const std::string& note : opened.symbols.source_notes()) invocation.say(note);
  return finish(invocation, opened, status);
}

}  // namespace

void add_show(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "show", "all details of single tensors, with Python and native stack", show);
  verb->add_option("DUMP", options->dump, "the dump file")->required()->type_name("");
  verb->add_option("TENSOR", options->tensors, "tensor ids as printed by list, or names")->required()->type_name("");
  verb->add_flag("--full", options->full, "include the interpreter's own frames, all names and all holders");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope show train.4242.1.tscope 1043\n"
      "  tensorscope show train.4242.1.tscope 1043 1044 --full\n"
      "  tensorscope show train.4242.1.tscope 'train.py: losses[3]' model.fc1.weight");
}

}  // namespace tensorscope::cli
