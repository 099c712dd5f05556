// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <span>

#include "dump_generated.h"
#include "export/csv_field.h"
#include "export/export.h"
#include "export/profiles/site_sums.h"
#include "support/printable.h"
#include "symbols/unread.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

// RFC 4180: a field with a comma, a quote or a line end stands in quotes, and quotes in it are doubled.
std::string list_text(std::span<const int64_t> values) {
  std::string out;
  for (int64_t value : values) out += (out.empty() ? "" : " ") + std::to_string(value);
  return "[" + out + "]";
}

// One frame of a folded stack: ';' separates frames and ends none of them.
std::string folded_frame(const analyzer::Frame& frame) {
  std::string text = frame.function;
  if (frame.language == analyzer::Frame::Language::python) {
    text += " (" + frame.file.substr(frame.file.rfind('/') + 1) + ":" + std::to_string(frame.line) + ")";
  } else if (text.empty()) {
    text = frame.object.empty() ? "unknown" : "[" + frame.object + "]";
  }
  for (char& c : text) {
    if (c == ';') c = ',';
  }
  return analyzer::printable(text);
}

std::string name_of(const ExportOptions& options, size_t tensor) {
  if (!options.holders || options.holders->names(uint32_t(tensor)).empty()) return "";
  return options.holders->names(uint32_t(tensor)).front();
}

std::string holder_of(const ExportOptions& options, size_t tensor) {
  if (!options.holders || options.holders->holders(uint32_t(tensor)).empty()) return "";
  return options.holders->holders(uint32_t(tensor)).front().text;
}

}  // namespace

void export_csv(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options) {
  out << "id,address,class,shape,strides,dtype,device,layout,requires_grad,is_leaf,nbytes,storage,storage_nbytes,"
         "storage_kind,storage_offset,grad_fn,category,name,held_by,module,thread,thread_name,created_ns,age_ns,module_"
         "path,language,"
         "function,"
         "file,line\r\n";
  for (size_t i = 0; i < dump.tensors.size(); i++) {
    const analyzer::Tensor& t = dump.tensors[i];
    auto known = [&](format::TensorKnown what) { return (t.known & uint32_t(what)) != 0; };
    auto flag = [&](format::TensorKnown what, format::TensorFlag bit) -> std::string {
      return !known(what) ? "" : t.flags & uint32_t(bit) ? "true" : "false";
    };
    const analyzer::Storage* storage = t.storage == analyzer::kNone ? nullptr : &dump.storages[t.storage];
    const analyzer::Site& site = dump.sites[t.site];
    const analyzer::Frame where = symbols.headline(site);
    symbols.unread().function(where);
    const bool native = where.language == analyzer::Frame::Language::native;
    const std::string fields[] = {
        std::to_string(t.serial),
        std::to_string(t.address),
        t.class_name,
        known(format::TensorKnown::sizes) ? list_text(t.sizes) : "",
        known(format::TensorKnown::strides) ? list_text(t.strides) : "",
        known(format::TensorKnown::dtype) ? t.dtype_text() : "",
        known(format::TensorKnown::device) ? t.device.text() : "",
        known(format::TensorKnown::layout) ? t.layout_text() : "",
        flag(format::TensorKnown::requires_grad, format::TensorFlag::requires_grad),
        flag(format::TensorKnown::leaf, format::TensorFlag::leaf),
        t.knows_size() ? std::to_string(t.nbytes) : "",
        storage ? std::to_string(storage->id) : "",
        storage ? std::to_string(storage->nbytes) : "",
        storage ? analyzer::text(storage->kind) : "",
        t.knows_offset() ? std::to_string(t.storage_offset) : "",
        t.grad_fn_name,
        i < options.categories.size() ? options.categories[i] : "unknown",
        name_of(options, i),
        holder_of(options, i),
        options.holders ? options.holders->module(uint32_t(i)) : "",
        t.thread ? std::to_string(dump.threads[t.thread].tid) : "",
        t.thread ? dump.threads[t.thread].name : "",
        std::to_string(t.created_ns),
        t.created_ns == 0 || t.created_ns > dump.process.dump_ns ? ""
                                                                 : std::to_string(dump.process.dump_ns - t.created_ns),
        symbols.module_path(site),
        where.function.empty() && where.file.empty() ? ""
        : native                                     ? "native"
                                                     : "python",
        where.function,
        where.file,
        where.line > 0 ? std::to_string(where.line) : "",
    };
    bool first = true;
    for (const std::string& field : fields) {
      out << (first ? "" : ",") << csv_field(analyzer::printable(field));
      first = false;
    }
    out << "\r\n";
  }
}

void export_folded(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options) {
  std::map<std::string, uint64_t> lines;  // places that differ only in addresses read the same
  for (const auto& [site, sum] : live_by_site(dump)) {
    std::string line;
    std::vector<analyzer::Frame> frames = symbols.shown(dump.sites[site], options.full_stacks);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      line += (line.empty() ? "" : ";") + folded_frame(*frame);
    }
    lines[line.empty() ? "no stack" : line] += sum.bytes;
  }
  for (const auto& [line, live] : lines) out << line << ' ' << live << '\n';
}

}  // namespace tensorscope::exports
