// SPDX-License-Identifier: Apache-2.0
#include "cli/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "support/error.h"

namespace tensorscope::cli {

namespace {

constexpr size_t kLongestRequest = 16384;
constexpr timeval kPatience = {2, 0};  // for a client that connects and says nothing

std::string answer(const char* status, const char* type, const std::string& body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                     type, body.size(), body);
}

void send_all(int client, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t size = send(client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) return;
    sent += size_t(size);
  }
}

}  // namespace

std::string http_answer(const std::string& request, const std::function<std::string()>& metrics) {
  constexpr const char* kText = "text/plain; charset=utf-8";
  if (!request.starts_with("GET ")) return answer("405 Method Not Allowed", kText, "only GET\n");
  const std::string path = request.substr(4, request.find_first_of(" ?\r\n", 4) - 4);
  if (path != "/metrics") return answer("404 Not Found", kText, "see /metrics\n");
  // A page in a browser may not ask by a name of its own that leads here.
  const size_t host = request.find("\nHost: ");
  const std::string name =
      host == std::string::npos ? "" : request.substr(host + 7, request.find_first_of(":\r\n", host + 7) - host - 7);
  if (!name.empty() && name != "localhost" && name != "127.0.0.1")
    return answer("403 Forbidden", kText, "loopback only\n");
  const std::string text = metrics();
  if (text.empty()) return answer("503 Service Unavailable", kText, "the process does not answer\n");
  return answer("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", text);
}

MetricsServer MetricsServer::open(uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool ok = listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                  bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                  listen(listener, 8) == 0 && getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!ok) {
    const int error = errno;
    if (listener >= 0) close(listener);
    throw analyzer::OutputError(fmt::format("cannot listen on 127.0.0.1:{}: {}.", port, strerror(error)));
  }
  return MetricsServer(listener, ntohs(address.sin_port));
}

MetricsServer::MetricsServer(MetricsServer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), port_(other.port_) {}

MetricsServer::~MetricsServer() {
  if (socket_ >= 0) close(socket_);
}

bool MetricsServer::serve_one(int milliseconds, const std::function<std::string()>& metrics) {
  pollfd waits = {socket_, POLLIN, 0};
  if (poll(&waits, 1, milliseconds) <= 0) return false;
  const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return false;
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  std::string request;
  char buffer[2048];
  while (request.size() < kLongestRequest && request.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(client, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    request.append(buffer, size_t(got));
  }
  if (request.find("\r\n\r\n") != std::string::npos) send_all(client, http_answer(request, metrics));
  close(client);
  return true;
}

}  // namespace tensorscope::cli
