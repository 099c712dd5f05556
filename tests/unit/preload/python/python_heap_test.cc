// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/python_heap.h"

#include <gtest/gtest.h>

#include <string>

namespace tensorscope::python::heap_inspector {
namespace {

constexpr char kText[] =
    "Small block threshold = 512, in 32 size classes.\n\n"
    "# arenas allocated current         =                  776\n"
    "776 arenas * 1048576 bytes/arena   =          813,694,976\n\n"
    "# bytes in allocated blocks        =          801,495,808\n"
    "# bytes in available blocks        =              250,896\n";

std::string changed(const char* from, const char* to) {
  std::string text = kText;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos);
  return text.replace(at, std::string(from).size(), to);
}

TEST(PythonHeap, IsReadFromItsText) {
  const PythonHeap heap = heap_from_text(kText);
  EXPECT_EQ(heap.arenas, 813'694'976u);
  EXPECT_EQ(heap.in_use, 801'495'808u);
}

TEST(PythonHeap, OtherTextIsNotKnown) {
  for (const std::string& text :
       {std::string(), changed("776 arenas *", "775 arenas *"), changed("bytes/arena", "pages/arena"),
        changed("813,694,976\n", "813,694,976 kB\n"), changed("801,495,808", "901,495,808"), changed("801,495,808", ""),
        changed("# bytes in allocated", "# words in allocated"), changed("801,495,808", "99999999999999999999999"),
        std::string(kText, 120)}) {
    const PythonHeap heap = heap_from_text(text.c_str());
    EXPECT_EQ(heap.arenas + heap.in_use, 0u) << text;
  }
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
