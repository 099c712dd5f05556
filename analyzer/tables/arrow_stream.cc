// SPDX-License-Identifier: Apache-2.0
#include "tables/arrow_stream.h"

#include <memory>
#include <utility>

namespace tensorscope::tables {

namespace {

constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

const char* format_of(Type type) {
  switch (type) {
    case Type::int64:
      return "l";
    case Type::float64:
      return "g";
    case Type::boolean:
      return "b";
    case Type::text:
      return "u";
    case Type::dictionary:
      return "i";  // numbers of the texts in the dictionary
  }
  return "";
}

// What a schema's `private_data` owns. Names and formats are constants of the program.
struct SchemaParts {
  std::vector<std::unique_ptr<ArrowSchema>> owned;
  std::vector<ArrowSchema*> children;
};

void release_schema(ArrowSchema* schema) {
  const std::unique_ptr<SchemaParts> parts(static_cast<SchemaParts*>(schema->private_data));
  for (const std::unique_ptr<ArrowSchema>& child : parts->owned) {
    if (child->release != nullptr) child->release(child.get());
  }
  schema->release = nullptr;
}

void make_schema(ArrowSchema& out, const char* format, const char* name, bool nullable) {
  out = {.format = format,
         .name = name,
         .metadata = nullptr,
         .flags = nullable ? kNullable : 0,
         .n_children = 0,
         .children = nullptr,
         .dictionary = nullptr,
         .release = release_schema,
         .private_data = new SchemaParts};
}

void table_schema(const Table& table, ArrowSchema& out) {
  make_schema(out, "+s", "", false);
  auto& parts = *static_cast<SchemaParts*>(out.private_data);
  for (const Column& column : table.columns) {
    ArrowSchema& child = *parts.owned.emplace_back(std::make_unique<ArrowSchema>());
    make_schema(child, format_of(column.type), column.name, &column != table.columns.data());
    if (column.type == Type::dictionary) {
      auto& words = *static_cast<SchemaParts*>(child.private_data);
      child.dictionary = words.owned.emplace_back(std::make_unique<ArrowSchema>()).get();
      make_schema(*child.dictionary, "u", "", false);
    }
    parts.children.push_back(&child);
  }
  out.n_children = int64_t(parts.children.size());
  out.children = parts.children.data();
}

// Each array keeps the batch: a reader may take a column out and release the rest.
struct ArrayParts {
  std::shared_ptr<const Batch> batch;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> owned;
  std::vector<ArrowArray*> children;
};

void release_array(ArrowArray* array) {
  const std::unique_ptr<ArrayParts> parts(static_cast<ArrayParts*>(array->private_data));
  for (const std::unique_ptr<ArrowArray>& child : parts->owned) {
    if (child->release != nullptr) child->release(child.get());
  }
  array->release = nullptr;
}

ArrayParts& make_array(ArrowArray& out, const std::shared_ptr<const Batch>& batch, size_t rows, size_t nulls,
                       std::vector<const void*> buffers) {
  auto* parts = new ArrayParts{.batch = batch, .buffers = std::move(buffers), .owned = {}, .children = {}};
  out = {.length = int64_t(rows),
         .null_count = int64_t(nulls),
         .offset = 0,
         .n_buffers = int64_t(parts->buffers.size()),
         .n_children = 0,
         .buffers = parts->buffers.data(),
         .children = nullptr,
         .dictionary = nullptr,
         .release = release_array,
         .private_data = parts};
  return *parts;
}

void column_array(ArrowArray& out, const std::shared_ptr<const Batch>& batch, const ColumnData& data) {
  const void* valid = data.nulls() == 0 ? nullptr : data.valid().data();
  switch (data.type()) {
    case Type::int64:
      make_array(out, batch, data.rows(), data.nulls(), {valid, data.int64s().data()});
      return;
    case Type::float64:
      make_array(out, batch, data.rows(), data.nulls(), {valid, data.float64s().data()});
      return;
    case Type::boolean:
      make_array(out, batch, data.rows(), data.nulls(), {valid, data.bits().data()});
      return;
    case Type::text:
      make_array(out, batch, data.rows(), data.nulls(), {valid, data.ends().data(), data.bytes().data()});
      return;
    case Type::dictionary: {
      ArrayParts& parts = make_array(out, batch, data.rows(), data.nulls(), {valid, data.words().data()});
      out.dictionary = parts.owned.emplace_back(std::make_unique<ArrowArray>()).get();
      make_array(*out.dictionary, batch, data.ends().size() - 1, 0, {nullptr, data.ends().data(), data.bytes().data()});
      return;
    }
  }
}

struct StreamParts {
  const Table* table;
  std::deque<Batch> batches;
};

StreamParts& parts_of(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

int next_array(ArrowArrayStream* stream, ArrowArray* out) {
  std::deque<Batch>& batches = parts_of(stream).batches;
  if (batches.empty()) {
    *out = {};
    return 0;
  }
  const auto batch = std::make_shared<const Batch>(std::move(batches.front()));
  batches.pop_front();
  ArrayParts& parts = make_array(*out, batch, batch->rows, 0, {nullptr});
  for (const ColumnData& data : batch->data) {
    column_array(*parts.owned.emplace_back(std::make_unique<ArrowArray>()), batch, data);
    parts.children.push_back(parts.owned.back().get());
  }
  out->n_children = int64_t(parts.children.size());
  out->children = parts.children.data();
  return 0;
}

}  // namespace

void export_stream(const Table& table, std::deque<Batch> batches, ArrowArrayStream& out) {
  out = {.get_schema =
             [](ArrowArrayStream* stream, ArrowSchema* schema) {
               table_schema(*parts_of(stream).table, *schema);
               return 0;
             },
         .get_next = next_array,
         .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
         .release =
             [](ArrowArrayStream* stream) {
               delete static_cast<StreamParts*>(stream->private_data);
               stream->release = nullptr;
             },
         .private_data = new StreamParts{.table = &table, .batches = std::move(batches)}};
}

}  // namespace tensorscope::tables
