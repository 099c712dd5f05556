// SPDX-License-Identifier: Apache-2.0
#include "html/page.h"

#include "dump_generated.h"
#include "export/json/scalars.h"
#include "html/dump_data.h"
#include "html/web_page.h"

namespace tensorscope::html {

namespace {

constexpr int kPageSchema = 1;
constexpr std::string_view kDataMark = "@DATA@";

// What the bits of a tensor's `flags` mean.
Json tensor_flags() {
  Json bits = Json::object();
  for (const format::TensorFlag flag : format::EnumValuesTensorFlag()) {
    bits[format::EnumNameTensorFlag(flag)] = uint32_t(flag);
  }
  return bits;
}

}  // namespace

std::string_view page_template() { return {kWebPage, kWebPageSize}; }
std::string_view why_no_page() { return kWhyNoWebPage; }

Page::Page(std::string version, bool confidential) : confidential_(confidential) {
  head_ = {{"schema", kPageSchema},
           {"version", std::move(version)},
           {"confidential", confidential},
           {"tensor_flags", tensor_flags()},
           {"dumps", Json::array()}};
}

void Page::prepare(analyzer::Dump& dump) {
  if (!confidential_) return;
  without_folders_.add(dump);
  make_confidential(dump);
}

void Page::add(analyzer::ComparedDumps& dumps) {
  for (size_t i = 0; i < dumps.size(); ++i) head_["dumps"].push_back(dump_data(dumps[i], payload_));
}

void Page::add_unread(const analyzer::UnreadFiles& files) {
  unread_.add(files);
  head_["not_read"] = exports::not_read_json(unread_);
}

void Page::write(std::ostream& out, std::string_view page) const {
  const size_t mark = page.find(kDataMark);
  out << page.substr(0, mark);
  payload_.write(confidential_ ? without_folders_.in_json(head_) : head_, out);
  out << page.substr(mark + kDataMark.size());
}

}  // namespace tensorscope::html
