// SPDX-License-Identifier: Apache-2.0
#include "top/screen.h"

#if TENSORSCOPE_CURSES

#define NCURSES_NOMACROS
#include <langinfo.h>
#include <ncurses.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>

namespace tensorscope::top {

namespace {

class CursesTerminal final : public TopTerminal {
 public:
  explicit CursesTerminal(SCREEN* screen) : screen_(screen) {
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
  }
  ~CursesTerminal() override {
    endwin();
    delscreen(screen_);
  }

  int width() const override { return getmaxx(stdscr); }
  int height() const override { return getmaxy(stdscr); }

  void draw(const std::vector<std::string>& lines, size_t bold) override {
    werase(stdscr);
    for (size_t i = 0; i < lines.size() && int(i) < height(); ++i) {
      if (i == bold) wattron(stdscr, A_REVERSE);
      mvwaddnstr(stdscr, int(i), 0, lines[i].c_str(), -1);
      if (i == bold) wattroff(stdscr, A_REVERSE);
    }
    wrefresh(stdscr);
  }

  int key(int milliseconds) override {
    wtimeout(stdscr, milliseconds);
    switch (const int key = wgetch(stdscr)) {
      case ERR:
        return kNone;
      case KEY_UP:
        return kUp;
      case KEY_DOWN:
        return kDown;
      case KEY_PPAGE:
        return kPageUp;
      case KEY_NPAGE:
        return kPageDown;
      case KEY_RESIZE:
        return kResized;
      case KEY_BACKSPACE:
      case 127:
      case 8:
        return kBackspace;
      case KEY_ENTER:
      case '\r':
      case '\n':
        return kEnter;
      case 27:
        return kEscape;
      default:
        return key >= 0 && key < 256 ? key : kNone;
    }
  }

 private:
  SCREEN* screen_;
};

}  // namespace

std::unique_ptr<TopTerminal> TopTerminal::open() {
  const char* term = getenv("TERM");
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || *term == 0 || strcmp(term, "dumb") == 0)
    return nullptr;
  setlocale(LC_CTYPE, "");
  if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
  SCREEN* screen = newterm(nullptr, stdout, stdin);
  return screen ? std::make_unique<CursesTerminal>(screen) : nullptr;
}

}  // namespace tensorscope::top

#else

namespace tensorscope::top {

std::unique_ptr<TopTerminal> TopTerminal::open() { return nullptr; }

}  // namespace tensorscope::top

#endif
