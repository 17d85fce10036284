// SPDX-License-Identifier: MIT
#include <csignal>

#include "fleet/command/commands.h"

namespace rochound::fleet {

std::atomic<bool> asked_to_end{false};

namespace {

void End(int) { asked_to_end = true; }

}  // namespace

void CatchSignals() {
  struct sigaction action{};
  action.sa_handler = End;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void AddBusOptions(CLI::App& app, BusOptions* options) {
  app.add_option("--bus", options->servers, "NATS servers; @FILE: read them from there")
      ->type_name("URL");
  app.add_option("--credentials", options->credentials, "A .creds file")->type_name("FILE");
  app.add_option("--authority", options->authority, "TLS: who signed the servers' certificates")
      ->type_name("FILE");
  app.add_option("--certificate", options->certificate, "TLS: our certificate")->type_name("FILE");
  app.add_option("--key", options->key, "TLS: the key of it")->type_name("FILE");
}

}  // namespace rochound::fleet
