// SPDX-License-Identifier: Apache-2.0
// Answers GET /metrics on the loopback interface, one client at a time: enough for Prometheus on the same machine, and
// for curl. Nobody on another machine can reach it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tensorscope::cli {

class MetricsServer {
 public:
  // Port 0: any that is free. Throws OutputError.
  [[nodiscard]] static MetricsServer open(uint16_t port);
  MetricsServer(MetricsServer&& other) noexcept;
  MetricsServer& operator=(MetricsServer&&) = delete;
  ~MetricsServer();

  uint16_t port() const { return port_; }
  // Waits for a client for as long and answers it; `metrics`: the text, empty where there is none just now. False: no
  // client came.
  bool serve_one(int milliseconds, const std::function<std::string()>& metrics);

 private:
  MetricsServer(int socket, uint16_t port) : socket_(socket), port_(port) {}
  int socket_;
  uint16_t port_;
};

// The whole answer to a request that begins with this.
std::string http_answer(const std::string& request, const std::function<std::string()>& metrics);

}  // namespace tensorscope::cli
