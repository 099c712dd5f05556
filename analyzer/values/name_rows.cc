// SPDX-License-Identifier: Apache-2.0
#include "values/name_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

namespace tensorscope::values {

void Curve::add(double y) {
  sum_ += y;
  if (++in_sum_ < per_point_) return;
  full_.push_back(sum_ / per_point_);
  sum_ = 0;
  in_sum_ = 0;
  if (full_.size() < kMax) return;
  for (size_t i = 0; i < kMax / 2; ++i) full_[i] = (full_[2 * i] + full_[2 * i + 1]) / 2;
  full_.resize(kMax / 2);
  per_point_ *= 2;
}

std::vector<double> Curve::points() const {
  std::vector<double> out = full_;
  if (in_sum_ != 0) out.push_back(sum_ / in_sum_);
  return out;
}

std::vector<NameRow> name_rows(const std::vector<std::unique_ptr<ValuesFile>>& files, const ValueFilter& filter,
                               Stat stat) {
  std::vector<NameRow> rows;
  for (size_t file = 0; file < files.size(); ++file) {
    NameCache names(filter);
    std::map<std::tuple<std::string_view, std::string_view, format::StepMode>, size_t> at;
    files[file]->for_each_value([&](const Value& value) {
      if (!names.takes(value)) return true;
      const auto [found, fresh] = at.try_emplace({value.name, value.operation, value.mode}, rows.size());
      if (fresh) {
        NameRow row;
        row.file = file;
        row.name = value.name;
        row.operation = value.operation;
        row.mode = value.mode;
        row.first_step = value.step;
        row.kind = value.kind;
        row.shape = value.shape;
        row.dtype = value.dtype;
        rows.push_back(std::move(row));
      }
      NameRow& row = rows[found->second];
      ++row.values;
      row.first_step = std::min(row.first_step, value.step);
      row.last_step = std::max(row.last_step, value.step);
      row.kind_varies |= row.kind != value.kind;
      row.shape_varies |= row.shape != value.shape;
      row.dtype_varies |= row.dtype != value.dtype;
      row.last_serial = value.serial;
      row.last = statistics_at_hand(value);
      if (!row.last) return true;
      row.elements += row.last->count;
      row.not_finite += row.last->nan + row.last->infinite();
      if (const auto number = number_of(*row.last, stat)) row.curve.add(*number);
      return true;
    });
  }
  return rows;
}

std::vector<std::string> names_of(const std::vector<std::unique_ptr<ValuesFile>>& files) {
  std::vector<std::string> out;
  std::unordered_set<std::string_view> seen;
  for (const auto& file : files) {
    file->for_each_value([&](const Value& value) {
      if (seen.insert(value.name).second) out.emplace_back(value.name);
      return true;
    });
  }
  return out;
}

std::vector<std::unique_ptr<ValuesFile>> open_files(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<ValuesFile>> files;
  for (const std::string& path : paths) files.push_back(std::make_unique<ValuesFile>(path));
  std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a->process().rank, a->process().start_unix_ns) <
           std::make_pair(b->process().rank, b->process().start_unix_ns);
  });
  return files;
}

std::vector<std::string> file_labels(const std::vector<std::unique_ptr<ValuesFile>>& files) {
  if (files.size() < 2) return std::vector<std::string>(files.size());
  std::set<int> ranks;
  std::set<uint32_t> pids;
  for (const auto& file : files) {
    if (file->process().rank >= 0) ranks.insert(file->process().rank);
    pids.insert(file->process().pid);
  }
  std::vector<std::string> out;
  for (const auto& file : files) {
    out.push_back(ranks.size() == files.size()  ? std::to_string(file->process().rank)
                  : pids.size() == files.size() ? "pid " + std::to_string(file->process().pid)
                                                : file->name());
  }
  return out;
}

}  // namespace tensorscope::values
